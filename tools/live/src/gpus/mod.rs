//! `scorep-nccl gpus`: clocks, power, temperature, use and errors of this node's GPUs, and bytes over NVLink, PCIe and
//! network adapters, with or without a job.

mod chart;
pub mod command;
mod condition;
mod condition_columns;
mod condition_metrics;
mod cost;
mod csv_file;
mod lines;
mod reader;
mod sampler;
mod textfile;
