//! The sentences above tables: findings, tags, conditions, the breakdown, and the states of a pair's transfers.

use super::super::names::ReportNames;
use super::super::units::{count, counted, part_of, share};
use super::without_kernel;
use report::answer::{Budget, Conditions, LeftOutLines, PairStates, Report, Tags, WatchFindings};

/// Returns how many findings there are, and which lines of the log are not among them.
pub(crate) fn about_findings(findings: &WatchFindings) -> String {
    let rows = findings.rows.len() as u64;
    let mut text =
        format!("The log has {} of this job in {}.", counted(rows, "finding"), counted(findings.lines, "line"));
    let open = findings.rows.iter().filter(|row| row.lasts).count() as u64;
    if open > 0 {
        let are = if open == 1 { "is" } else { "are" };
        text += &format!(" {} {are} not over in the log.", counted(open, "finding"));
    }
    if findings.unnamed > 0 {
        let are = if findings.unnamed == 1 { "is" } else { "are" };
        let lines = counted(findings.unnamed, "line");
        text += &format!(" {lines} {are} of a job without a name, which may be another one.");
    }
    if let Some(left_out) = left_out_lines(findings) {
        text += &format!(" {left_out}");
    }
    text
}

/// Returns a sentence on the lines that are in no row; `None` if each line is in one.
pub fn left_out_lines(findings: &WatchFindings) -> Option<String> {
    let others = match findings.others.as_slice() {
        [] => "of other jobs".to_owned(),
        names => format!("of other jobs ({})", names.join("; ")),
    };
    let kinds = [
        (&findings.unread, "without a finding"),
        (&findings.too_long, "with more than 4 MiB"),
        (&findings.newer, "of a form that a later version of scorep-nccl reads"),
        (&findings.of_others, &*others),
        (&findings.passed_over, "behind the number that is read"),
    ];
    let part = |(lines, fate): (&LeftOutLines, &str)| {
        let first = lines.first.as_ref().map(|first| format!(", first in {first}")).unwrap_or_default();
        (lines.count > 0).then(|| format!("{} {fate}{first}", counted(lines.count, "line")))
    };
    let parts: Vec<String> = kinds.into_iter().filter_map(part).collect();
    (!parts.is_empty()).then(|| format!("Left out: {}.", parts.join("; ")))
}

/// Says of which operations the times are, and which tags have no row.
pub(crate) fn about_tags(tags: &Tags) -> String {
    let mut text =
        "Sums over all ranks. Times are of the timed operations, with their waits for other ranks.".to_owned();
    if tags.rows.last().is_some_and(|row| row.tag == Tags::OTHERS) {
        text += &format!(" The tags after the first {} have one row.", count(Tags::MAX_ROWS as u64));
    }
    text
}

/// Returns the time that the figures are of, and the meaning of those whose headings do not say it.
pub(crate) fn about_conditions(conditions: &Conditions) -> String {
    let time = if conditions.of_steps { "the steps behind the warm-up" } else { "all the time that is known" };
    let mut text = format!(
        "Conditions of {} over {time}, as shares of that time. Launching threads, those that enqueue NCCL's operations, \
         were running, waiting for a processor, or blocked; of several threads, these are means.",
        counted(conditions.processes, "process")
    );
    if conditions.rows.iter().any(|row| row.power_capped.or(row.hot).or(row.power_brake).is_some()) {
        text += " The limit of the power, a temperature (hot) or a power brake held the GPU's clock down in these shares \
                 of the looks.";
    }
    text
}

/// Says how the breakdown of a report's budget divides the time, and of which GPUs it is: `gpus` of them count.
pub(crate) fn about_breakdown(report: &Report, budget: &Budget, gpus: usize) -> String {
    let period = if budget.of_steps { " and step" } else { "" };
    let mut text = format!("Means of a rank{period}; each instant counts once.");
    let has_kernels = budget.breakdown.gpus.iter().any(|gpu| gpu.has_kernels);
    if has_kernels {
        text += " Communication beside a computation counts as computing.";
        text += &without_kernel(budget);
    } else {
        let were_given = report.complete.inputs.iter().any(|input| input.kind == "kernels");
        let why = if were_given { "are known" } else { "were given (--kernels, --nsys)" };
        text += &format!(
            " Computation is unknown, because no kernels {why}: it is beside NCCL's operations and in the time without \
             NCCL."
        );
    }
    if budget.breakdown.dimensions.len() > 1 {
        text += " Dimensions that communicate at once share the time evenly.";
    }
    if gpus < budget.gpus.len() {
        text += &format!(
            " Only the {} count whose kernels are known, of {}.",
            counted(gpus as u64, "rank"),
            count(budget.gpus.len() as u64)
        );
    }
    text
}

