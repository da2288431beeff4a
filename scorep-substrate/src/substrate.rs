//! Substrate plugin `nccl`: Score-P calls it in all processes at the run's begin and end, and it gathers their
//! summaries.
//!
//! Score-P's communication is collective: if a process leaves out a step, the other processes wait forever. So these
//! callbacks take every step even if a fault has switched the plugin off; they then send less.

use crate::job::gather;
use crate::job::ipc::Ipc;
use crate::job::job_files::JobFiles;
use crate::job::node_clocks::Nodes;
use crate::job::roll_call::RollCall;
use crate::sys::*;
use crate::{host_regions, run};
use common::guard::{contain, guard};
use common::summary::Summary;
use common::{config, control, log, recorder};
use once_cell::sync::OnceCell;
use std::ffi::{CStr, c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// How long the first process waits until the other processes have loaded the plugin.
const PATIENCE: Duration = Duration::from_secs(10);

/// Score-P's functions for substrate plugins.
static CALLBACKS: OnceCell<SubstratePluginCallbacks> = OnceCell::new();
/// The nodes, if all processes have loaded the plugin.
static NODES: OnceCell<Nodes> = OnceCell::new();
/// The summary that this process will write, once gathered.
static SUMMARY: Mutex<Option<Summary>> = Mutex::new(None);

/// Returns Score-P's communication. Used on the main thread only.
fn ipc() -> Option<Ipc<'static>> {
    // SAFETY: Score-P's table; Score-P calls all users of this function on the main thread, from `init_mpp` to
    // `write_data`.
    CALLBACKS.get().map(|callbacks| unsafe { Ipc::new(callbacks) })
}

/// Returns `<experiment directory>/nccl`.
fn directory() -> Option<PathBuf> {
    let get = CALLBACKS.get()?.SCOREP_GetExperimentDirName?;
    // SAFETY: Score-P's function, which is valid from `init_mpp` on.
    let name = unsafe { get() };
    if name.is_null() {
        return None;
    }
    // SAFETY: Score-P's string, which lives until the directory is renamed after the last callback.
    let name = unsafe { CStr::from_ptr(name) };
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes())).join("nccl"))
}

unsafe extern "C" fn init() -> c_int {
    guard("init_substrate", 0, || {
        run::prepare();
        0
    })
}

unsafe extern "C" fn set_callbacks(callbacks: *const SubstratePluginCallbacks, size: usize) {
    guard("set_callbacks", (), || {
        // SAFETY: zeros mean no functions, as in `SubstratePluginInfo::zeroed`.
        let mut own: SubstratePluginCallbacks = unsafe { std::mem::zeroed() };
        let length = size.min(size_of::<SubstratePluginCallbacks>());
        if !callbacks.is_null() {
            // SAFETY: Score-P's table has `size` bytes. The copy takes at most the size of its type; what it lacks
            // stays zero.
            unsafe { std::ptr::copy_nonoverlapping(callbacks.cast::<u8>(), (&raw mut own).cast::<u8>(), length) };
        }
        let _ = CALLBACKS.set(own);
    });
}

/// Called when processes can communicate: finds out whether all processes have loaded the plugin, and compares their
/// clocks.
unsafe extern "C" fn init_mpp() {
    contain("init_mpp", (), || {
        run::begin();
        let Some(ipc) = ipc().filter(|ipc| ipc.size() > 1) else { return };
        let Some(directory) = directory() else { return };
        let takes_part = config::settings().gather_bytes > 0;
        let roll = RollCall::new(&directory, ipc.rank(), ipc.size(), takes_part);
        match roll.all_take_part(PATIENCE) {
            Ok(true) => match Nodes::meet(ipc) {
                Ok(nodes) => {
                    let _ = NODES.set(nodes);
                }
                Err(error) => tell_alone(&error.to_string()),
            },
            _ if !takes_part => tell_alone("NCCL_SCOREP_GATHER_KB=0"),
            Ok(false) => tell_alone(
                "not all processes take part: one has not loaded the plugin (SCOREP_SUBSTRATE_PLUGINS=nccl), does not see the directory, \
                 or has NCCL_SCOREP_GATHER_KB=0",
            ),
            Err(error) => tell_alone(&format!("{}: {error}", directory.display())),
        }
    });
}

fn tell_alone(why: &str) {
    log::warn(&format!("each process writes a summary of its own into the experiment directory: {why}"));
}

/// Returns this process's summary.
fn own_summary() -> Summary {
    control::summary().unwrap_or_else(|| {
        let used = recorder::begun().is_some();
        Summary::of_nothing(if used {
            "its figures are missing: the collector thread did not answer"
        } else {
            "NCCL was not used"
        })
    })
}

