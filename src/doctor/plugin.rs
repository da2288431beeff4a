//! Whether NCCL is told to load this library.

use super::finding::{Code, Finding};
use super::loader::{self, Loaded};
use super::surroundings::Surroundings;
use std::path::Path;

const VARIABLE: &str = "NCCL_PROFILER_PLUGIN";

/// What the variable says.
pub(crate) fn check(around: &Surroundings) -> Option<Finding> {
    let Some(name) = around.text(VARIABLE) else {
        // NCCL looks for a plugin by this name when it is told none
        if matches!(loader::load(Path::new("libnccl-profiler.so")), Loaded::Ours { .. }) {
            return None;
        }
        let cure = "start the job through `scorep-nccl run --`, or export NCCL_PROFILER_PLUGIN=scorep";
        return Some(Finding::new(Code::PluginNotSet, format!("{VARIABLE} is not set: NCCL loads no profiler plugin"), cure));
    };
    if name.eq_ignore_ascii_case("none") {
        return Some(Finding::new(
            Code::PluginNotSet,
            format!("{VARIABLE}={name}: NCCL loads no profiler plugin"),
            "set it to scorep",
        ));
    }
    // the name as it is, else put into the usual one, as NCCL tries them
    let tried = [name.clone(), format!("libnccl-profiler-{name}.so")];
    let is_ours = tried.iter().any(|name| matches!(loader::load(Path::new(name)), Loaded::Ours { .. }));
    // what cannot be found at all is told of the library's names
    if is_ours || name == "scorep" {
        return None;
    }
    let cure = format!("{VARIABLE}=scorep, and NCCL_SCOREP_CHAIN={name} to have both");
    Some(Finding::new(Code::PluginOther, format!("{VARIABLE}={name} is another plugin, and NCCL loads one"), cure))
}
