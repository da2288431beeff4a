//! Which rank is late, and what a step would gain without its extra time.

use super::super::names::ReportNames;
use super::super::units::{count, counted, part_of, share, time};
use super::causes;
use super::sums;
use super::words::{absent, capital};
use crate::analysis::stragglers::RESOLVED_US;
use crate::answer::{
    AnswerVerdict, CostsWhen, LateCause, RankGroup, Report, Straggler, StragglerPause, Stragglers, Verdicted,
};

/// Share of a step from which on a gain is much.
const MUCH: f64 = 0.05;
/// Share of a step from which on random differences between ranks are worth a look.
const JITTER: f64 = 0.1;
/// Share of a step from which on random differences are spoken of.
const NEXT_TO_NOTHING: f64 = 0.005;
/// Share of a step that pauses cost from which on they are worth a look.
const COSTLY: f64 = 0.01;
/// Steps and ranks below which nobody can stand out.
const FEW: u64 = 5;
/// Most groups that the answer names.
const NAMED: usize = 3;

/// Returns the answer with its verdict.
pub(super) fn answer(report: &Report) -> Verdicted {
    let Some(stragglers) = report.stragglers.known() else {
        return without_own_times(report);
    };
    match &stragglers.found[..] {
        [] => nobody(report, stragglers),
        found => somebody(report, stragglers, found),
    }
}

/// Of summaries, or of operations without GPU times.
fn without_own_times(report: &Report) -> Verdicted {
    let sums = report.late.known().and_then(|late| sums::late(late, &ReportNames::of(report)));
    let (verdict, text) = sums.unwrap_or_else(|| (AnswerVerdict::Unknown, absent(report.stragglers.absent())));
    Verdicted { verdict, text, ..Verdicted::default() }
}

/// A step, or the recording where there are no steps.
pub(super) fn period(stragglers: &Stragglers) -> &'static str {
    if stragglers.steps > 0 { "a step" } else { "the recording" }
}

