//! `scorep-nccl watch`: says while a job runs when a rank, a node or a link begins to stand out, and when the job
//! hangs.

pub(crate) mod command;
mod judge;
mod log;
#[cfg(test)]
mod tests;
mod textfile;
mod unmarked;
mod view;
mod webhook;
