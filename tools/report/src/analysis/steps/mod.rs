//! The steps of the job: the user's regions, or what repeats.
//!
//! A [`Survey`] reads the tables' beginnings, a [`StepPlan`] decides what the steps are, and in the stream a follower
//! finds each of them. A GPU's steps follow one another without a gap: a step ends with the begin of
//! the next one's first call, the last step with the end of its own last call.

mod accumulation;
mod bursts;
mod closing;
mod figures;
mod follow;
mod met;
mod micro;
mod pattern;
mod patterns;
mod per_step;
mod plan;
mod record;
mod run;
mod sequence;
mod survey;
mod token;

pub(crate) use follow::{Follower, InStep, StepEvent};
pub(crate) use per_step::PerStep;
pub use plan::StepPlan;
pub(crate) use record::Records;
pub use survey::Survey;
pub(crate) use token::CallToken;
