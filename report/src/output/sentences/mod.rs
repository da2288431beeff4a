//! The sentences that answer the report's questions. All forms of output use these.

mod clocks;

use super::names::Names;
use super::pace::Pace;
use super::units::{count, counted, part_of, rate, share, sizes, time};
use crate::answer::{Answers, Budget, Late, Pair, RankLate, Report, Speed, SpeedRow, Verdicted};

/// Returns the answers to the three questions, for [`Report::answers`].
pub fn answers(report: &Report) -> Answers {
    let verdicted = |text: String| Verdicted { text, ..Verdicted::default() };
    Answers { late: verdicted(late(report)), cost: verdicted(cost(report)), network: verdicted(network(report)) }
}

/// Returns whether all ranks and operations are here, and how well clocks are known.
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
    let mut text = format!("{verdict}: {ranks} {are} here with {}", counted(complete.operations, "operation"));
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
        lack(complete.unmatched, "operation", "not matched over all ranks"),
        lack(complete.unfinished, "operation", "never ended"),
        lack(complete.invisible, "call", "that NCCL reports no operation of"),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Returns which rank is late.
pub fn late(report: &Report) -> String {
    let late = match (report.late.known(), report.late.absent()) {
        (Some(late), _) => late,
        (None, reason) => return absent(reason),
    };
    if let Some(error_us) = clocks::unknown_waits(report) {
        return clocks::nobody_known(error_us, late);
    }
    let Some(first) = latest(late).first().copied() else {
        return nobody_late(late, &Names::of(report));
    };
    let names = Names::of(report);
    let own: f64 = late.ranks.iter().map(|rank| rank.own_us).sum();
    let all: f64 = late.ranks.iter().map(|rank| rank.cost_us).sum();
    let (place, rank) = first;
    let mut text = if rank.own_us > 0.0 {
        let (pace, name) = (Pace::of(report), names.gpu(place));
        let cost = pace.a_step(rank.cost_us);
        let part = pace.share(cost);
        if pace.is_negligible(cost) {
            return format!(
                "No rank stands out: others wait longest for {name}, {}{} in all.",
                time(cost),
                if pace.of_steps { " a step" } else { "" }
            );
        }
        let of = part.map_or_else(String::new, |part| format!(", {} of all ranks' time", share(part)));
        format!(
            "{} is late most: the others waited for it {}{} in all{of}; {} of that began with {name} itself. \
             It came last in {} of its {}.",
            capital(&name),
            time(cost),
            if pace.of_steps { " a step" } else { "" },
            share(part_of(rank.own_us, rank.cost_us)),
            count(rank.last),
            counted(rank.calls, "compared operation")
        )
    } else {
        format!("No rank is late by itself: all {} that others waited for a last rank were passed on.", time(all))
    };
    if let Some((next, rank)) = latest(late).get(1).filter(|(_, rank)| part_of(rank.own_us, own) >= 0.01) {
        text += &format!(" Next is {}, with {} of all own delays.", names.gpu(*next), share(part_of(rank.own_us, own)));
    }
    text
}

/// Says why no GPU has a delay cost: `compared` and `resolved` are of the whole recording, the costs may be of its steps
/// alone, and sums have none.
fn nobody_late(late: &Late, names: &Names<'_>) -> String {
    let most = late.lateness.iter().filter(|row| row.last > 0).max_by_key(|row| row.last);
    if let Some(row) = most.filter(|_| late.ranks.is_empty()) {
        let name = row.gpu.map_or_else(|| format!("rank {} of {}", row.rank, row.comm), |gpu| names.gpu(gpu));
        return format!(
            "{} was last most often: in {} of {} of a communicator. Sums alone do not say how long others waited for \
             it.",
            capital(&name),
            count(row.last),
            counted(row.operations, "compared operation")
        );
    }
    let compared = counted(late.compared, "compared operation");
    match late.compared {
        0 => "Not known: no operation's times could be compared over its ranks.".into(),
        _ if late.steps > 0 && late.ranks.iter().all(|rank| rank.calls == 0) => {
            format!("Not known: none of {compared} lies in a step behind the warm-up.")
        }
        _ if late.steps > 0 && late.resolved > 0 => {
            "No rank is late: in no step behind the warm-up did a rank begin later than the others by more than the \
             clocks' error."
                .into()
        }
        _ => format!(
            "No rank is late: in none of {compared} did a rank begin later than the others by more than the clocks' \
             error."
        ),
    }
}

/// Returns the places of the GPUs that others waited for, and their waits: the largest own delay cost first, and the
/// largest delay cost where these are equal.
pub(crate) fn latest(late: &Late) -> Vec<(usize, &RankLate)> {
    let mut ranks: Vec<_> = late.ranks.iter().enumerate().filter(|(_, rank)| rank.cost_us > 0.0).collect();
    ranks.sort_by(|(_, a), (_, b)| {
        (b.own_us, b.cost_us).partial_cmp(&(a.own_us, a.cost_us)).unwrap_or(std::cmp::Ordering::Equal)
    });
    ranks
}

