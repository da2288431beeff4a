//! NCCL's own log (`NCCL_DEBUG=INFO`): what it says of communicators, networks and connections.
//!
//! ```text
//! lines ──► prefix ──► message ──► reader ──► NcclLog
//!  bytes    who        what        which communicator
//! ```
//! A log may be of one rank or of many, mixed by lines; it may be cut, and most of it may be the job's other output. It
//! is read once, line by line. What is kept grows with processes, communicators and pairs of ranks, each up to a bound,
//! and not with lines. A line of NCCL's that cannot be read is counted and otherwise passed over.

mod connection;
mod log;
mod message;
mod prefix;
mod process;
mod reader;
mod texts;

pub use connection::{Side, Transport};
pub use log::{Connection, LineCounts, LoggedCommunicator, LoggedRank, NcclLog, Origin, Warning};
pub use message::Channels;
pub use process::{InitPhases, LoggedProcess};
pub use reader::LogReader;
