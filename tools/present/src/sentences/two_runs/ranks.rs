//! The sentences on ranks: whose own time has changed, who became late; and changes in words.

use super::super::super::units::{count, share, time};
use super::super::early::capital;
use report::answer::Part;
use report::compare::{ChangeVerdict, Comparison, MIN_CHANGE, OwnTime, RankChanged, StandingOut};
use std::collections::BTreeSet;

/// Returns the names of ranks and groups that are worse.
pub(super) fn worse(comparison: &Comparison) -> Vec<String> {
    let mut names: Vec<String> =
        grown(comparison, &[ChangeVerdict::Worse]).into_iter().map(|group| group.name).collect();
    let became = comparison.late.iter().flat_map(|late| &late.became);
    for standing in became.filter(|standing| standing.verdict == ChangeVerdict::Worse) {
        // the rank or the ranks of the node may be there
        if !names.iter().any(|name| name.ends_with(&standing.name)) {
            names.push(standing.name.clone());
        }
    }
    listed(names)
}

/// Returns the first names, and how many more there are.
fn listed(names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(NAMED) as u64;
    let more = (more > 0).then(|| format!("{} more of the ranks", count(more)));
    names.into_iter().take(NAMED).chain(more).collect()
}

/// A rank, or all ranks of a node, whose own time has changed alike.
#[derive(Debug)]
struct ChangedRanks {
    name: String,
    own_us: [f64; 2],
    change: f64,
    others: f64,
}

/// Returns the ranks with these verdicts, largest change first; all ranks of a node as one.
fn grown(comparison: &Comparison, verdicts: &[ChangeVerdict]) -> Vec<ChangedRanks> {
    let rows = comparison.ranks.known().map_or(&[][..], |ranks| &ranks.rows);
    let has = |row: &&RankChanged| verdicts.contains(&row.verdict);
    let of_node = |node: &str| rows.iter().filter(|row| row.node == node).collect::<Vec<_>>();
    let nodes: BTreeSet<&str> = rows.iter().map(|row| row.node.as_str()).collect();
    let is_whole = |node: &&str| {
        let ranks = of_node(node);
        nodes.len() > 1 && !node.is_empty() && ranks.len() > 1 && ranks.iter().all(has)
    };
    let whole: Vec<&str> = nodes.iter().copied().filter(is_whole).collect();
    let single = rows.iter().filter(has).filter(|row| !whole.contains(&row.node.as_str()));
    let single = single.map(|row| ChangedRanks {
        name: row.name.clone(),
        own_us: row.own_us,
        change: row.change,
        others: row.others,
    });
    let together = whole.iter().map(|node| {
        let ranks = of_node(node);
        let mean = |of: fn(&RankChanged) -> f64| ranks.iter().map(|row| of(row)).sum::<f64>() / ranks.len() as f64;
        ChangedRanks {
            name: format!("all {} ranks of {node}", ranks.len()),
            own_us: [mean(|row| row.own_us[0]), mean(|row| row.own_us[1])],
            change: mean(|row| row.change),
            others: mean(|row| row.others),
        }
    });
    let mut groups: Vec<ChangedRanks> = together.chain(single).collect();
    groups.sort_by(|one, other| other.change.abs().total_cmp(&one.change.abs()));
    groups
}

/// Returns the sentences on ranks.
pub(super) fn sentences(comparison: &Comparison) -> Vec<String> {
    let mut sentences = vec![];
    match &comparison.ranks {
        Part::Known(ranks) => {
            if ranks.change.abs() >= MIN_CHANGE {
                let size = share(ranks.change.abs());
                let time = capital(own_time(ranks.time));
                sentences.push(format!("{time} of the ranks {} by {size} in the median.", went(ranks.change)));
            }
            for verdicts in
                [&[ChangeVerdict::Worse, ChangeVerdict::Slower], &[ChangeVerdict::Better, ChangeVerdict::Faster]]
            {
                let groups = grown(comparison, verdicts);
                sentences.extend(groups.iter().take(NAMED).map(|group| own(group, own_time(ranks.time))));
                if let Some(rest) = groups.get(NAMED..).filter(|rest| !rest.is_empty()) {
                    let way = if verdicts.contains(&ChangeVerdict::Worse) { "longer" } else { "less" };
                    let more = if rest.len() == 1 { "rank" } else { "ranks" };
                    let rest = rest.len();
                    sentences.push(format!("{rest} more {more} took {way} than the others; the table has them."));
                }
            }
        }
        Part::Absent(reason) => sentences.push(format!("Ranks are not compared: {reason}")),
    }
    if let Some(late) = &comparison.late {
        sentences.extend(late.became.iter().take(NAMED).map(became));
        sentences.extend(late.no_longer.iter().take(NAMED).map(|standing| {
            format!("{} stood out among its peers before, and no longer does.", capital(&standing.name))
        }));
    }
    sentences
}

fn went(change: f64) -> &'static str {
    if change < 0.0 { "fell" } else { "grew" }
}

/// Returns what a rank's own time is called. Without a re-enactment it is not that alone: where NCCL runs beside a
/// computation, a rank that waits less is longer without NCCL.
pub(crate) fn own_time(time: OwnTime) -> &'static str {
    match time {
        OwnTime::BetweenOperations => "own time",
        OwnTime::OutsideNccl => "time without NCCL",
    }
}

fn own(group: &ChangedRanks, time_of: &str) -> String {
    let [before, after] = group.own_us;
    let others = match group.others {
        others if others.abs() < MIN_CHANGE => "that of the others did not change".to_owned(),
        others => format!("that of the others {} by {}", went(others), share(others.abs())),
    };
    let whose = if group.name.starts_with("all ") { "their" } else { "its" };
    format!(
        "{}: {whose} {time_of} {} from {} to {} a step ({} %), {others}.",
        capital(&group.name),
        went(group.change),
        time(before),
        time(after),
        percent(group.change)
    )
}

fn became(standing: &StandingOut) -> String {
    let gain =
        standing.gain_us.map_or_else(String::new, |gain| format!("; without that a step would gain {}", time(gain)));
    format!(
        "{} stands out now and did not before: {} a step beyond its peers ({}){gain}.",
        capital(&standing.name),
        time(standing.excess_us),
        share(standing.excess)
    )
}

/// Most ranks, groups of ranks or operations that are named.
pub(super) const NAMED: usize = 3;
/// Returns a change as a percentage with its sign, without the unit.
pub(crate) fn percent(change: f64) -> String {
    format!("{:+.1}", change * 100.0)
}

/// Returns an interval as percentages.
pub(crate) fn range([low, high]: [f64; 2]) -> String {
    format!("{}..{} %", percent(low), percent(high))
}
