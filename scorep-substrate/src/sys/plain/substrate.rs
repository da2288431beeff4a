//! The substrate plugin interface, version 3, written by hand from its behaviour: a substrate plugin takes part in the
//! whole measurement, next to Score-P's own profile and trace.

use super::callbacks::SubstratePluginCallbacks;
use super::definition::{AnyHandle, ExitStatus, HandleType, Location, RegionHandle, TaskHandle};
use libc::FILE;
use std::ffi::{c_char, c_int};

/// The version of this interface, for [`SubstratePluginInfo::plugin_version`].
pub const SUBSTRATE_PLUGIN_VERSION: u32 = 3;

/// Whether Score-P records events, when it asks for a table of event functions.
pub type SubstrateMode = u32;
/// Score-P records events.
pub const RECORDING_ENABLED: SubstrateMode = 0;
/// The application has switched recording off.
pub const RECORDING_DISABLED: SubstrateMode = 1;

/// A requirement that Score-P asks a plugin about.
pub type SubstrateRequirement = u32;
/// The plugin needs an experiment directory. Asked during the start; in a program with MPI, after the first events.
pub const REQUIREMENT_CREATE_EXPERIMENT_DIRECTORY: SubstrateRequirement = 0;
/// The plugin needs a measurement without asynchronous metrics.
pub const REQUIREMENT_PREVENT_ASYNC_METRICS: SubstrateRequirement = 1;
/// The plugin needs a measurement without metrics that only one process of a node or of the run writes.
pub const REQUIREMENT_PREVENT_PER_HOST_AND_ONCE_METRICS: SubstrateRequirement = 2;

/// Index of an event's function in the table of [`SubstratePluginInfo::get_event_functions`].
pub type SubstrateEvent = u32;
/// The measurement ends: a [`ProgramEndFunction`].
pub const EVENT_PROGRAM_END: SubstrateEvent = 64;
/// Length of the table.
pub const NUM_EVENTS: SubstrateEvent = 83;
/// A function in the table; Score-P calls it with the arguments of its event.
pub type SubstrateEventFunction = Option<unsafe extern "C" fn()>;
/// Called once on the finalizing thread, after the metric plugins' `synchronize` and before any location is
/// deactivated. Events written to a location here still reach the profile and the trace.
pub type ProgramEndFunction = Option<
    unsafe extern "C" fn(
        location: *mut Location,
        timestamp: u64,
        exit_status: ExitStatus,
        program_region_handle: RegionHandle,
    ),
>;

/// The table of a substrate plugin, returned by value from `SCOREP_SubstratePlugin_<name>_get_info`.
///
/// Score-P copies it. Functions that are not set are not called, and none may unwind. Score-P calls them on the main
/// thread unless a field says otherwise.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SubstratePluginInfo {
    /// [`SUBSTRATE_PLUGIN_VERSION`].
    pub plugin_version: u32,
    /// Called once, first. On a result other than 0, Score-P closes the plugin and does not use it.
    pub init: Option<unsafe extern "C" fn() -> c_int>,
    /// Passes the number under which the plugin can store data with locations. Called after `set_callbacks` and
    /// `get_event_functions`, before the metric plugins are loaded.
    pub assign_id: Option<unsafe extern "C" fn(plugin_id: usize)>,
    /// Called once when the processes can communicate: in `MPI_Init`, or without MPI during the start. Ranks are known
    /// from here on. When another rank is here, rank 0 may not have created the experiment directory yet.
    pub init_mpp: Option<unsafe extern "C" fn()>,
    /// Called once, last. The library stays open.
    pub finalize: Option<unsafe extern "C" fn()>,
    /// A location is created, by the thread `parent_location` if that is not NULL. Called on any thread, and on several
    /// at once.
    pub create_location: Option<unsafe extern "C" fn(location: *const Location, parent_location: *const Location)>,
    /// A thread begins to record on its location. Called on that thread, each time that it begins.
    pub activate_cpu_location: Option<
        unsafe extern "C" fn(location: *const Location, parent_location: *const Location, fork_sequence_count: u32),
    >,
    /// A thread stops recording on its location. Threads that still record at the end of the run are stopped then.
    pub deactivate_cpu_location:
        Option<unsafe extern "C" fn(location: *const Location, parent_location: *const Location)>,
    /// A location is about to be deleted, at the end of the run.
    pub delete_location: Option<unsafe extern "C" fn(location: *const Location)>,
    /// Called once at the end, after the last events of Score-P's profile and trace: events written to a location here
    /// are lost. Processes can still communicate.
    pub pre_unify: Option<unsafe extern "C" fn()>,
    /// Called once, after the definitions of all processes have been unified, to write results. Processes can still
    /// communicate.
    pub write_data: Option<unsafe extern "C" fn()>,
    /// A task is created; on any thread.
    pub core_task_create: Option<unsafe extern "C" fn(location: *const Location, task_handle: TaskHandle)>,
    /// A task has completed; on any thread.
    pub core_task_complete: Option<unsafe extern "C" fn(location: *const Location, task_handle: TaskHandle)>,
    /// A definition is created; on any thread, possibly while Score-P holds locks.
    pub new_definition_handle: Option<unsafe extern "C" fn(handle: AnyHandle, type_: HandleType)>,
    /// Called twice, for recording on and off, before any definition. Writes the address of a table with [`NUM_EVENTS`]
    /// functions and returns its length. The plugin owns the table, which must stay alive.
    pub get_event_functions:
        Option<unsafe extern "C" fn(mode: SubstrateMode, functions: *mut *mut SubstrateEventFunction) -> u32>,
    /// Passes Score-P's functions right after `init`, and their size in bytes. If the size is smaller than declared
    /// here, the last functions are missing.
    pub set_callbacks: Option<unsafe extern "C" fn(callbacks: *const SubstratePluginCallbacks, size: usize)>,
    /// Returns whether the plugin has a requirement: the same answer each time, and false for an unknown one. Called at
    /// any time, on any thread.
    pub get_requirement: Option<unsafe extern "C" fn(flag: SubstrateRequirement) -> bool>,
    /// Called once on rank 0, before `init_mpp`, to add entries to MANIFEST.md.
    pub dump_manifest: Option<
        unsafe extern "C" fn(manifest_file: *mut FILE, relative_source_dir: *const c_char, target_dir: *const c_char),
    >,
    /// Zero.
    pub undeclared: [Option<unsafe extern "C" fn()>; 99],
}
