//! The core of scorep-nccl. It knows neither NCCL's structures nor Score-P's.
//!
//! ```text
//! record: callbacks ──► windows of slots ──► collect: reader, assembly ──► sums, figures ──► board, series, timeline, summary
//! ```
//! The callbacks ([`callbacks`]) write one cache line per event ([`slot`]) into the communicator's window ([`window`]).
//! The collector thread (`collect::collector`) reads the windows (`collect::reader`), assembles operations and
//! transfers (`collect::assembly`), sums and fits them ([`run_sums`], [`rate`]), and shows the result ([`board`],
//! [`series`], [`summary`]).

// The lowest floor.
mod base;
pub mod event;
pub mod hardware;

// The settings, identity and clocks of a process.
pub mod clock;
pub mod config;
pub mod origin;
pub mod status;

// The recording.
pub mod launch;
mod record;

// The figures.
pub mod conditions;
pub mod figures;
pub mod links;
pub mod nvlink;
pub mod operation;
pub mod summary;
mod sums;

// The collector, and the figures of all processes together.
mod collect;
pub mod lateness;

// Out of the process.
pub mod control;
#[cfg_attr(not(feature = "otel"), path = "export/none.rs")]
mod export;
mod stacks;
pub mod status_file;
pub mod summary_file;

// Begin and end.
pub mod process;

// for the hosts: the plugin, the substrate, the tool, and their tests
pub use base::{
    birth, files, guard, host_name, image, last_work, log, mapping, moments, notes, own_thread, patience, pause,
    prometheus, rank, ranks, shortage, signal, switch, visible,
};
pub use collect::{communicator, course, round};
pub use event::{handle, kind, name, text};
pub use figures::{arrivals, board, metric, missing, series, timeline};
pub use lateness::clock_tree;
pub use launch::gate;
pub use record::{callbacks, context, grace, host_region, pool, recorder, slot, thread, window};
pub use summary::report;
pub use sums::{channel_fits, rate, run_sums, services};

/// The allocator of the library, and of every program linked with this crate, such as the tool.
#[global_allocator]
static ALLOCATOR: base::reserve::Reserve = base::reserve::Reserve;
