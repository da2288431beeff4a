//! The core of scorep-nccl. It knows neither NCCL's structures nor Score-P's.
//!
//! ```text
//! callbacks ──► recorder's windows of slots ──► collector: assembly ──► figures ──► board, series, summary
//! ```
//! The callbacks ([`callbacks`]) write one cache line an event ([`slot`]) into the communicator's window ([`window`]). The collector
//! thread ([`collector`]) reads the windows ([`reader`]), puts operations and transfers together ([`assembly`]), sums and fits
//! them ([`totals`], [`fit`], [`rate`]) and shows the result ([`board`], [`series`], [`summary`]).

mod base;
pub mod clock;
mod collect;
pub mod config;
pub mod control;
pub mod event;
#[cfg_attr(not(feature = "otel"), path = "export/none.rs")]
mod export;
pub mod figures;
pub mod lateness;
pub mod launch;
pub mod operation;
pub mod origin;
pub mod process;
mod record;
pub mod summary;
pub mod summary_file;
mod sums;

// for the hosts: the plugin, the substrate, the tool, and their tests
pub use base::{files, guard, log, mapping, notes, own_thread, rank, shortage, switch, visible};
pub use clock::gpu_track;
pub use collect::{communicator, course, round};
pub use event::{handle, kind, name, text};
pub use figures::{arrivals, board, metric, missing, series, timeline};
pub use lateness::clock_tree;
pub use launch::gate;
pub use record::{callbacks, context, grace, host_region, pool, recorder, slot, thread, window};
pub use summary::report;
pub use sums::{connections, rate, services, totals};

/// Of the library; a program that is made with it, as the tool, has it too.
#[global_allocator]
static ALLOCATOR: base::reserve::Reserve = base::reserve::Reserve;
