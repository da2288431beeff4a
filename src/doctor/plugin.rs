//! Checks whether NCCL will load this library.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use crate::installed::loader::{self, Loaded};
use nccl_plugin::unasked::{UNASKED_NAME, is_score_ps};
use std::path::Path;

const VARIABLE: &str = "NCCL_PROFILER_PLUGIN";

/// Returns the finding on NCCL's variable; `ours` is the result of [`ours`].
pub(crate) fn check(around: &Surroundings, ours: Option<&str>) -> Option<DoctorFinding> {
    let Some(name) = around.text(VARIABLE) else {
        if ours == Some(UNASKED_NAME) {
            return Some(unasked(around));
        }
        let cure =
            "start the job through `scorep-nccl run --`, or export NCCL_PROFILER_PLUGIN=libnccl-profiler-scorep.so";
        return Some(DoctorFinding::new(
            Code::PluginNotSet,
            format!("{VARIABLE} is not set: NCCL loads no profiler plugin"),
            cure,
        ));
    };
    if name.eq_ignore_ascii_case("none") {
        return Some(DoctorFinding::new(
            Code::PluginNotSet,
            format!("{VARIABLE}={name}: NCCL loads no profiler plugin"),
            "set it to libnccl-profiler-scorep.so",
        ));
    }
    // only the program knows which plugin it is linked with
    if name.eq_ignore_ascii_case("STATIC_PLUGIN") {
        return None;
    }
    // a name that leads to no library is a finding of the library's names
    if name == "scorep" || ours.is_some() {
        return None;
    }
    let cure = format!("{VARIABLE}=libnccl-profiler-scorep.so, and NCCL_SCOREP_CHAIN={name} to have both");
    Some(DoctorFinding::new(
        Code::PluginOther,
        format!("{VARIABLE}={name} is another plugin, and NCCL loads one"),
        cure,
    ))
}

/// Returns the finding on a library that NCCL loads without the variable.
fn unasked(around: &Surroundings) -> DoctorFinding {
    let is_idle = !around.settings().0.has_output() && !is_score_ps(|name| around.text(name).map(Into::into));
    let so = if is_idle { "it records nothing, since no setting names an output" } else { "it records" };
    let what = format!("{VARIABLE} is not set: NCCL loads {UNASKED_NAME}, which is this library; {so}");
    let cure = if is_idle {
        "name an output, such as NCCL_SCOREP_SUMMARY"
    } else {
        "NCCL_PROFILER_PLUGIN=none for a job without it"
    };
    DoctorFinding::new(Code::PluginUnasked, what, cure)
}

/// Returns the file name by which NCCL loads this library, if it does. NCCL tries the variable's value first, and then
/// its usual file name with that value in it; without a value, its usual file name.
pub(crate) fn ours(around: &Surroundings) -> Option<String> {
    let tried = match around.text(VARIABLE) {
        Some(name) => vec![name.clone(), format!("libnccl-profiler-{name}.so")],
        None => vec![UNASKED_NAME.to_owned()],
    };
    tried.into_iter().find(|name| matches!(loader::load(Path::new(name)), Loaded::Ours { .. }))
}
