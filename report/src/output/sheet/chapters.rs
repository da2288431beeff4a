//! The tables of a report, one for each of its chapters.

use super::super::chapter::Chapter;
use super::Sheet;
use super::names::{gpu, origin};
use super::rows::ColumnRows;
use crate::answer::{
    Behind, Budget, Complete, DimensionShare, GpuBudget, Late, PhaseWindow, RankLate, RankOwn, Report, Steps,
    Stragglers, Utilisation, Whereabouts,
};

/// Makes the tables of a report. An absent part has none; the table `absent` says why.
pub fn sheets(report: &Report) -> Vec<Sheet> {
    let mut sheets = vec![complete(&report.complete)];
    if let Some(steps) = report.steps.known() {
        sheets.extend([lengths(steps), slowest(steps, report)]);
    }
    if let Some(budget) = report.budget.known() {
        sheets.extend([by_gpu(budget, report), dimensions(&budget.dimensions)]);
    }
    if let Some(phases) = report.phases.known() {
        sheets.extend([windows(&phases.windows), bins(&phases.windows)]);
    }
    if let Some(stragglers) = report.stragglers.known() {
        sheets.extend([own_times(stragglers, report), events(stragglers, report)]);
    }
    if let Some(late) = report.late.known() {
        sheets.extend([ranks(late, report), worst(late, report)]);
    }
    sheets.extend(report.speed.known().map(super::network::speed));
    sheets.extend(report.pairs.known().map(|pairs| super::network::pairs(pairs, report)));
    sheets.extend(report.communicators.known().map(super::network::communicators));
    if let Some(unfinished) = report.unfinished.known() {
        sheets.push(whereabouts(&unfinished.communicators, report));
    }
    sheets.extend(Some(absent(report)).filter(|sheet| !sheet.is_empty()));
    sheets
}

fn complete(complete: &Complete) -> Sheet {
    ColumnRows::new(Chapter::Complete.name(), &complete.inputs)
        .text("input", |row| &row.path)
        .text("kind", |row| &row.kind)
        .count("processes", |row| row.processes)
        .known_text("problem", |row| row.problem.clone())
        .sheet()
}

fn lengths(steps: &Steps) -> Sheet {
    let lengths: Vec<(usize, f64)> = steps.lengths_us.iter().copied().enumerate().collect();
    // each value is one step, or the longest of equally many neighbours
    let number = u64::try_from(lengths.len()).unwrap_or(u64::MAX).max(1);
    let in_bin = steps.count.div_ceil(number).max(1);
    ColumnRows::new(Chapter::Steps.name(), &lengths)
        .count("first_step", |(place, _)| *place as u64 * in_bin)
        .count("steps", |_| in_bin)
        .real("longest_us", |(_, length)| *length)
        .sheet()
}

fn slowest(steps: &Steps, report: &Report) -> Sheet {
    ColumnRows::new("slowest", &steps.slowest)
        .count("step", |row| row.step)
        .real("length_us", |row| row.length_us)
        .known_real("wait_us", |row| row.wait_us)
        .known_text("waited_for", |row| row.waited_for.as_ref().and_then(|(place, _)| gpu(report, *place)))
        .known_text("function", |row| row.waited_for.as_ref().map(|(_, function)| function.clone()))
        .known_real("cost_us", |row| row.cost_us)
        .sheet()
}

fn by_gpu(budget: &Budget, report: &Report) -> Sheet {
    let gpus: Vec<(usize, &GpuBudget)> = budget.gpus.iter().enumerate().collect();
    let known = |ns: u64| budget.with_kernels.then_some(ns);
    ColumnRows::new(Chapter::Budget.name(), &gpus)
        .known_text("gpu", |(place, _)| gpu(report, *place))
        .flag("of_steps", |_| budget.of_steps)
        .count("steps", |_| budget.steps)
        .count("total_ns", |(_, gpu)| gpu.total_ns)
        .count("waiting_ns", |(_, gpu)| gpu.waiting_ns)
        .count("transferring_ns", |(_, gpu)| gpu.transferring_ns)
        .known_count("overlapped_ns", |(_, gpu)| known(gpu.overlapped_ns))
        .known_count("computing_ns", |(_, gpu)| known(gpu.computing_ns))
        .count("idle_ns", |(_, gpu)| gpu.idle_ns)
        .count("not_compared_ns", |(_, gpu)| gpu.not_compared_ns)
        .sheet()
}

fn dimensions(rows: &[DimensionShare]) -> Sheet {
    let mean = |utilisation: Option<Utilisation>| utilisation.map(|it| it.mean);
    let p95 = |utilisation: Option<Utilisation>| utilisation.map(|it| it.p95);
    ColumnRows::new(Chapter::Dimensions.name(), rows)
        .text("dimension", |row| &row.dimension)
        .text("origin", |row| origin(row.origin))
        .real("time_us", |row| row.time_us)
        .known_real("wait_us", |row| row.wait_us)
        .real("bytes", |row| row.bytes)
        .real("operations", |row| row.operations)
        .known_real("active_mean", |row| mean(row.while_active))
        .known_real("active_p95", |row| p95(row.while_active))
        .known_real("step_mean", |row| mean(row.of_step))
        .known_real("step_p95", |row| p95(row.of_step))
        .sheet()
}

fn windows(rows: &[PhaseWindow]) -> Sheet {
    ColumnRows::new(Chapter::Phases.name(), rows)
        .text("from", |row| &row.from)
        .text("to", |row| &row.to)
        .count("count", |row| row.count)
        .real("mean_us", |row| row.mean_us)
        .real("median_us", |row| row.median_us)
        .real("p95_us", |row| row.p95_us)
        .real("negative", |row| row.negative)
        .sheet()
}

