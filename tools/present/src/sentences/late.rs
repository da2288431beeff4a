//! Which rank is late, and what a step would gain without its extra time.

use super::super::names::ReportNames;
use super::super::units::{count, counted, share, time};
use super::early::{absent, capital};
use super::{causes, lateness};
use report::analysis::verdict::{LateFinding, LateVerdict};
use report::answer::{
    AnswerVerdict, CostsWhen, LateCause, RankGroup, Report, Straggler, StragglerPause, Stragglers, Verdicted,
};

/// Most groups that the answer names.
const NAMED: usize = 3;

/// Returns the answer with its verdict.
pub(super) fn answer(report: &Report) -> Verdicted {
    let Some(stragglers) = report.stragglers.known() else {
        return without_own_times(report);
    };
    let judged = LateVerdict::judge(report, stragglers);
    let LateVerdict { verdict, gain_us, gain, .. } = judged;
    let said = match &judged.finding {
        LateFinding::Slow(ranks, stages) => slow(report, stragglers, &judged, ranks, stages),
        LateFinding::Uneven(stages) => uneven(report, stragglers, stages),
        LateFinding::Once(event) => once(report, event),
        finding => nobody(report, stragglers, finding, verdict),
    };
    Verdicted { verdict, gain_us, gain, ..said }
}

/// Of summaries, or of operations without GPU times.
fn without_own_times(report: &Report) -> Verdicted {
    let sums = report.late.known().and_then(|late| lateness::late(late, &ReportNames::of(report)));
    let (verdict, text) = sums.unwrap_or_else(|| (AnswerVerdict::Unknown, absent(report.stragglers.absent())));
    Verdicted { verdict, text, ..Verdicted::default() }
}

/// A step, or the recording where there are no steps.
pub(super) fn period(stragglers: &Stragglers) -> &'static str {
    if stragglers.steps > 0 { "a step" } else { "the recording" }
}

fn slow(
    report: &Report,
    stragglers: &Stragglers,
    judged: &LateVerdict<'_>,
    found: &[&Straggler],
    stages: &[&Straggler],
) -> Verdicted {
    let Some(first) = found.first() else { return Verdicted::default() };
    let names: Vec<String> = found.iter().take(NAMED).map(|it| subject(report, it)).collect();
    let rest = found.len().saturating_sub(NAMED);
    let who = list(&names, rest);
    let (are, their) = if found.len() > 1 { ("are", "their") } else { ("is", "its") };
    let mut text = format!("{} {are} slow: ", capital(&who));
    text += &match (judged.gain_us, judged.range_us) {
        (Some(_), Some([least, most])) => format!(
            "without {their} extra time {} would take between {} and {} instead of {} ({} to {}).",
            period(stragglers),
            time(stragglers.step_us - most),
            time(stragglers.step_us - least),
            time(stragglers.step_us),
            share(stragglers.of_step(least)),
            share(stragglers.of_step(most))
        ),
        (Some(gain_us), None) => format!(
            "without {their} extra time {} would take {} instead of {} ({}).",
            period(stragglers),
            time(stragglers.step_us - gain_us),
            time(stragglers.step_us),
            share(stragglers.of_step(gain_us))
        ),
        (None, _) => format!(
            "the gain without {their} extra time is not known, because {} cannot be played again to within 3 %.",
            if stragglers.steps > 0 { "the steps" } else { "the recording" }
        ),
    };
    for straggler in found.iter().take(NAMED) {
        text += " ";
        text += &excess(report, stragglers, straggler, found.len() > 1);
        if found.len() > 1 {
            text += &behind(&causes::causes(straggler));
        }
    }
    let when = when(first.when);
    let why = first.why.map_or("", why).to_owned();
    let why = if found.len() > 1 { why } else { format!("{why}{}", behind(&causes::causes(first))).trim().to_owned() };
    let next = match first.why {
        Some(LateCause::Host) => "Look at its host: processors, data loading, other processes.",
        Some(LateCause::Gpu) => "Look at its GPU: clocks, temperature, power, its share of the data.",
        None => "Look at its share of the work first, then at its host and its GPU.",
    };
    let seen = first.causes.as_deref().and_then(<[_]>::first).filter(|_| found.len() == 1);
    let next = match seen {
        Some(cause) => causes::next(cause.kind).into(),
        None if found.len() > 1 => next.replacen("its", "their", 2),
        None => next.to_owned(),
    };
    if !why.is_empty() {
        text += &format!(" {why}");
    }
    text += &format!(" {next}");
    for stage in stages {
        text += &format!(" {}", more_work(report, stragglers, stage));
    }
    text += &pauses(report, stragglers, " ");
    let [gain_least_us, gain_most_us] = judged.range_us.map_or([judged.gain_us; 2], |range| range.map(Some));
    Verdicted { text, gain_least_us, gain_most_us, when, why, next, ..Verdicted::default() }
}

