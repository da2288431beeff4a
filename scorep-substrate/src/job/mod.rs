//! The processes of a job together: roll call, clocks, gathering and files; and what a replay of one process takes in
//! their place (`replayed`).

pub(crate) mod gather;
pub(crate) mod ipc;
pub(crate) mod job_files;
pub(crate) mod node_clocks;
pub mod replayed;
pub(crate) mod roll_call;
