//! The library in a process that has not asked for it. NCCL loads `libnccl-profiler.so` if no variable names a plugin,
//! so an installation with this link is in every job of the machine. Where nobody reads figures, it records nothing,
//! has no thread, and asks NCCL for no event.

use crate::opening::logger::LogLine;
use crate::opening::release::Caller;
use common::clock::CLOCK;
use common::config::{self, is_set};
use common::image::containing;
use common::{log, recorder, switch};
use std::ffi::{OsString, c_void};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The name of a profiler plugin that NCCL loads without being asked for one.
pub const UNASKED_NAME: &str = "libnccl-profiler.so";
/// Variables of Score-P that name plugins, and the library's names there.
const SCORE_PS: [(&str, &[&str]); 2] =
    [("SCOREP_METRIC_PLUGINS", &["nccl_plugin", "nccl_series_plugin"]), ("SCOREP_SUBSTRATE_PLUGINS", &["nccl"])];

/// Returns whether nobody has asked for the library, and nobody reads what it would record: there is nothing to do at
/// an init.
pub(crate) fn is_idle() -> bool {
    // in a forked child another thread may have been deciding; Score-P may have begun after an earlier init
    !switch::is_off() && recorder::begun().is_none() && !CLOCK.is_score_p() && is_unasked()
}

/// Returns a line for NCCL's log at the first init of an idle process.
pub(crate) fn introduction(caller: Caller) -> Option<LogLine> {
    static SAID: AtomicBool = AtomicBool::new(false);
    let version = env!("CARGO_PKG_VERSION");
    (!SAID.swap(true, Ordering::Relaxed)).then(|| {
        let why = "nothing is recorded, since no setting names an output, such as NCCL_SCOREP_SUMMARY";
        let line = format!("scorep-nccl {version}: {caller}, {why}");
        log::info(&line);
        LogLine::new(&line)
    })
}

/// Returns whether NCCL has found the library by its own name for plugins, and no setting names an output. Decided
/// once.
fn is_unasked() -> bool {
    static DECIDED: OnceLock<bool> = OnceLock::new();
    *DECIDED.get_or_init(|| {
        let names_one = std::env::var_os("NCCL_PROFILER_PLUGIN").is_some_and(|value| is_set(&value));
        let by_score_p = is_score_ps(|name| std::env::var_os(name));
        is_loaded_as(UNASKED_NAME) && !names_one && !by_score_p && !config::settings().has_output()
    })
}

/// Returns whether Score-P's variables name this library among its plugins.
pub fn is_score_ps(lookup: impl Fn(&str) -> Option<OsString>) -> bool {
    // any separator may be set
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    SCORE_PS.iter().any(|(variable, ours)| {
        let list = lookup(variable).unwrap_or_default();
        list.to_string_lossy().split(|letter| !is_of_name(letter)).any(|name| ours.contains(&name))
    })
}

/// Returns whether this library was loaded under that file name. Names that were used later do not count.
fn is_loaded_as(name: &str) -> bool {
    // SAFETY: the address is this library's, which is never unloaded.
    let file = unsafe { containing(is_loaded_as as fn(&str) -> bool as *const c_void) };
    file.and_then(|(_, file)| file.to_str().ok()?.rsplit('/').next()).is_some_and(|file| file == name)
}
