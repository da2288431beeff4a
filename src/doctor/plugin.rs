//! Whether NCCL is told to load this library.

use super::finding::{Code, Finding};
use super::surroundings::Surroundings;
use crate::installed::loader::{self, Loaded};
use std::path::Path;

const VARIABLE: &str = "NCCL_PROFILER_PLUGIN";

/// What the variable says, given [`ours`].
pub(crate) fn check(around: &Surroundings, ours: Option<&str>) -> Option<Finding> {
    let Some(name) = around.text(VARIABLE) else {
        // NCCL looks for a plugin by this name when it is told none
        if matches!(loader::load(Path::new("libnccl-profiler.so")), Loaded::Ours { .. }) {
            return None;
        }
        let cure = "start the job through `scorep-nccl run --`, or export NCCL_PROFILER_PLUGIN=scorep";
        return Some(Finding::new(
            Code::PluginNotSet,
            format!("{VARIABLE} is not set: NCCL loads no profiler plugin"),
            cure,
        ));
    };
    if name.eq_ignore_ascii_case("none") {
        return Some(Finding::new(
            Code::PluginNotSet,
            format!("{VARIABLE}={name}: NCCL loads no profiler plugin"),
            "set it to scorep",
        ));
    }
    // what cannot be found at all is told of the library's names
    if name == "scorep" || ours.is_some() {
        return None;
    }
    let cure = format!("{VARIABLE}=scorep, and NCCL_SCOREP_CHAIN={name} to have both");
    Some(Finding::new(Code::PluginOther, format!("{VARIABLE}={name} is another plugin, and NCCL loads one"), cure))
}

/// The file name by which NCCL loads this library, if it does: the name it is told, else that put into the usual one,
/// as NCCL tries them.
pub(crate) fn ours(around: &Surroundings) -> Option<String> {
    let name = around.text(VARIABLE)?;
    let tried = [name.clone(), format!("libnccl-profiler-{name}.so")];
    tried.into_iter().find(|name| matches!(loader::load(Path::new(name)), Loaded::Ours { .. }))
}
