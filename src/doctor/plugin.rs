//! Checks whether NCCL will load this library.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use crate::installed::loader::{self, Loaded};
use std::path::Path;

const VARIABLE: &str = "NCCL_PROFILER_PLUGIN";

/// Returns the finding on NCCL's variable; `ours` is the result of [`ours`].
pub(crate) fn check(around: &Surroundings, ours: Option<&str>) -> Option<DoctorFinding> {
    let Some(name) = around.text(VARIABLE) else {
        // without the variable, NCCL looks for a plugin of this name
        if matches!(loader::load(Path::new("libnccl-profiler.so")), Loaded::Ours { .. }) {
            return None;
        }
        let cure = "start the job through `scorep-nccl run --`, or export NCCL_PROFILER_PLUGIN=scorep";
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
            "set it to scorep",
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
    let cure = format!("{VARIABLE}=scorep, and NCCL_SCOREP_CHAIN={name} to have both");
    Some(DoctorFinding::new(
        Code::PluginOther,
        format!("{VARIABLE}={name} is another plugin, and NCCL loads one"),
        cure,
    ))
}

/// Returns the file name by which NCCL loads this library, if it does. NCCL tries the variable's value first, and then
/// its usual file name with that value in it.
pub(crate) fn ours(around: &Surroundings) -> Option<String> {
    let name = around.text(VARIABLE)?;
    let tried = [name.clone(), format!("libnccl-profiler-{name}.so")];
    tried.into_iter().find(|name| matches!(loader::load(Path::new(name)), Loaded::Ours { .. }))
}
