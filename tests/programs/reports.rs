//! Reports, tables and diagrams of recordings.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../nccl_log/main.rs"]
mod nccl_log;
#[path = "../pictures.rs"]
mod pictures;
#[path = "../planted/main.rs"]
mod planted;
#[path = "../report/main.rs"]
mod report;
#[path = "../reported_truth/main.rs"]
mod reported_truth;
#[path = "../sequence.rs"]
mod sequence;
#[path = "../table/main.rs"]
mod table;

#[path = "../support/mod.rs"]
mod support;
