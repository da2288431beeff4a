//! Tables about time: steps, budget, windows between phases.

use super::super::Chapter;
use super::super::names::{ReportNames, origin};
use super::super::sheet::ReportTable;
use super::super::units::{bytes, count, gb_s, number, part_of, resolved, share, time};
use report::answer::{Budget, DimensionShare, GpuBudget, PhaseWindow, Report, SlowStep, Spread, Steps};

/// Returns the number of steps that each of the kept lengths stands for.
pub(crate) fn steps_in_length(steps: &Steps) -> u64 {
    steps.count.div_ceil((steps.lengths_us.len() as u64).max(1)).max(1)
}

/// The lengths of all steps: each is that of one step, or the longest of equally many neighbours.
pub(crate) fn lengths(steps: &Steps) -> ReportTable<'_, (u64, f64)> {
    let in_row = steps_in_length(steps);
    let rows = steps.lengths_us.iter().enumerate().map(|(place, us)| (place as u64 * in_row, *us));
    let is_outlier = move |first| steps.outliers.iter().any(|step| (first..first + in_row).contains(step));
    ReportTable::new(Chapter::Steps.name(), rows)
        .column("step", "first_step", |(first, _)| first, count)
        .value("steps", move |_| in_row)
        .column("length", "longest_us", |(_, length)| length, time)
        .names("kind", move |(first, _)| if is_outlier(first) { "outlier".into() } else { String::new() })
}

/// The slowest steps.
pub(crate) fn slowest<'a>(
    steps: &'a Steps,
    report: &'a Report,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a SlowStep> {
    ReportTable::new("slowest", &steps.slowest)
        .column("step", "step", |row| row.step, count)
        .column("length", "length_us", |row| row.length_us, time)
        .column("mean wait", "wait_us", |row| row.wait_us, |us| resolved(us, &report.complete))
        .column(
            "waited for most",
            "waited_for",
            |row| row.waited_for.as_ref().and_then(|(place, _)| names.known(*place)),
            str::to_owned,
        )
        .column("in", "function", |row| row.waited_for.as_ref().map(|(_, function)| function.as_str()), str::to_owned)
        .column("its cost", "cost_us", |row| row.cost_us, time)
        .without(["its cost", "in"])
}

/// A kind of time of the budget.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BudgetKind {
    pub(crate) heading: &'static str,
    /// Its column's name in the sheet.
    name: &'static str,
    pub(crate) of: fn(&GpuBudget) -> u64,
    /// Whether it is known without kernels of the computation, too.
    is_always_known: bool,
}

impl BudgetKind {
    /// Returns the name of its colour on the page.
    pub(crate) fn class(self) -> &'static str {
        self.name.trim_end_matches("_ns")
    }
}

/// Returns the kinds of time; their times add up to the whole.
fn all_kinds(budget: &Budget) -> [BudgetKind; 5] {
    let kind = |heading, name, of, is_always_known| BudgetKind { heading, name, of, is_always_known };
    [
        kind("waiting", "waiting_ns", |gpu| gpu.waiting_ns, true),
        kind("transferring", "transferring_ns", |gpu| gpu.transferring_ns, true),
        kind("beside computing", "overlapped_ns", |gpu| gpu.overlapped_ns, false),
        kind("computing", "computing_ns", |gpu| gpu.computing_ns, false),
        kind(if budget.with_kernels { "neither" } else { "no NCCL" }, "idle_ns", |gpu| gpu.idle_ns, true),
    ]
}

/// Returns the kinds of time that are known.
pub(crate) fn kinds(budget: &Budget) -> Vec<BudgetKind> {
    all_kinds(budget).into_iter().filter(|kind| kind.is_always_known || budget.with_kernels).collect()
}