fn somebody(report: &Report, stragglers: &Stragglers, all: &[Straggler]) -> Verdicted {
    let (stages, found): (Vec<&Straggler>, Vec<&Straggler>) = all.iter().partition(|it| it.group == RankGroup::Stage);
    if found.is_empty() {
        return uneven(report, stragglers, &stages);
    }
    let names: Vec<String> = found.iter().take(NAMED).map(|it| subject(report, it)).collect();
    let rest = found.len().saturating_sub(NAMED);
    let who = list(&names, rest);
    let (are, their) = if found.len() > 1 { ("are", "their") } else { ("is", "its") };
    let gain_us = if found.len() > 1 { stragglers.together_us } else { found[0].gain_us };
    let gain_us = gain_us.map(|gain| gain.max(0.0));
    let range = found[0].range_us().filter(|_| found.len() == 1);
    let gain = gain_us.map(|gain| part_of(gain, stragglers.step_us));
    let mut text = format!("{} {are} slow: ", capital(&who));
    text += &match (gain_us, range) {
        (Some(_), Some([least, most])) => format!(
            "without {their} extra time {} would take between {} and {} instead of {} ({} to {}).",
            period(stragglers),
            time(stragglers.step_us - most),
            time(stragglers.step_us - least),
            time(stragglers.step_us),
            share(part_of(least, stragglers.step_us)),
            share(part_of(most, stragglers.step_us))
        ),
        (Some(gain_us), None) => format!(
            "without {their} extra time {} would take {} instead of {} ({}).",
            period(stragglers),
            time(stragglers.step_us - gain_us),
            time(stragglers.step_us),
            share(part_of(gain_us, stragglers.step_us))
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
    let first = found[0];
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
    // of several ranks, the one that is sure to gain most
    let sure = found.iter().filter_map(|it| it.gain_least_us).reduce(f64::max);
    let sure = sure.map(|least| part_of(least, stragglers.step_us)).or(gain);
    let verdict = if sure.is_none_or(|gain| gain >= MUCH) { AnswerVerdict::Bad } else { AnswerVerdict::Look };
    if !why.is_empty() {
        text += &format!(" {why}");
    }
    text += &format!(" {next}");
    for stage in stages {
        text += &format!(" {}", more_work(report, stragglers, stage));
    }
    text += &pauses(report, stragglers, " ");
    let [gain_least_us, gain_most_us] = match range {
        Some(range) => range.map(Some),
        None => [gain_us; 2],
    };
    Verdicted { verdict, text, gain_us, gain_least_us, gain_most_us, gain, when, why, next }
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
    let gain_us = stages[0].gain_us.map(|gain| gain.max(0.0));
    let gain = gain_us.map(|gain| part_of(gain, stragglers.step_us));
    let verdict = AnswerVerdict::Look;
    Verdicted { verdict, text, gain_us, gain, next, ..Verdicted::default() }
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

fn nobody(report: &Report, stragglers: &Stragglers) -> Verdicted {
    let missing = report.complete.ranks.map_or(0, |ranks| ranks.saturating_sub(report.complete.ranks_here));
    if let ([event], 1, None) = (&stragglers.events[..], stragglers.event_count, stragglers.stalls) {
        return once(report, stragglers, event);
    }
    let (steps, ranks) = (stragglers.steps, report.gpus.len() as u64);
    if missing == 0 && steps < FEW && (2..FEW).contains(&ranks) {
        let of = if steps > 0 { counted(steps, "step") } else { "one recording without steps".into() };
        let text = format!(
            "Not known: {of} of {} {} too few to tell a slow rank from chance.",
            counted(ranks, "rank"),
            if steps > 1 { "are" } else { "is" }
        );
        return Verdicted { text, next: "Record more steps.".into(), ..Verdicted::default() };
    }
    if missing == 0 && ranks > 1 && stragglers.compared == 0 {
        let text = if stragglers.ranks.iter().all(|rank| rank.own_us == 0.0) {
            "Not known: no rank has known own times in enough steps.".into()
        } else {
            "Not known: no two ranks run the same program, so that none can be compared with others.".into()
        };
        let next = "--part ranks has the own times of all ranks.".into();
        return Verdicted { text, next, ..Verdicted::default() };
    }
    let mut text = if missing > 0 {
        format!(
            "Not known of all: {} missing. Of the {} here, none stands out.",
            if missing == 1 { "1 rank is".into() } else { format!("{} ranks are", count(missing)) },
            counted(report.complete.ranks_here, "rank"),
        )
    } else {
        "No rank stands out".to_owned()
    };
    let (gain_us, jitter) = (stragglers.jitter_us, stragglers.jitter_us.map(|us| part_of(us, stragglers.step_us)));
    let is_worth = jitter.is_some_and(|it| it >= NEXT_TO_NOTHING) && gain_us.is_some_and(|it| it >= RESOLVED_US);
    if missing == 0 {
        text += &match stragglers.jitter_us.filter(|_| is_worth) {
            Some(us) => format!(
                "; their random differences cost {} {}, {} of it.",
                time(us),
                period(stragglers),
                share(part_of(us, stragglers.step_us))
            ),
            None => ".".into(),
        };
    }
    text += &pauses(report, stragglers, " ");
    let stalls_us = stragglers.stalls.map_or(0.0, |it| it.length_us * it.steps as f64 / it.of.max(1) as f64);
    let costly = [(stragglers.events_us, COSTLY), (stalls_us, MUCH)];
    let costly = costly.iter().any(|(us, share)| part_of(*us, stragglers.step_us) >= *share);
    let verdict = match jitter {
        _ if missing > 0 => AnswerVerdict::Unknown,
        Some(jitter) if jitter >= JITTER && is_worth || costly => AnswerVerdict::Look,
        _ => AnswerVerdict::Fine,
    };
    let next = if verdict == AnswerVerdict::Look { "--part ranks has the own times of all ranks." } else { "" };
    Verdicted { verdict, text, gain_us, gain: jitter, next: next.into(), ..Verdicted::default() }
}

/// Says that one rank paused once.
fn once(report: &Report, stragglers: &Stragglers, event: &StragglerPause) -> Verdicted {
    let name = ReportNames::of(report).gpu(event.gpu);
    let text = format!(
        "{} paused once, for {}, in step {}. No rank stands out otherwise.",
        capital(&name),
        time(event.excess_us),
        event.step
    );
    let gain = part_of(stragglers.events_us, stragglers.step_us);
    let verdict = if gain >= COSTLY { AnswerVerdict::Look } else { AnswerVerdict::Fine };
    let when = format!("once, in step {}", event.step);
    Verdicted { verdict, text, when, ..Verdicted::default() }
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
