//! The sentences that answer the report's questions. All forms of output use these.

use super::names::Names;
use super::pace::{NEGLIGIBLE, Pace};
use super::units::{count, counted, part_of, rate, share, sizes, time};
use crate::answer::{Budget, Late, Pair, RankLate, Report, Speed, SpeedRow};

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
    let Some(first) = latest(late).first().copied() else {
        return nobody_late(late, &Names::of(report));
    };
    let names = Names::of(report);
    let own: f64 = late.ranks.iter().map(|rank| rank.own_us).sum();
    let all: f64 = late.ranks.iter().map(|rank| rank.cost_us).sum();
    let (place, rank) = first;
    let mut text = if rank.own_us > 0.0 {
        let (pace, name) = (Pace::of(report), names.gpu(place));
        let cost = pace.a_step_of_others(rank.cost_us);
        let part = pace.share(cost);
        if let Some(part) = part.filter(|part| *part < NEGLIGIBLE) {
            return format!(
                "No rank stands out: others wait longest for {name}, each {} {}, {} of it.",
                time(cost),
                if pace.of_steps { "a step" } else { "in the whole recording" },
                share(part)
            );
        }
        let of = part.map_or_else(String::new, |part| format!(", {} of it", share(part)));
        format!(
            "{} is late most: each other rank waited for it {} {} on average{of}; {} of that began with {name} itself. \
             It came last in {} of its {}.",
            capital(&name),
            time(cost),
            if pace.of_steps { "a step" } else { "in the whole recording" },
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
    let parts = format!(
        "{} waiting for other ranks, {} transferring",
        of_whole(whole.waiting_ns),
        of_whole(whole.transferring_ns)
    );
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
mod tests {
    use super::*;
    use crate::answer::sample::sample;
    use crate::answer::{Complete, GpuBudget, Pairs, Part, RankLateness};

    fn whole() -> Report {
        Report {
            complete: Complete {
                ranks_here: 8,
                ranks: Some(8),
                operations: 4000,
                clock_error_us: Some(5.2),
                wait_error_us: Some(1.9),
                ..Complete::default()
            },
            ..sample(8)
        }
    }

    #[test]
    fn complete_counts_ranks_and_names_each_lack() {
        let expected = "Complete: all 8 ranks are here with 4,000 operations; clocks agree to within 5.20 us, waits \
                        are known to 1.90 us.";
        assert_eq!(complete(&whole()), expected);
        let mut report = whole();
        (report.complete.ranks, report.complete.dropped, report.complete.untimed) = (Some(9), 1, 40);
        (report.complete.clock_error_us, report.complete.wait_error_us) = (None, None);
        let expected = "Not complete: 8 of 9 ranks are here with 4,000 operations, but 1 event not recorded, 40 \
                        operations without a GPU time; clocks are not connected, so times of different \
                        machines are not compared.";
        assert_eq!(complete(&report), expected);
        report = whole();
        report.complete.ranks = None;
        assert!(complete(&report).starts_with("Complete as far as is known: 8 ranks of an unknown number are here"));
    }

    #[test]
    fn late_names_the_rank_with_the_largest_own_cost() {
        let mut report = whole();
        let rank = |own_us: f64, propagated_us: f64, last: u64| RankLate {
            calls: 900,
            last,
            cost_us: own_us + propagated_us,
            own_us,
            propagated_us,
            ..RankLate::default()
        };
        let Part::Known(it) = &mut report.late else { unreachable!() };
        it.compared = 900;
        it.ranks = vec![rank(0.0, 5e6, 70), rank(250e3, 0.0, 10), rank(600e3, 150e3, 800)];
        // 57 steps, seven other ranks
        let expected = "Rank 2 is late most: each other rank waited for it 1.88 ms a step on average, 9.0 % of it; \
                        80 % of that began with rank 2 itself. It came last in 800 of its 900 compared operations. \
                        Next is rank 1, with 29 % of all own delays.";
        assert_eq!(late(&report), expected);
        let Part::Known(it) = &mut report.late else { unreachable!() };
        it.ranks = vec![rank(0.0, 5e6, 70), RankLate::default()];
        assert_eq!(
            late(&report),
            "No rank is late by itself: all 5.00 s that others waited for a last rank were passed on."
        );
        let Part::Known(it) = &mut report.late else { unreachable!() };
        (it.ranks, it.compared, it.resolved, it.steps) = (vec![RankLate::default(); 3], 7, 0, 0);
        assert!(late(&report).starts_with("No rank is late: in none of 7 compared operations"));
        let Part::Known(it) = &mut report.late else { unreachable!() };
        it.compared = 0;
        assert!(late(&report).starts_with("Not known"));
    }

    /// Costs are of the steps behind the warm-up, and the compared operations of the whole recording.
    #[test]
    fn nobody_is_called_punctual_for_operations_outside_of_the_steps() {
        let mut report = whole();
        let Part::Known(it) = &mut report.late else { unreachable!() };
        (it.ranks, it.compared, it.resolved, it.steps) = (vec![RankLate::default(); 2], 5, 5, 23);
        assert_eq!(late(&report), "Not known: none of 5 compared operations lies in a step behind the warm-up.");
        let Part::Known(it) = &mut report.late else { unreachable!() };
        it.ranks[0].calls = 3;
        assert!(late(&report).starts_with("No rank is late: in no step behind the warm-up"));
    }

    /// 57 steps of 20.9 ms, seven other ranks.
    #[test]
    fn a_rank_that_costs_next_to_nothing_is_not_called_late() {
        let mut report = whole();
        let Part::Known(it) = &mut report.late else { unreachable!() };
        let cost = 57.0 * 7.0;
        it.ranks = vec![RankLate { calls: 900, last: 800, cost_us: cost, own_us: cost, ..RankLate::default() }];
        let expected = "No rank stands out: others wait longest for rank 0, each 1.00 us a step, < 0.01 % of it.";
        assert_eq!(late(&report), expected);
    }

    #[test]
    fn sums_say_who_was_last_most_often() {
        let mut report = whole();
        let Part::Known(it) = &mut report.late else { unreachable!() };
        let row = |gpu, last| RankLateness { gpu: Some(gpu), operations: 9, last, ..sums_row() };
        (it.ranks, it.compared, it.resolved, it.steps) = (vec![], 9, 8, 0);
        it.lateness = vec![row(0, 1), row(3, 7)];
        let expected = "Rank 3 was last most often: in 7 of 9 compared operations of a communicator. Sums alone do not \
                        say how long others waited for it.";
        assert_eq!(late(&report), expected);
    }

    fn sums_row() -> RankLateness {
        RankLateness {
            gpu: None,
            comm: "ab".into(),
            rank: 0,
            operations: 0,
            mean_us: None,
            p99_us: None,
            error_us: 0.0,
            last: 0,
        }
    }

    #[test]
    fn an_answer_from_few_operations_says_so() {
        let mut report = whole();
        let row = SpeedRow { count: 144, compared: 5, busbw: Some(0.001), median_us: Some(9.0), ..SpeedRow::default() };
        report.speed = Part::Known(Speed { rows: vec![row], link: None, of_sums: false });
        let text = network(&report);
        assert!(text.contains("(--link-gbps). Only 5 of 144 operations could be compared."), "{text}");
    }

    #[test]
    fn cost_is_a_share_of_a_step_and_its_time() {
        let mut report = whole();
        let gpu = GpuBudget {
            total_ns: 20_000_000,
            waiting_ns: 1_000_000,
            transferring_ns: 4_000_000,
            overlapped_ns: 2_000_000,
            computing_ns: 12_000_000,
            idle_ns: 1_000_000,
            not_compared_ns: 0,
        };
        let Part::Known(it) = &mut report.budget else { unreachable!() };
        let whole = GpuBudget {
            total_ns: 40_000_000,
            waiting_ns: 2_000_000,
            transferring_ns: 8_000_000,
            overlapped_ns: 4_000_000,
            ..GpuBudget::default()
        };
        (it.steps, it.gpus, it.whole) = (2, vec![gpu; 2], whole);
        let expected = "Communication beside which nothing is computed takes 25 % of a step, 2.50 ms of 10.0 ms: 5.0 % \
                        waiting for other ranks, 20 % transferring. Another 10 % of a step is communication beside \
                        computation.";
        assert_eq!(cost(&report), expected);
        let Part::Known(it) = &mut report.budget else { unreachable!() };
        it.computed = Some(0.25);
        assert!(cost(&report).contains("computation. No kernel is known in 75 % of the steps: if the profiler"));
        let Part::Known(it) = &mut report.budget else { unreachable!() };
        it.computed = None;
        let Part::Known(it) = &mut report.budget else { unreachable!() };
        (it.with_kernels, it.of_steps, it.timed) = (false, false, 0.5);
        let text = cost(&report);
        assert!(text.starts_with("NCCL is under way in 25 % of the recording, 2.50 ms of 10.0 ms:"), "{text}");
        assert!(text.ends_with("50 % of the operations have no GPU time and count as time without NCCL."), "{text}");
    }

    #[test]
    fn network_names_the_operation_with_most_time_and_the_slowest_pair() {
        let mut report = whole();
        let row = |function: &str, median_us: f64, utilisation: Option<f64>| SpeedRow {
            function: function.to_owned(),
            nranks: 8,
            dimension: "DP".to_owned(),
            from_bytes: 64 << 20,
            to_bytes: 64 << 20,
            compared: 10,
            median_us: Some(median_us),
            busbw: Some(45.0),
            utilisation,
            ..SpeedRow::default()
        };
        let rows = vec![row("AllGather", 5.0, Some(0.5)), row("AllReduce", 9.0, Some(0.9))];
        report.speed = Part::Known(Speed { rows, link: Some("--link-gbps 400".into()), of_sums: false });
        let pair = |to: usize, z: Option<f64>| Pair {
            from: Some(1),
            to: Some(to),
            z,
            slow: z.is_some_and(|z| z < -3.0),
            ..Pair::default()
        };
        report.pairs = Part::Known(Pairs {
            left_out: 0,
            rows: vec![pair(2, Some(-4.0)), pair(3, Some(-9.0)), pair(4, Some(0.1)), pair(5, None)],
        });
        let expected = "AllReduce of 64 MiB (DP, 8 ranks) reaches 45.0 GB/s bus bandwidth, 90 % of its link. 2 of 3 \
                        compared pairs are slow beside others of their class; the worst is rank 1 to rank 3.";
        assert_eq!(network(&report), expected);
        report.speed = Part::Known(Speed { rows: vec![row("AllReduce", 9.0, None)], link: None, of_sums: false });
        report.pairs = Part::Absent("no proxy operations.".into());
        let expected = "AllReduce of 64 MiB (DP, 8 ranks) reaches 45.0 GB/s bus bandwidth; whether the link allows \
                        more is not known without its rate (--link-gbps). Pairs of ranks are not known.";
        assert_eq!(network(&report), expected);
    }

    #[test]
    fn an_absent_part_answers_with_its_reason() {
        let reason = || "no process wrote operations.".to_owned();
        let report = Report {
            late: Part::Absent(reason()),
            budget: Part::Absent(reason()),
            speed: Part::Absent(reason()),
            ..whole()
        };
        for text in [late(&report), cost(&report), network(&report)] {
            assert!(text.starts_with("Not known: no process wrote operations."), "{text}");
        }
    }
}
