//! The processes of a job together: roll call, clocks, gathering and files.

pub(crate) mod gather;
pub(crate) mod ipc;
pub(crate) mod job_files;
pub(crate) mod node_clocks;
pub(crate) mod roll_call;