fn bins(rows: &[PhaseWindow]) -> Sheet {
    let bins: Vec<(&PhaseWindow, &(f64, u64))> =
        rows.iter().flat_map(|window| window.bins.iter().map(move |bin| (window, bin))).collect();
    ColumnRows::new("phase_bins", &bins)
        .text("from", |(window, _)| &window.from)
        .text("to", |(window, _)| &window.to)
        .real("lower_us", |(_, (lower, _))| *lower)
        .count("count", |(_, (_, count))| *count)
        .sheet()
}

fn own_times(stragglers: &Stragglers, report: &Report) -> Sheet {
    let ranks: Vec<(usize, &RankOwn)> = stragglers.ranks.iter().enumerate().collect();
    let is_found = |place: usize| stragglers.found.iter().any(|it| it.gpus.contains(&place));
    ColumnRows::new(Chapter::Ranks.name(), &ranks)
        .known_text("gpu", |(place, _)| gpu(report, *place))
        .count("peers", |(_, row)| row.peers)
        .real("own_us", |(_, row)| row.own_us)
        .known_real("excess_us", |(_, row)| row.excess_us)
        .known_real("z", |(_, row)| row.z)
        .flag("slow", |(place, _)| is_found(*place))
        .known_real("gain_us", |(_, row)| row.gain_us)
        .sheet()
}

fn events(stragglers: &Stragglers, report: &Report) -> Sheet {
    ColumnRows::new(Chapter::Events.name(), &stragglers.events)
        .known_text("gpu", |row| gpu(report, row.gpu))
        .count("step", |row| row.step)
        .real("excess_us", |row| row.excess_us)
        .known_real("cost_us", |row| row.cost_us)
        .sheet()
}

fn ranks(late: &Late, report: &Report) -> Sheet {
    let ranks: Vec<(usize, &RankLate)> = late.ranks.iter().enumerate().collect();
    ColumnRows::new(Chapter::Late.name(), &ranks)
        .known_text("gpu", |(place, _)| gpu(report, *place))
        .count("calls", |(_, row)| row.calls)
        .real("wait_us", |(_, row)| row.wait_us)
        .real("wait_error_us", |(_, row)| row.wait_error_us)
        .count("last", |(_, row)| row.last)
        .real("cost_us", |(_, row)| row.cost_us)
        .real("own_us", |(_, row)| row.own_us)
        .real("propagated_us", |(_, row)| row.propagated_us)
        .sheet()
}

fn worst(late: &Late, report: &Report) -> Sheet {
    ColumnRows::new(Chapter::Worst.name(), &late.worst)
        .text("function", |row| &row.function)
        .text("communicator", |row| &row.comm)
        .known_count("sequence", |row| row.sequence.map(|(number, _)| number))
        .known_count("replay", |row| row.sequence.map(|(_, replay)| replay.into()))
        .count("bytes", |row| row.bytes)
        .real("time_us", |row| row.time_us)
        .known_text("last", |row| gpu(report, row.gpu))
        .real("late_us", |row| row.late_us)
        .real("cost_us", |row| row.cost_us)
        .flag("propagated", |row| row.propagated)
        .known_text("before_function", |row| row.before.as_ref().map(|(function, _, _)| function.clone()))
        .known_text("before_communicator", |row| row.before.as_ref().map(|(_, comm, _)| comm.clone()))
        .known_real("before_wait_us", |row| row.before.as_ref().map(|(_, _, wait)| *wait))
        .sheet()
}

fn whereabouts(communicators: &[Behind], report: &Report) -> Sheet {
    let rows: Vec<(&Behind, &Whereabouts)> =
        communicators.iter().flat_map(|behind| behind.ranks.iter().map(move |row| (behind, row))).collect();
    type Last = Option<(String, Option<u64>, u64)>;
    let function = |last: &Last| last.as_ref().map(|(function, _, _)| function.clone());
    let number = |last: &Last| last.as_ref().and_then(|(_, number, _)| *number);
    let bytes = |last: &Last| last.as_ref().map(|(_, _, bytes)| *bytes);
    ColumnRows::new(Chapter::Unfinished.name(), &rows)
        .text("communicator", |(behind, _)| &behind.comm)
        .integer("rank", |(_, row)| Some(row.rank.into()))
        .known_text("gpu", |(_, row)| gpu(report, row.gpu))
        .count("begun", |(_, row)| row.begun)
        .count("ended", |(_, row)| row.ended)
        .known_text("last_begun", |(_, row)| function(&row.last_begun))
        .known_count("last_begun_sequence", |(_, row)| number(&row.last_begun))
        .known_count("last_begun_bytes", |(_, row)| bytes(&row.last_begun))
        .known_text("last_ended", |(_, row)| function(&row.last_ended))
        .known_count("last_ended_sequence", |(_, row)| number(&row.last_ended))
        .known_count("last_ended_bytes", |(_, row)| bytes(&row.last_ended))
        .sheet()
}

fn absent(report: &Report) -> Sheet {
    let reasons = [
        (Chapter::Steps, report.steps.absent()),
        (Chapter::Budget, report.budget.absent()),
        (Chapter::Phases, report.phases.absent()),
        (Chapter::Ranks, report.stragglers.absent()),
        (Chapter::Late, report.late.absent()),
        (Chapter::Speed, report.speed.absent()),
        (Chapter::Pairs, report.pairs.absent()),
        (Chapter::Communicators, report.communicators.absent()),
        (Chapter::Unfinished, report.unfinished.absent()),
    ];
    let rows: Vec<(&str, &str)> =
        reasons.into_iter().filter_map(|(chapter, reason)| Some((chapter.name(), reason?))).collect();
    ColumnRows::new("absent", &rows).text("part", |(part, _)| part).text("reason", |(_, reason)| reason).sheet()
}
