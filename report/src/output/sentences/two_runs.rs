//! The sentences of a comparison of two runs.

use super::super::units::{count, counted, number, round, share, sizes, time};
use super::words::capital;
use crate::answer::Part;
use crate::compare::{Changed, Comparison, OwnTime, RankChanged, Run, Standing, Subject, Verdict};

/// Most ranks, groups of ranks or operations that are named.
const NAMED: usize = 3;
/// A change below this share is none.
const LEAST: f64 = 0.01;

/// Returns the answer, for [`Comparison::answer`]: in what the runs differ, the change of the step, and what is worse.
pub fn answer(comparison: &Comparison) -> String {
    let parts = [differences(comparison), Some(step(comparison)), Some(verdict(comparison))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns in what the runs differ, as a list of facts.
pub(crate) fn facts(runs: &[Run; 2]) -> Vec<String> {
    let [before, after] = runs;
    let mut facts = vec![];
    if before.ranks != after.ranks {
        facts.push(format!("{}, before {}", counted(after.ranks, "rank"), before.ranks));
    }
    if let (Some(before), Some(after)) = (before.nodes, after.nodes)
        && before != after
    {
        facts.push(format!("{}, before {before}", counted(after, "node")));
    }
    if !before.nccl.is_empty() && !after.nccl.is_empty() && before.nccl != after.nccl {
        facts.push(format!("NCCL {}, before {}", after.nccl.join(" and "), before.nccl.join(" and ")));
    }
    if let (Some(before), Some(after)) = (before.operations, after.operations)
        && (after / before - 1.0).abs() > LEAST
    {
        facts.push(format!("{} operations of a rank in a step, before {}", number(after), number(before)));
    }
    facts
}

/// Says in what the runs differ, and which changes are no fault for it; `None` where they are alike.
fn differences(comparison: &Comparison) -> Option<String> {
    let facts = facts(&comparison.runs);
    if facts.is_empty() {
        return None;
    }
    let mut text = format!("The runs differ: {}.", facts.join("; "));
    if comparison.runs[0].ranks != comparison.runs[1].ranks {
        text += " What depends on the number of ranks is compared, but not judged.";
    }
    if let Some(times) = comparison.times_the_work {
        text += &format!(
            " A step has {} times the work of before, so it is not judged: --step or --steps sets what a step is.",
            number(times)
        );
    }
    Some(text)
}

/// Says how the step has changed.
pub(crate) fn step(comparison: &Comparison) -> String {
    let step = match &comparison.step {
        Part::Known(step) => step,
        Part::Absent(reason) => return format!("Whether a step takes longer is not known: {reason}"),
    };
    let [before, after] = step.medians_us;
    let figures = format!("{}, before {}", time(after), time(before));
    let interval = step.interval.map_or_else(String::new, |interval| format!(" (95 % interval {})", range(interval)));
    let size = share(step.change.unwrap_or_default().abs());
    let is_longer = after > before;
    match step.verdict {
        Verdict::Uncertain if step.interval.is_none() => format!(
            "Whether a step takes longer is not known: {figures}, but one run has {} alone.",
            counted(step.samples.into_iter().min().unwrap_or_default(), "step")
        ),
        Verdict::Uncertain => {
            format!("Whether a step takes longer is not known: {figures}{interval}. More steps narrow the interval.")
        }
        Verdict::Equal => format!("A step takes as long as before: {figures}{interval}."),
        Verdict::NotJudged if !step.is_beyond_chance() => {
            format!("A step takes as long as before: {figures}{interval}.")
        }
        _ if is_longer => format!("A step takes {size} longer: {figures}{interval}."),
        _ => format!("A step takes {size} less time: {figures}{interval}."),
    }
}

/// Returns the threshold in words.
pub(crate) fn limit(comparison: &Comparison) -> String {
    format!("{} %", round(comparison.threshold * 100.0))
}

/// Says what is worse by more than the threshold.
fn verdict(comparison: &Comparison) -> String {
    let threshold = limit(comparison);
    let mut worse = vec![];
    if comparison.step.known().is_some_and(|step| step.verdict == Verdict::Worse) {
        worse.push("the step".to_owned());
    }
    worse.extend(listed(late_and_grown(comparison)));
    let transfers: Vec<_> = comparison.rows.iter().filter(|row| row.transfer.verdict == Verdict::Worse).collect();
    if let Some(first) = transfers.first() {
        let change = percent(first.transfer.change.unwrap_or_default());
        let worst = format!("{}, {change} %", text(&first.subject));
        let (some, all) = (transfers.len(), comparison.rows.len());
        worse.push(match some {
            1 => format!("the transfer of {worst}"),
            _ => format!("{some} of {all} transfers, most {worst}"),
        });
    }
    if !worse.is_empty() {
        return format!("Worse by more than {threshold}: {}.", worse.join("; "));
    }
    let uncertain = comparison.rows.iter().filter(|row| row.transfer.verdict == Verdict::Uncertain).count() as u64;
    let uncertain = match uncertain {
        0 => String::new(),
        number => format!(" Whether {} changed is uncertain.", counted(number, "transfer")),
    };
    format!("Nothing is worse by more than {threshold}.{uncertain}")
}

/// Returns the names of ranks and groups that are worse.
fn late_and_grown(comparison: &Comparison) -> Vec<String> {
    let mut names: Vec<String> = grown(comparison, &[Verdict::Worse]).into_iter().map(|group| group.name).collect();
    let became = comparison.late.iter().flat_map(|late| &late.became);
    for standing in became.filter(|standing| standing.verdict == Verdict::Worse) {
        if !names.contains(&standing.name) {
            names.push(standing.name.clone());
        }
    }
    names
}

/// Returns the first names, and how many more there are.
fn listed(names: Vec<String>) -> Vec<String> {
    let more = names.len().saturating_sub(NAMED) as u64;
    let more = (more > 0).then(|| format!("{} more of the ranks", count(more)));
    names.into_iter().take(NAMED).chain(more).collect()
}

/// A rank, or all ranks of a node, whose own time has changed alike.
#[derive(Debug)]
struct Group {
    name: String,
    own_us: [f64; 2],
    change: f64,
    others: f64,
}

/// Returns the ranks with these verdicts, largest change first; all ranks of a node as one.
fn grown(comparison: &Comparison, verdicts: &[Verdict]) -> Vec<Group> {
    let rows = comparison.ranks.known().map_or(&[][..], |ranks| &ranks.rows);
    let has = |row: &&RankChanged| verdicts.contains(&row.verdict);
    let of_node = |node: &str| rows.iter().filter(|row| row.node == node).collect::<Vec<_>>();
    let nodes: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.node.as_str()).collect();
    let is_whole = |node: &&str| {
        let ranks = of_node(node);
        nodes.len() > 1 && !node.is_empty() && ranks.len() > 1 && ranks.iter().all(has)
    };
    let whole: Vec<&str> = nodes.iter().copied().filter(is_whole).collect();
    let single = rows.iter().filter(has).filter(|row| !whole.contains(&row.node.as_str()));
    let single =
        single.map(|row| Group { name: row.name.clone(), own_us: row.own_us, change: row.change, others: row.others });
    let together = whole.iter().map(|node| {
        let ranks = of_node(node);
        let mean = |of: fn(&RankChanged) -> f64| ranks.iter().map(|row| of(row)).sum::<f64>() / ranks.len() as f64;
        Group {
            name: format!("all {} ranks of {node}", ranks.len()),
            own_us: [mean(|row| row.own_us[0]), mean(|row| row.own_us[1])],
            change: mean(|row| row.change),
            others: mean(|row| row.others),
        }
    });
    let mut groups: Vec<Group> = together.chain(single).collect();
    groups.sort_by(|one, other| other.change.abs().total_cmp(&one.change.abs()));
    groups
}

/// Returns the sentences on ranks, waits and jitter.
pub(crate) fn more(comparison: &Comparison) -> Vec<String> {
    let mut sentences = vec![];
    match &comparison.ranks {
        Part::Known(ranks) => {
            if ranks.change.abs() >= LEAST {
                let size = share(ranks.change.abs());
                let time = capital(own_time(ranks.time));
                sentences.push(format!("{time} of the ranks {} by {size} in the median.", went(ranks.change)));
            }
            for verdicts in [&[Verdict::Worse, Verdict::Slower], &[Verdict::Better, Verdict::Faster]] {
                let groups = grown(comparison, verdicts);
                sentences.extend(groups.iter().take(NAMED).map(|group| own(group, own_time(ranks.time))));
                if let Some(rest) = groups.get(NAMED..).filter(|rest| !rest.is_empty()) {
                    let way = if verdicts.contains(&Verdict::Worse) { "longer" } else { "less" };
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
    if let Part::Known(waits) = &comparison.waits {
        sentences.push(wait(waits));
    }
    if let Some([before, after]) = comparison.jitter_us {
        sentences.push(format!(
            "Random differences of the ranks cost a step {}, before {}.",
            time(after),
            time(before)
        ));
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

fn own(group: &Group, time_of: &str) -> String {
    let [before, after] = group.own_us;
    let others = match group.others {
        others if others.abs() < LEAST => "that of the others did not change".to_owned(),
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

fn became(standing: &Standing) -> String {
    let gain =
        standing.gain_us.map_or_else(String::new, |gain| format!("; without that a step would gain {}", time(gain)));
    format!(
        "{} stands out now and did not before: {} a step beyond its peers ({}){gain}.",
        capital(&standing.name),
        time(standing.excess_us),
        share(standing.excess)
    )
}

fn wait(waits: &Changed) -> String {
    let [before, after] = waits.medians_us.map(time);
    match waits.verdict {
        Verdict::Equal => format!("Ranks wait as long as before: {after} a step, before {before}."),
        _ => format!("Ranks wait {after} a step, before {before}."),
    }
}

/// Returns a transfer's operations in words.
pub(crate) fn text(subject: &Subject) -> String {
    let bytes = sizes(subject.from_bytes, subject.to_bytes);
    format!("{} of {bytes} ({})", subject.function, communicators(subject))
}

/// Returns the communicators' dimension or, without one, their size.
pub(crate) fn communicators(subject: &Subject) -> String {
    let ranks = counted(subject.nranks.max(0) as u64, "rank");
    match (subject.dimension.as_str(), subject.nnodes) {
        ("unknown", nodes) if nodes > 0 => format!("{ranks}, {}", counted(nodes as u64, "node")),
        ("unknown", _) => ranks,
        (dimension, _) => dimension.to_owned(),
    }
}

/// Returns a change as a percentage with its sign, without the unit.
pub(crate) fn percent(change: f64) -> String {
    format!("{:+.1}", change * 100.0)
}

/// Returns an interval as percentages.
pub(crate) fn range([low, high]: [f64; 2]) -> String {
    format!("{}..{} %", percent(low), percent(high))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Report;
    use crate::answer::sample::sample;
    use crate::compare::THRESHOLD;

    fn compared(before: &Report, after: &Report) -> Comparison {
        Comparison::of(["A".into(), "B".into()], [before, after], THRESHOLD).unwrap()
    }

    fn said(before: &Report, after: &Report) -> String {
        let comparison = compared(before, after);
        answer(&comparison) + "\n" + &more(&comparison).join("\n")
    }

    fn lengths(report: &mut Report, us: f32) {
        report.series.lengths_us = (0..60).map(|step| us * (1.0 + 0.001 * (step % 7) as f32)).collect();
    }

    #[test]
    fn the_step_is_said_first() {
        let [mut before, mut after] = [sample(8), sample(8)];
        lengths(&mut before, 27_600.0);
        lengths(&mut after, 33_120.0);
        let text = said(&before, &after);
        assert!(text.starts_with("A step takes 20 % longer: 33.2 ms, before 27.7 ms (95 % interval +"), "{text}");
        assert!(text.contains(" %). Worse by more than 10 %: the step.\n"), "{text}");
        let text = said(&after, &before);
        assert!(text.starts_with("A step takes 17 % less time: 27.7 ms, before 33.2 ms"), "{text}");
        assert!(text.contains("Nothing is worse by more than 10 %.\n"), "{text}");
        let text = said(&before, &before);
        assert!(text.starts_with("A step takes as long as before: 27.7 ms, before 27.7 ms"), "{text}");
        after.series.lengths_us.truncate(4);
        let text = said(&before, &after);
        let expected =
            "Whether a step takes longer is not known: 33.2 ms, before 27.7 ms, but one run has 4 steps alone.";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn runs_that_differ_are_said_before_the_step() {
        let before = Report { nccl: vec!["2.27.3".into()], ..sample(16) };
        let text = said(&before, &sample(24));
        let expected = "The runs differ: 24 ranks, before 16; 3 nodes, before 2; NCCL 2.28.9, before 2.27.3. What depends \
                        on the number of ranks is compared, but not judged. A step takes as long as before: ";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("\nRanks are not compared: the runs have different numbers of ranks."), "{text}");
        let unknown = Report { nccl: vec![], nodes: vec![], ..sample(16) };
        assert!(said(&before, &unknown).starts_with("A step takes "));
    }

    #[test]
    fn ranks_are_named_and_whole_nodes_as_one() {
        let before = sample(16);
        let slowed = |ranks: &[usize]| {
            let mut after = sample(16);
            let Part::Known(stragglers) = &mut after.stragglers else { unreachable!() };
            ranks.iter().for_each(|rank| stragglers.ranks[*rank].own_us *= 1.5);
            after
        };
        let text = said(&before, &slowed(&[5]));
        assert!(text.contains("Worse by more than 10 %: rank 5.\n"), "{text}");
        let expected = "\nRank 5: its own time grew from 12.8 ms to 19.2 ms a step (+50.0 %), that of the others did not \
                        change.\n";
        assert!(text.contains(expected), "{text}");
        assert!(said(&slowed(&[5]), &before).contains("\nRank 5: its own time fell from 19.2 ms to 12.8 ms a step"));
        let mut after = Report { stragglers: Part::Absent("not here".into()), ..sample(16) };
        after.series.outside_us[5][0] *= 1.5;
        assert!(said(&before, &after).contains("\nRank 5: its time without NCCL grew from "));
        let node: Vec<usize> = (8..16).collect();
        let text = said(&before, &slowed(&node));
        assert!(text.contains("Worse by more than 10 %: all 8 ranks of node01.\n"), "{text}");
        assert!(text.contains("\nAll 8 ranks of node01: their own time grew from "), "{text}");
        let text = said(&before, &slowed(&[1, 4, 9, 12, 13]));
        assert!(text.contains("2 more ranks took longer than the others; the table has them."), "{text}");
        let all: Vec<usize> = (0..16).collect();
        let text = said(&before, &slowed(&all));
        assert!(text.contains("\nOwn time of the ranks grew by 50 % in the median.\n"), "{text}");
    }

    #[test]
    fn a_rank_that_became_late_waits_and_jitter_are_said() {
        let mut before = sample(8);
        let Part::Known(stragglers) = &mut before.stragglers else { unreachable!() };
        stragglers.found.clear();
        stragglers.ranks.iter_mut().for_each(|rank| rank.excess_us = Some(0.0));
        let text = said(&before, &sample(8));
        let expected = "\nRank 3 stands out now and did not before: 690 us a step beyond its peers (5.4 %); without that a \
                        step would gain 642 us.\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("\nRanks wait as long as before: "), "{text}");
        assert!(text.contains("\nRandom differences of the ranks cost a step 240 us, before 240 us."), "{text}");
        let text = said(&sample(8), &before);
        assert!(text.contains("\nRank 3 stood out among its peers before, and no longer does.\n"), "{text}");
    }
}