/// Says that a stage has more work than the others, and what a step would take if all had the same. Its extra time
/// would then be shared by all stages.
fn more_work(report: &Report, stragglers: &Stragglers, stage: &Straggler) -> String {
    let usual = stage.own_us - stage.excess_us;
    let more = if usual > 0.0 { share(stage.excess_us / usual) } else { time(stage.excess_us) };
    let gain = stage.gain_us.map(|gain| gain.max(0.0) * stage.peers as f64 / (stage.peers + 1) as f64);
    let evenly = gain.map_or_else(String::new, |gain| {
        let step = stragglers.step_us;
        format!(": evenly divided a step would take about {} instead of {}", time(step - gain), time(step))
    });
    format!("{} has {more} more work than the other stages{evenly}.", capital(&subject(report, stage)))
}

/// Says that stages have more work than the others: no rank is slow.
fn uneven(report: &Report, stragglers: &Stragglers, stages: &[&Straggler]) -> Verdicted {
    let sentences = stages.iter().take(NAMED).map(|stage| more_work(report, stragglers, stage));
    let next = "Divide the layers more evenly; a loss head counts as layers.".to_owned();
    let text = sentences.collect::<Vec<_>>().join(" ");
    let text = format!("{text} {next}{}", pauses(report, stragglers, " "));
    Verdicted { text, next, ..Verdicted::default() }
}

/// Returns a sentence as it follows another one.
fn behind(sentence: &str) -> String {
    if sentence.is_empty() { String::new() } else { format!(" {sentence}") }
}

/// Says by how much somebody's own time is longer.
fn excess(report: &Report, stragglers: &Stragglers, it: &Straggler, are_several: bool) -> String {
    let who = if are_several { capital(&subject(report, it)) } else { "It".into() };
    let usual = it.own_us - it.excess_us;
    let when = when(it.when);
    if let CostsWhen::Sometimes { .. } = it.when {
        return format!("{who} pauses {when}.");
    }
    let part = if usual > 0.0 { format!(" ({})", share(it.excess_us / usual)) } else { String::new() };
    let peers = format!("than its {}", counted(it.peers, "peer"));
    let period = if stragglers.steps > 0 { " a step" } else { "" };
    let since = if when.is_empty() { String::new() } else { format!(" {when}") };
    format!("{who} takes {} longer{period}{part} outside of NCCL {peers}{since}.", time(it.excess_us))
}

fn when(when: CostsWhen) -> String {
    match when {
        CostsWhen::Always => String::new(),
        CostsWhen::Since(step) => format!("since step {step}"),
        CostsWhen::Steps { from, to } => format!("in steps {from} to {to}"),
        CostsWhen::Sometimes { steps, every: Some(every) } => format!("in {steps} steps, every {}", ordinal(every)),
        CostsWhen::Sometimes { steps, every: None } => format!("in {steps} steps"),
    }
}

fn ordinal(number: u64) -> String {
    let end = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{end}")
}

fn why(why: LateCause) -> &'static str {
    match why {
        LateCause::Host => "Its calls come late, so its host delays it.",
        LateCause::Gpu => "Its calls are there in time, so its GPU delays it.",
    }
}

/// Names a straggler: a rank that is a stage by itself is both.
fn subject(report: &Report, it: &Straggler) -> String {
    let names = ReportNames::of(report);
    match (it.group, &it.gpus[..]) {
        (RankGroup::Stage, [gpu]) => format!("{}, which is {} of the pipeline,", names.gpu(*gpu), it.name),
        (RankGroup::Stage, _) => format!("{} of the pipeline", it.name),
        (RankGroup::Node, gpus) => format!("node {} ({})", it.name, counted(gpus.len() as u64, "rank")),
        (RankGroup::Rank, _) => it.name.clone(),
    }
}

