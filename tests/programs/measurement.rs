//! Score-P's side: metrics, lanes, job summaries, experiments and archives; SLURM.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "../archive.rs"]
mod archive;
#[path = "../communication/main.rs"]
mod communication;
#[path = "../gather.rs"]
mod gather;
#[path = "../gather_scale.rs"]
mod gather_scale;
#[path = "../lane_limits/main.rs"]
mod lane_limits;
#[path = "../lanes.rs"]
mod lanes;
#[path = "../replayed_lanes.rs"]
mod replayed_lanes;
#[path = "../score_p/main.rs"]
mod score_p;
#[path = "../series.rs"]
mod series;
#[path = "../slurm/main.rs"]
mod slurm;
#[path = "../without_mpi.rs"]
mod without_mpi;

#[path = "../support/mod.rs"]
mod support;
