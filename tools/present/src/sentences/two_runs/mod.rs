//! The sentences of a comparison of two runs.

mod ranks;
#[cfg(test)]
mod tests;

pub(crate) use ranks::{own_time, percent, range};

use super::super::units::{counted, number, round, share, sizes, time};
use report::answer::Part;
use report::compare::{ChangeVerdict, Changed, ComparedRun, Comparison, MIN_CHANGE, Subject};

/// Returns the answer, for [`Comparison::answer`]: in what the runs differ, the change of the step, and what is worse.
pub fn answer(comparison: &Comparison) -> String {
    let parts = [differences(comparison), Some(step(comparison)), Some(verdict(comparison))];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Returns in what the runs differ, as a list of facts.
pub(crate) fn facts(runs: &[ComparedRun; 2]) -> Vec<String> {
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
        && (after / before - 1.0).abs() > MIN_CHANGE
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
    // what recurs in some steps moves the mean alone
    if let Some(mean) = comparison.step_mean.known().filter(|mean| mean.is_judged()) {
        let [figures, of_median] = [mean, step].map(figures);
        let so_far = matches!(step.verdict, ChangeVerdict::Equal | ChangeVerdict::Uncertain);
        if so_far || mean.verdict == ChangeVerdict::Worse && step.verdict != ChangeVerdict::Worse {
            return format!("A step takes {} in the mean: {figures}. Its median is {of_median}.", longer(mean));
        }
    }
    let figures = figures(step);
    match step.verdict {
        ChangeVerdict::Uncertain if step.interval.is_none() => format!(
            "Whether a step takes longer is not known: {figures}, but one run has {} alone.",
            counted(step.samples.into_iter().min().unwrap_or_default(), "step")
        ),
        ChangeVerdict::Uncertain => {
            format!("Whether a step takes longer is not known: {figures}. More steps narrow the interval.")
        }
        ChangeVerdict::Equal => format!("A step takes as long as before: {figures}."),
        ChangeVerdict::NotJudged if !step.is_beyond_chance() => format!("A step takes as long as before: {figures}."),
        _ => format!("A step takes {}: {figures}.", longer(step)),
    }
}

/// Returns both figures with the interval of their change.
fn figures(changed: &Changed) -> String {
    let [before, after] = changed.medians_us.map(time);
    let interval =
        changed.interval.map_or_else(String::new, |interval| format!(" (95 % interval {})", range(interval)));
    format!("{after}, before {before}{interval}")
}

/// Says how much longer something takes.
fn longer(changed: &Changed) -> String {
    let size = share(changed.change.unwrap_or_default().abs());
    if changed.difference_us() > 0.0 { format!("{size} longer") } else { format!("{size} less time") }
}

/// Says what is worse by more than the threshold.
fn verdict(comparison: &Comparison) -> String {
    let threshold = format!("{} %", round(comparison.threshold * 100.0));
    let mut worse = vec![];
    let steps = [&comparison.step, &comparison.step_mean];
    if steps.into_iter().flat_map(Part::known).any(|step| step.verdict == ChangeVerdict::Worse) {
        worse.push("the step".to_owned());
    }
    worse.extend(ranks::worse(comparison));
    let transfers: Vec<_> = comparison.rows.iter().filter(|row| row.transfer.verdict == ChangeVerdict::Worse).collect();
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
    let uncertain =
        comparison.rows.iter().filter(|row| row.transfer.verdict == ChangeVerdict::Uncertain).count() as u64;
    let uncertain = match uncertain {
        0 => String::new(),
        number => format!(" Whether {} changed is uncertain.", counted(number, "transfer")),
    };
    format!("Nothing is worse by more than {threshold}.{uncertain}")
}

/// Returns the sentences on ranks, waits and jitter.
pub(crate) fn more(comparison: &Comparison) -> Vec<String> {
    let mut sentences = ranks::sentences(comparison);
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

fn wait(waits: &Changed) -> String {
    let [before, after] = waits.medians_us.map(time);
    match waits.verdict {
        ChangeVerdict::Equal => format!("Waits have not changed: {after} a step, before {before}."),
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
