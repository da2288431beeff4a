//! Pipeline parallelism over NCCL: a transformer's layers in stages, one process a stage, GPipe and 1F1B.
//!
//! `docs/pipeline.md` of the repository walks through a run of it. In the order of the data: [`schedule`] says what a
//! stage does in which order; [`stage`] does it, on a [`device`] and over [`link`]s; an [`outcome`] is what it has
//! seen; [`figures`] are made of all stages' outcomes, and [`check`] compares them with one process' outcome.

pub mod check;
pub mod device;
pub mod figures;
pub mod launch;
pub mod layer;
pub mod libraries;
pub mod link;
pub mod options;
pub mod outcome;
pub mod rendezvous;
pub mod schedule;
pub mod simulation;
pub mod stage;
pub mod values;
pub mod work;
