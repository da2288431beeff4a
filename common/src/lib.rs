//! The core of scorep-nccl. It knows neither NCCL's structures nor Score-P's.
//!
//! ```text
//! callbacks ──► recorder's windows of slots ──► collector: assembly ──► figures ──► board, series, summary
//! ```
//! The callbacks ([`callbacks`]) write one cache line an event ([`slot`]) into the communicator's window ([`window`]). The collector
//! thread ([`collector`]) reads the windows ([`reader`]), puts operations and transfers together ([`assembly`]), sums and fits
//! them ([`totals`], [`fit`], [`rate`]) and shows the result ([`board`], [`series`], [`summary`]).

pub(crate) mod answer;
pub mod arrivals;
pub mod assembly;
mod bell;
pub mod board;
pub mod callbacks;
pub mod calls;
mod cancel;
pub mod clock;
pub mod clock_tree;
pub mod collector;
pub mod communicator;
pub mod config;
pub mod connections;
pub mod context;
pub mod control;
pub mod course;
pub mod cuda;
pub mod datatype;
pub mod enough;
pub mod event;
#[cfg_attr(not(feature = "otel"), path = "no_export.rs")]
pub mod export;
pub mod figures;
pub mod files;
pub mod fit;
pub mod gate;
pub mod gpu_clock;
pub mod gpu_track;
pub mod grace;
pub mod guard;
pub mod handle;
pub mod host_name;
pub mod host_region;
pub mod in_step;
pub mod intervals;
pub mod introductions;
mod job;
pub mod kernels;
pub mod kind;
pub mod lateness;
pub mod launch;
pub mod log;
pub mod mapping;
pub mod metric;
pub mod missing;
pub mod name;
pub mod news;
pub mod notes;
pub mod operation;
pub mod operations;
pub mod order;
pub mod origin;
#[cfg(feature = "otel")]
pub mod otel;
pub mod own_thread;
pub mod pool;
pub mod process;
pub mod proxies;
pub mod pulse;
pub mod question;
pub mod rank;
pub mod rate;
pub mod reader;
pub mod recorder;
pub mod report;
mod reserve;
pub mod round;
pub mod sent;
pub mod series;
pub mod services;
mod signal;
pub mod slot;
#[cfg(feature = "otel")]
pub mod snapshot;
pub mod spread;
pub mod summary;
mod summary_file;
pub mod switch;
mod sync;
pub mod table;
pub mod text;
#[cfg(feature = "otel")]
mod textfile;
pub mod thread;
pub mod timeline;
pub mod timing;
pub mod totals;
pub mod traffic;
mod unseen;
pub mod verdict;
pub mod visible;
pub mod window;

/// Of the library; a program that is made with it, as the tool, has it too.
#[global_allocator]
static ALLOCATOR: reserve::Reserve = reserve::Reserve;
