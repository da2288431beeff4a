//! `scorep-nccl hang`: which rank, process or link holds a job up.

pub(crate) mod command;
pub(crate) mod headline;
mod phrase;
mod text;
