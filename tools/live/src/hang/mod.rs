//! `scorep-nccl hang`: which rank, process or link holds a job up.

pub mod command;
pub(crate) mod headline;
mod phrase;
mod text;