/// Returns the cost of communication in a step.
pub fn cost(report: &Report) -> String {
    let budget = match (report.budget.known(), report.budget.absent()) {
        (Some(budget), _) => budget,
        (None, reason) => return absent(reason),
    };
    let whole = &budget.whole;
    if whole.total_ns == 0 {
        return "Not known: no GPU has any time.".into();
    }
    let of_whole = |ns: u64| share(part_of(ns as f64, whole.total_ns as f64));
    let period = if budget.of_steps { "a step" } else { "the recording" };
    let parts = match clocks::unknown_waits(report) {
        Some(error_us) => clocks::no_share(error_us),
        None => format!(
            "{} waiting for other ranks, {} transferring",
            of_whole(whole.waiting_ns),
            of_whole(whole.transferring_ns)
        ),
    };
    let (all, mine) = (time(mean_us(budget, whole.total_ns)), time(mean_us(budget, communication_ns(budget))));
    let mut text = if budget.with_kernels {
        format!(
            "Communication beside which nothing is computed takes {} of {period}, {mine} of {all}: {parts}. \
             Another {} of {period} is communication beside computation.",
            of_whole(communication_ns(budget)),
            of_whole(whole.overlapped_ns)
        )
    } else {
        format!(
            "NCCL is under way in {} of {period}, {mine} of {all}: {parts}. Whether computation runs beside it is not \
             known without kernels (--kernels).",
            of_whole(communication_ns(budget))
        )
    };
    if let Some(computed) = budget.computed.filter(|computed| *computed < 1.0) {
        text += &format!(
            " No kernel is known in {} of the steps: if the profiler recorded a part of the run alone, their \
             computation counts as none.",
            share(1.0 - computed)
        );
    }
    if budget.timed < 1.0 {
        text += &format!(
            " {} of the operations have no GPU time and count as time without NCCL.",
            share(1.0 - budget.timed)
        );
    }
    text
}

/// Returns the time in NCCL of all GPUs without computation beside it, nanoseconds.
pub(crate) fn communication_ns(budget: &Budget) -> u64 {
    budget.whole.waiting_ns.saturating_add(budget.whole.transferring_ns)
}

/// Returns a time of all GPUs as the mean of a GPU and step, microseconds.
fn mean_us(budget: &Budget, ns: u64) -> f64 {
    ns as f64 / 1e3 / budget.gpus.len().max(1) as f64 / budget.steps.max(1) as f64
}

/// Returns whether the network is as fast as it should be.
pub fn network(report: &Report) -> String {
    let names = Names::of(report);
    let mut text = match (report.speed.known(), report.speed.absent()) {
        (Some(speed), _) => match heaviest(&speed.rows) {
            Some(row) => {
                let dimension = if row.dimension == "unknown" { String::new() } else { format!("{}, ", row.dimension) };
                let of = sizes(row.from_bytes, row.to_bytes);
                let size =
                    format!("{} of {of} ({dimension}{})", row.function, counted(row.nranks.max(0) as u64, "rank"));
                let reached = rate(row.busbw.unwrap_or_default());
                match (row.utilisation, &speed.link) {
                    (Some(part), _) => format!("{size} reaches {reached} bus bandwidth, {} of its link.", share(part)),
                    (None, Some(_)) => format!("{size} reaches {reached} bus bandwidth; no rate of its link is given."),
                    (None, None) => format!(
                        "{size} reaches {reached} bus bandwidth; whether the link allows more is not known without its \
                         rate (--link-gbps)."
                    ),
                }
            }
            None => "Not known: no operation has a bus bandwidth.".into(),
        },
        (None, reason) => absent(reason),
    };
    if let Some(speed) = report.speed.known() {
        text += &few(speed);
    }
    text += " ";
    text += &match report.pairs.known() {
        Some(pairs) => slow(&pairs.rows, &names),
        None => "Pairs of ranks are not known.".into(),
    };
    text
}

/// Says how many operations the speeds are of, where those are less than half.
fn few(speed: &Speed) -> String {
    let sum = |of: fn(&SpeedRow) -> u64| speed.rows.iter().map(of).sum::<u64>();
    let (compared, all) = (sum(|row| row.compared), sum(|row| row.count));
    if compared == 0 || compared >= all.div_ceil(2) {
        return String::new();
    }
    format!(" Only {} of {} could be compared.", count(compared), counted(all, "operation"))
}

/// Says which pairs are slow.
fn slow(pairs: &[Pair], names: &Names<'_>) -> String {
    let compared = pairs.iter().filter(|pair| pair.z.is_some()).count();
    let mut slow: Vec<&Pair> = pairs.iter().filter(|pair| pair.slow).collect();
    slow.sort_by(|a, b| a.z.partial_cmp(&b.z).unwrap_or(std::cmp::Ordering::Equal));
    match slow.first() {
        _ if compared == 0 => "No pair of ranks could be compared with others of its class.".into(),
        None => format!("None of {} is slow beside others of its class.", counted(compared as u64, "compared pair")),
        Some(worst) if slow.len() == 1 => format!(
            "1 of {} is slow beside others of its class: {}.",
            counted(compared as u64, "compared pair"),
            pair(worst, names)
        ),
        Some(worst) => format!(
            "{} of {} are slow beside others of their class; the worst is {}.",
            count(slow.len() as u64),
            counted(compared as u64, "compared pair"),
            pair(worst, names)
        ),
    }
}

/// Returns the names of a pair: `rank 2 to rank 5`.
pub(crate) fn pair(pair: &Pair, names: &Names<'_>) -> String {
    let name = |gpu: Option<usize>, rank: i32| gpu.map_or_else(|| format!("rank {rank}"), |gpu| names.gpu(gpu));
    format!("{} to {}", name(pair.from, pair.rank), name(pair.to, pair.peer))
}

/// Returns the row that most time of transfers is in, among those with a bus bandwidth.
pub(crate) fn heaviest(rows: &[SpeedRow]) -> Option<&SpeedRow> {
    let time = |row: &&SpeedRow| row.median_us.unwrap_or_default() * row.compared as f64;
    rows.iter().filter(|row| row.busbw.is_some()).max_by(|a, b| time(a).total_cmp(&time(b)))
}

/// Says that an answer is absent.
fn absent(reason: Option<&str>) -> String {
    format!("Not known: {}", reason.unwrap_or("the report does not have this part."))
}

/// Returns the text with a capital first letter.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests;