/// The budget of each GPU, least waiting first: the others wait for that one. A page has room for shares, too.
pub(crate) fn by_gpu<'a>(
    budget: &'a Budget,
    names: &'a ReportNames<'a>,
    with_shares: bool,
) -> ReportTable<'a, (usize, &'a GpuBudget)> {
    let a_step = |ns: u64| time(ns as f64 / 1e3 / budget.steps.max(1) as f64);
    let text = move |ns: u64, (_, gpu): (usize, &GpuBudget)| {
        let part = || share(part_of(ns as f64, gpu.total_ns as f64));
        if with_shares { format!("{} ({})", a_step(ns), part()) } else { a_step(ns) }
    };
    let of = if budget.of_steps { "step" } else { "recording" };
    let table = ReportTable::new(Chapter::Budget.name(), budget.gpus.iter().enumerate())
        .column("GPU", "gpu", |(place, _)| names.known(place), str::to_owned)
        .value("of_steps", |_| budget.of_steps)
        .value("steps", |_| budget.steps)
        .column(of, "total_ns", |(_, gpu)| gpu.total_ns, a_step);
    let with = |table: ReportTable<'a, _>, kind: BudgetKind| {
        let is_known = kind.is_always_known || budget.with_kernels;
        let figure = move |(_, gpu): (usize, &GpuBudget)| is_known.then(|| (kind.of)(gpu));
        table.column_by_row(kind.heading, kind.name, figure, text)
    };
    let table = all_kinds(budget).into_iter().fold(table, with);
    table
        .column("wait unknown", "not_compared_ns", |(_, gpu)| gpu.not_compared_ns, a_step)
        .in_order(|(_, a), (_, b)| a.waiting_ns.cmp(&b.waiting_ns))
        .without(["wait unknown", of, "computing", "beside computing"])
}

/// The operations of each dimension of parallelism.
pub(crate) fn dimensions<'a>(budget: &'a Budget, report: &'a Report) -> ReportTable<'a, &'a DimensionShare> {
    let mean = |of: Option<Spread>| of.map(|it| it.mean);
    let p95 = |of: Option<Spread>| of.map(|it| it.p95);
    ReportTable::new(Chapter::Dimensions.name(), &budget.dimensions)
        .column("dimension", "dimension", |row| row.dimension.as_str(), str::to_owned)
        .column("known from", "origin", |row| origin(row.origin), str::to_owned)
        .column("time", "time_us", |row| row.time_us, time)
        .column("wait", "wait_us", |row| row.wait_us, |us| resolved(us, &report.complete))
        .column("bytes", "bytes", |row| row.bytes, |it| bytes(it.round()))
        .column("operations", "operations", |row| row.operations, number)
        .column("link while active", "active_mean", move |row| mean(row.while_active), share)
        .column("p95 while active", "active_p95", move |row| p95(row.while_active), share)
        .column("link of step", "step_mean", move |row| mean(row.of_step), share)
        .column("p95 of step", "step_p95", move |row| p95(row.of_step), share)
        .column("beside computing", "overlap", |row| row.overlap, share)
        .column("calls", "calls", |row| row.calls.count, count)
        .column("algbw GB/s", "algbw_mean_gb_s", move |row| mean(row.calls.algbw), gb_s)
        .column("p95 algbw", "algbw_p95_gb_s", move |row| p95(row.calls.algbw), gb_s)
        .column("busbw GB/s", "busbw_mean_gb_s", move |row| mean(row.calls.busbw), gb_s)
        .column("p95 busbw", "busbw_p95_gb_s", move |row| p95(row.calls.busbw), gb_s)
        .column("link of call", "call_mean", move |row| mean(row.calls.of_link), share)
        .column("p95 of call", "call_p95", move |row| p95(row.calls.of_link), share)
        .without([
            "calls",
            "p95 of step",
            "p95 while active",
            "link of step",
            "wait",
            "operations",
            "link while active",
            "p95 algbw",
            "algbw GB/s",
            "p95 of call",
            "p95 busbw",
        ])
}

/// The windows between phases, most time first.
pub(crate) fn windows(rows: &[PhaseWindow]) -> ReportTable<'_, &PhaseWindow> {
    ReportTable::new(Chapter::Phases.name(), rows)
        .column("from", "from", |row| row.from.as_str(), str::to_owned)
        .column("to", "to", |row| row.to.as_str(), str::to_owned)
        .column("windows", "count", |row| row.count, count)
        .column("mean", "mean_us", |row| row.mean_us, time)
        .column("median", "median_us", |row| row.median_us, time)
        .column("p95", "p95_us", |row| row.p95_us, time)
        .column("negative", "negative", |row| row.negative, share)
        .in_order(|a, b| (b.mean_us * b.count as f64).total_cmp(&(a.mean_us * a.count as f64)))
        .without(["mean", "windows"])
}

/// The distributions of the windows.
pub(super) fn bins(rows: &[PhaseWindow]) -> ReportTable<'_, (&PhaseWindow, (f64, u64))> {
    let bins = rows.iter().flat_map(|window| window.bins.iter().map(move |bin| (window, *bin)));
    ReportTable::new("phase_bins", bins)
        .value("from", |(window, _)| window.from.as_str())
        .value("to", |(window, _)| window.to.as_str())
        .value("lower_us", |(_, (lower, _))| lower)
        .value("count", |(_, (_, count))| count)
}