/// Called when no more events come but processes can still communicate: gathers the summaries.
unsafe extern "C" fn pre_unify() {
    contain("pre_unify", (), || {
        // a fault in here must not keep this process from its part in the communication
        let (summary, arrivals) = contain("pre_unify", (None, None), || (Some(own_summary()), run::take_arrivals()));
        let result = match (NODES.get(), ipc()) {
            (Some(nodes), Some(ipc)) => gather::gather(ipc, nodes, summary, arrivals, config::settings().gather_bytes),
            (None, Some(ipc)) if ipc.size() == 1 => {
                Ok(summary.map(|summary| gather::alone(summary, arrivals, config::settings().summary_arrivals())))
            }
            _ => Ok(summary),
        };
        match result {
            Ok(summary) => *SUMMARY.lock().unwrap_or_else(PoisonError::into_inner) = summary,
            Err(error) => log::warn(&format!("there is no job summary: {error}")),
        }
    });
}

/// Writes the job summary in the first process, or without a job summary each process's own.
unsafe extern "C" fn write_data() {
    contain("write_data", (), || {
        let Some((ipc, directory)) = ipc().zip(directory()) else { return };
        // all processes have left init_mpp by now
        if ipc.rank() == 0 || NODES.get().is_none() {
            RollCall::clear(&directory);
        }
        let Some(summary) = SUMMARY.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let files =
            JobFiles::new(&directory, if NODES.get().is_some() || ipc.size() == 1 { None } else { Some(ipc.rank()) });
        if let Err(error) = files.write(&summary) {
            log::warn(&format!("the summary could not be written: {error}"));
        }
    });
}

unsafe extern "C" fn get_requirement(flag: SubstrateRequirement) -> bool {
    flag == REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY
}

unsafe extern "C" fn dump_manifest(file: *mut libc::FILE, _source: *const c_char, _target: *const c_char) {
    guard("dump_manifest", (), || {
        let Some(callbacks) = CALLBACKS.get() else { return };
        let (header, entry) =
            (callbacks.SCOREP_ConfigManifestSectionHeader, callbacks.SCOREP_ConfigManifestSectionEntry);
        let (Some(header), Some(entry), false) = (header, entry, file.is_null()) else { return };
        // SAFETY: Score-P's functions and file; the names and texts are short and contain no `%`.
        unsafe {
            header(file, c"NCCL".as_ptr());
            entry(
                file,
                c"nccl/summary.json".as_ptr(),
                c"Operations and transfers of NCCL in all processes (scorep-nccl).".as_ptr(),
            );
            entry(file, c"nccl/summary.txt".as_ptr(), c"The same as tables.".as_ptr());
        }
    });
}

unsafe extern "C" fn program_end(_: *mut Location, timestamp: u64, _: ExitStatus, _: RegionHandle) {
    contain("program_end", (), || run::program_ends(timestamp));
}

unsafe extern "C" fn activate_cpu_location(_: *const Location, _: *const Location, _: u32) {
    guard("activate_cpu_location", (), host_regions::know_thread);
}

/// The table of event functions, which Score-P reads until the end of the process.
struct EventFunctions([SubstrateEventFunction; NUM_EVENTS as usize]);

static EVENTS: EventFunctions = EventFunctions({
    let mut functions: [SubstrateEventFunction; NUM_EVENTS as usize] = [None; NUM_EVENTS as usize];
    let program_end: ProgramEndFunction = Some(program_end);
    // SAFETY: Score-P calls the function at this place with the arguments of a `ProgramEndFunction`.
    functions[EVENT_PROGRAM_END as usize] =
        unsafe { std::mem::transmute::<ProgramEndFunction, SubstrateEventFunction>(program_end) };
    functions
});

unsafe extern "C" fn get_event_functions(_mode: SubstrateMode, functions: *mut *mut SubstrateEventFunction) -> u32 {
    if functions.is_null() {
        return 0;
    }
    // SAFETY: Score-P passes a place for the table's address, and only reads the table.
    unsafe { *functions = EVENTS.0.as_ptr().cast_mut() };
    NUM_EVENTS
}

/// Returns the plugin's table; Score-P looks this function up for `SCOREP_SUBSTRATE_PLUGINS=nccl`.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is Score-P's")]
pub extern "C" fn SCOREP_SubstratePlugin_nccl_get_info() -> SubstratePluginInfo {
    SubstratePluginInfo {
        plugin_version: SUBSTRATE_PLUGIN_VERSION,
        init: Some(init),
        init_mpp: Some(init_mpp),
        activate_cpu_location: Some(activate_cpu_location),
        pre_unify: Some(pre_unify),
        write_data: Some(write_data),
        get_event_functions: Some(get_event_functions),
        set_callbacks: Some(set_callbacks),
        get_requirement: Some(get_requirement),
        dump_manifest: Some(dump_manifest),
        ..SubstratePluginInfo::zeroed()
    }
}
