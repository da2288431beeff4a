//! The verdicts on the report's three questions, with all their thresholds. The sentences of `output` name what is found
//! here.

mod cost;
mod late;
mod lateness;
mod network;
mod pace;

pub(crate) use cost::{communication_ns, of_cost, shares_hold, unknown_waits, waits_are_known};
pub(crate) use late::{LateFinding, LateVerdict};
pub(crate) use lateness::{FEWEST_RANKS, LatenessFinding, RankBesideOthers};
pub(crate) use network::{NetworkVerdict, heaviest, of_expected};
pub(crate) use pace::Pace;