fn nobody(report: &Report, stragglers: &Stragglers, finding: &LateFinding<'_>, verdict: AnswerVerdict) -> Verdicted {
    let own_times = "--part ranks has the own times of all ranks.";
    let said = |text: &str, next: &str| Verdicted { text: text.into(), next: next.into(), ..Verdicted::default() };
    let mut text = match finding {
        LateFinding::TooFew => {
            let steps = stragglers.steps;
            let of = if steps > 0 { counted(steps, "step") } else { "one recording without steps".into() };
            let text = format!(
                "Not known: {of} of {} {} too few to tell a slow rank from chance.",
                counted(report.gpus.len() as u64, "rank"),
                if steps > 1 { "are" } else { "is" }
            );
            return said(&text, "Record more steps.");
        }
        LateFinding::NoOwnTimes => {
            return said("Not known: no rank has known own times in enough steps.", own_times);
        }
        LateFinding::NoPeers => {
            let text = "Not known: no two ranks run the same program, so that none can be compared with others.";
            return said(text, own_times);
        }
        LateFinding::NobodyOfSome(missing) => format!(
            "Not known of all: {} missing. Of the {} here, none stands out.",
            if *missing == 1 { "1 rank is".into() } else { format!("{} ranks are", count(*missing)) },
            counted(report.complete.ranks_here, "rank"),
        ),
        LateFinding::Nobody(Some(us)) => format!(
            "No rank stands out; their random differences cost {} {}, {} of it.",
            time(*us),
            period(stragglers),
            share(stragglers.of_step(*us))
        ),
        _ => "No rank stands out.".into(),
    };
    text += &pauses(report, stragglers, " ");
    said(&text, if verdict == AnswerVerdict::Look { own_times } else { "" })
}

/// Says that one rank paused once.
fn once(report: &Report, event: &StragglerPause) -> Verdicted {
    let name = ReportNames::of(report).gpu(event.gpu);
    let text = format!(
        "{} paused once, for {}, in step {}. No rank stands out otherwise.",
        capital(&name),
        time(event.excess_us),
        event.step
    );
    Verdicted { text, when: format!("once, in step {}", event.step), ..Verdicted::default() }
}

/// Says how many pauses there were, of single ranks and of all at once.
fn pauses(report: &Report, stragglers: &Stragglers, before: &str) -> String {
    let stalls = stragglers.stalls.map_or_else(String::new, |stalls| {
        let every = stalls.every.map_or_else(String::new, |every| format!(", every {},", ordinal(every)));
        format!(
            "{before}In {} of {}{every} all ranks stood for {} at once, outside of NCCL: look at what they share, as data \
             loading and storage.",
            count(stalls.steps),
            counted(stalls.of, "step"),
            time(stalls.length_us)
        )
    });
    format!("{}{stalls}", of_single_ranks(report, stragglers, before))
}

fn of_single_ranks(report: &Report, stragglers: &Stragglers, before: &str) -> String {
    let Some(longest) = stragglers.events.first() else { return String::new() };
    let names = ReportNames::of(report);
    match (stragglers.event_count, stragglers.event_ranks) {
        (1, _) => format!(
            "{before}{} paused once, for {}, in step {}.",
            capital(&names.gpu(longest.gpu)),
            time(longest.excess_us),
            longest.step
        ),
        (pauses, 1) => format!(
            "{before}{} paused in {} steps, for up to {}.",
            capital(&names.gpu(longest.gpu)),
            count(pauses),
            time(longest.excess_us)
        ),
        (pauses, ranks) => format!(
            "{before}There were {} pauses on {}, of up to {}; they belong to no rank (--part events).",
            count(pauses),
            counted(ranks, "rank"),
            time(longest.excess_us)
        ),
    }
}

/// Writes names as a list, with the number of those that are left out.
fn list(names: &[String], rest: usize) -> String {
    match (names, rest) {
        ([], _) => String::new(),
        ([one], 0) => one.clone(),
        ([first @ .., last], 0) => format!("{} and {last}", first.join(", ")),
        (names, rest) => format!("{} and {rest} more", names.join(", ")),
    }
}
