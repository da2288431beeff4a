//! `scorep-nccl watch`: says while a job runs when a rank, a node or a link begins to stand out, and when the job
//! hangs.

pub mod command;
mod job_process;
mod judge;
mod log;
mod priority;
#[cfg(test)]
mod tests;
mod textfile;
mod unmarked;
mod view;
mod webhook;

pub use command::seconds;
pub use job_process::JobProcess;
pub use judge::finding::{
    FindingChange, FindingExcess, FindingSince, FindingSubject, SCHEMA as FINDING_SCHEMA, WatchFinding, WatchedProcess,
};
pub use judge::sentence::cause_of;
pub use log::MOST as LONGEST_LOG;
pub use webhook::{TOKEN, check as check_webhook};
