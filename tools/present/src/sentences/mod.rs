//! The sentences that answer the report's questions. All forms of output use these.

mod about;
pub(super) mod causes;
mod choices;
mod cost;
mod early;
mod late;
mod lateness;
mod network;
pub mod two_runs;

use super::names::ReportNames;
use super::units::{count, counted, time};
pub use about::left_out_lines;
pub(super) use about::{about_breakdown, about_conditions, about_findings, about_tags};
pub(crate) use about::{pair_states, sender_and_receiver};
pub use choices::choices;
pub(crate) use choices::{about_log, fallback};
pub(crate) use cost::{unplaced, without_kernel};
pub(super) use early::capital;
pub(crate) use network::{of_late_ranks, slow_communicator, slow_part};
use report::answer::{Answers, Complete, Late, RankLate, RankPair, Report};

/// Returns the answers to the three questions, for [`Report::answers`]. Each is judged here, once.
pub fn answers(report: &Report) -> Answers {
    Answers { late: late::answer(report), cost: cost::answer(report), network: network::answer(report) }
}

/// Returns which ranks stand before the others, whether all ranks and operations are here, and how well clocks are
/// known.
pub fn complete(report: &Report) -> String {
    let complete = &report.complete;
    let lacks = lacks(report);
    let verdict = match complete.ranks {
        Some(ranks) if ranks != complete.ranks_here => "Not complete",
        _ if !lacks.is_empty() => "Not complete",
        Some(_) => "Complete",
        None => "Complete as far as is known",
    };
    let ranks = match complete.ranks {
        Some(ranks) if ranks == complete.ranks_here => format!("all {}", counted(ranks, "rank")),
        Some(ranks) => format!("{} of {}", count(complete.ranks_here), counted(ranks, "rank")),
        None => format!("{} of an unknown number", counted(complete.ranks_here, "rank")),
    };
    let are = if complete.ranks_here == 1 { "is" } else { "are" };
    let mut text = early::early(report).map_or_else(String::new, |early| early + " ");
    text += &format!(
        "{verdict}: {ranks} {are} here{} with {}",
        missing(complete),
        counted(complete.operations, "operation")
    );
    if !lacks.is_empty() {
        text += ", but ";
        text += &lacks.join(", ");
    }
    text += &match complete.clock_error_us {
        Some(_) if complete.nodes == 1 => "; all are on one clock".into(),
        Some(us) => format!("; clocks agree to within {}", time(us)),
        None => "; clocks are not connected, so times of different machines are not compared".into(),
    };
    if let Some(us) = complete.wait_error_us {
        text += &format!(", waits are known to {}", time(us));
    }
    text + "."
}

/// Names the ranks that are not here.
fn missing(complete: &Complete) -> String {
    match complete.missing.as_str() {
        "" => String::new(),
        one if one.chars().all(|letter| letter.is_ascii_digit()) => format!(" (rank {one} is missing)"),
        several => format!(" (ranks {} are missing)", several.replace(',', ", ")),
    }
}

/// Returns the deficiencies of the data, each in a few words.
fn lacks(report: &Report) -> Vec<String> {
    let complete = &report.complete;
    let unread = complete.inputs.iter().filter(|input| input.problem.is_some()).count();
    let lack = |number: u64, noun: &str, fate: &str| (number > 0).then(|| format!("{} {fate}", counted(number, noun)));
    let lacking = complete.communicators.len();
    [
        lack(unread as u64, "input", "left out"),
        lack(lacking as u64, "communicator", "with missing or repeated ranks"),
        lack(complete.dropped, "event", "not recorded"),
        lack(complete.untimed, "operation", "without a GPU time"),
        lack(complete.without_begin, "operation", "whose begin is not known"),
        lack(complete.unmatched, "operation", "not matched over all ranks"),
        lack(complete.unfinished, "operation", "never ended"),
        lack(complete.invisible, "call", "that NCCL reports no operation of"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns the places of the GPUs that others waited for, and their waits: the largest own delay cost first, and the
/// largest delay cost where these are equal or not known.
pub(crate) fn latest(late: &Late) -> Vec<(usize, &RankLate)> {
    let mut ranks: Vec<_> = late.ranks.iter().enumerate().filter(|(_, rank)| rank.cost_us > 0.0).collect();
    ranks.sort_by(|(_, a), (_, b)| {
        (b.own_us, b.cost_us).partial_cmp(&(a.own_us, a.cost_us)).unwrap_or(std::cmp::Ordering::Equal)
    });
    ranks
}

/// Returns the names of a pair: `rank 2 to rank 5`.
pub(crate) fn pair(pair: &RankPair, names: &ReportNames<'_>) -> String {
    let name = |gpu: Option<usize>, rank: i32| gpu.map_or_else(|| format!("rank {rank}"), |gpu| names.gpu(gpu));
    format!("{} to {}", name(pair.from, pair.rank), name(pair.to, pair.peer))
}

#[cfg(test)]
mod tests;
