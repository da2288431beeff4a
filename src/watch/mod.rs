//! `scorep-nccl watch`: says while a job runs when a rank, a node or a link begins to stand out, and when the job
//! hangs.

pub(crate) mod command;
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

pub(crate) use command::seconds;
pub(crate) use job_process::JobProcess;
pub(crate) use judge::finding::{
    FindingChange, FindingExcess, FindingSince, FindingSubject, SCHEMA as FINDING_SCHEMA, WatchFinding, WatchedProcess,
};
pub(crate) use judge::sentence::cause_of;
pub(crate) use log::MOST as LONGEST_LOG;
pub(crate) use webhook::{TOKEN, check as check_webhook};
