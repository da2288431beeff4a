//! The verdicts on the report's three questions, with all their thresholds. The sentences of the crate `present` are
//! made of them.

mod cost;
mod late;
mod lateness;
mod network;
mod pace;

pub use cost::{communication_ns, of_cost, shares_hold, unknown_waits, waits_are_known};
pub use late::{LateFinding, LateVerdict};
pub use lateness::{LatenessFinding, MIN_RANKS, RankBesideOthers};
pub use network::{NetworkVerdict, heaviest, of_expected};
pub use pace::Pace;
