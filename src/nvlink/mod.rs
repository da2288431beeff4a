//! `scorep-nccl nvlink`: bytes over NVLink, PCIe and network adapters of this node, with or without a job.

mod chart;
pub(crate) mod command;
mod csv_file;
mod lines;
mod sampler;
mod textfile;