/// Names the ranks of a pair, the sender first.
pub(crate) fn sender_and_receiver(pair: &PairStates, names: &ReportNames<'_>) -> String {
    let name = |gpu: Option<usize>, rank: i32| gpu.map_or_else(|| format!("rank {rank}"), |gpu| names.gpu(gpu));
    format!("{} to {}", name(pair.from, pair.rank), name(pair.to, pair.peer))
}

/// Returns where the time of a pair's transfers goes, of its sender and its receiver: without the queue, in which a
/// transfer waits for others and which has no cause of its own.
pub(crate) fn pair_states(pair: &PairStates, names: &ReportNames<'_>) -> String {
    let side = |times: Option<[f64; 4]>, who: &str, parts: [&str; 3]| {
        let [_, times @ ..] = times?;
        let whole: f64 = times.iter().sum();
        let parts = times.into_iter().zip(parts).map(|(us, of)| format!("{} {of}", share(part_of(us, whole))));
        (whole > 0.0).then(|| format!("of the {who}'s time beyond the queue {}", parts.collect::<Vec<_>>().join(", ")))
    };
    let of_send = side(pair.send_us, "sender", ["waits for its GPU", "for the receiver", "for the network"]);
    let of_receive =
        side(pair.receive_us, "receiver", ["waits for the network and the sender", "for the flush", "for its GPU"]);
    let sides: Vec<String> = of_send.into_iter().chain(of_receive).collect();
    format!("{}: {}.", sender_and_receiver(pair, names), sides.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use report::answer::{Breakdown, GpuBreakdown, Input, ReportedFinding};

    #[test]
    fn lines_that_are_in_no_row_are_counted_and_named() {
        let lines = |count, first: &str| LeftOutLines { count, first: Some(first.into()) };
        let findings = WatchFindings {
            rows: vec![ReportedFinding { lasts: true, ..ReportedFinding::default() }],
            lines: 9,
            unread: lines(1, "log, line 3"),
            of_others: lines(7, "log, line 4"),
            others: vec!["slurm 8".into()],
            unnamed: 1,
            ..WatchFindings::default()
        };
        assert_eq!(
            about_findings(&findings),
            "The log has 1 finding of this job in 9 lines. 1 finding is not over in the log. 1 line is of a job \
             without a name, which may be another one. Left out: 1 line without a finding, first in log, line 3; 7 \
             lines of other jobs (slurm 8), first in log, line 4."
        );
        assert_eq!(left_out_lines(&WatchFindings::default()), None);
    }

    fn budget(has_kernels: bool, computed: Option<f64>) -> Budget {
        let gpus = vec![GpuBreakdown { has_kernels, exposed_ns: vec![] }];
        Budget { computed, breakdown: Breakdown { gpus, ..Breakdown::default() }, ..Budget::default() }
    }

    #[test]
    fn steps_without_a_kernel_are_named() {
        let said = |computed| about_breakdown(&sample(2), &budget(true, Some(computed)), 1);
        assert!(said(0.01).contains(" No kernel is known in 99.0 % of the steps"), "{}", said(0.01));
        assert!(!said(1.0).contains("No kernel is known"), "{}", said(1.0));
    }

    #[test]
    fn the_options_are_named_to_those_who_gave_no_kernels() {
        let mut report = sample(2);
        report.complete.inputs.clear();
        let without = about_breakdown(&report, &budget(false, None), 1);
        assert!(without.contains("because no kernels were given (--kernels, --nsys):"), "{without}");
        report.complete.inputs.push(Input { kind: "kernels".into(), ..Input::default() });
        let with = about_breakdown(&report, &budget(false, None), 1);
        assert!(with.contains("because no kernels are known:") && !with.contains("--"), "{with}");
    }

    #[test]
    fn each_side_has_its_shares() {
        let report = sample(8);
        let pair = PairStates {
            rank: 3,
            peer: 7,
            from: Some(3),
            to: Some(7),
            send_us: Some([900.0, 70.0, 25.0, 5.0]),
            receive_us: Some([50.0, 3.0, 1.0, 0.0]),
            ..PairStates::default()
        };
        let names = &ReportNames::of(&report);
        assert_eq!(
            pair_states(&pair, names),
            "rank 3 to rank 7: of the sender's time beyond the queue 70 % waits for its GPU, 25 % for the receiver, \
             5.0 % for the network; of the receiver's time beyond the queue 75 % waits for the network and the sender, \
             25 % for the flush, 0 % for its GPU."
        );
        let of_sender = pair_states(&PairStates { receive_us: None, ..pair }, names);
        assert!(of_sender.ends_with("5.0 % for the network."), "{of_sender}");
    }
}
