//! Tables about what ranks cost: own times and pauses, waits and delay costs.

use super::super::Chapter;
use super::super::names::ReportNames;
use super::super::sentences::causes;
use super::super::sheet::ReportTable;
use super::super::units::{NOT_RESOLVED, bytes, count, is_resolved, known, part_of, resolved, share, time};
use report::analysis::verdict::Pace;
use report::answer::{Late, RankLate, RankLaunches, RankOwn, Report, StragglerPause, Stragglers, WorstOperation};

/// The own times of all ranks, the longest beyond those of the peers first.
pub(crate) fn own_times<'a>(
    stragglers: &'a Stragglers,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, (usize, &'a RankOwn)> {
    let is_found = |place: usize| stragglers.found.iter().any(|it| it.gpus.contains(&place));
    let excess = |row: &RankOwn| row.excess_us.unwrap_or(f64::MIN);
    ReportTable::new(Chapter::Ranks.name(), stragglers.ranks.iter().enumerate())
        .column("GPU", "gpu", |(place, _)| names.known(place), str::to_owned)
        .column("peer group", "peers", |(_, row)| row.peers, count)
        .column("own time", "own_us", |(_, row)| row.own_us, time)
        .column("beyond peers", "excess_us", |(_, row)| row.excess_us, time)
        .column("z", "z", |(_, row)| row.z, |z| format!("{z:.1}"))
        .value("slow", move |(place, _)| is_found(place))
        .column("gain", "gain_us", |(_, row)| row.gain_us, time)
        .in_order(|(_, a), (_, b)| excess(b).total_cmp(&excess(a)))
        .without(["peer group"])
}

/// The pauses, the longest first.
pub(crate) fn events<'a>(
    stragglers: &'a Stragglers,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a StragglerPause> {
    ReportTable::new(Chapter::Events.name(), &stragglers.events)
        .column("GPU", "gpu", |row| names.known(row.gpu), str::to_owned)
        .column("step", "step", |row| row.step, count)
        .column("longer than usual", "excess_us", |row| row.excess_us, time)
        .column("step longer by", "cost_us", |row| row.cost_us, time)
        .column("cause", "cause", |row| row.cause.map(causes::name), str::to_owned)
        .without(["step longer by"])
}

/// Waits and delay costs of each rank, the largest own cost first; where that is not known, the largest cost.
pub(crate) fn waits<'a>(
    late: &'a Late,
    report: &'a Report,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, (usize, &'a RankLate)> {
    let pace = Pace::from_report(report);
    let a_step = move |us: f64| time(pace.a_step(us));
    // a sum is resolved if its mean is
    let wait = move |us: f64, (_, row): (usize, &RankLate)| {
        let is_resolved = row.calls > 0 && is_resolved(us / row.calls as f64, &report.complete);
        if is_resolved { a_step(us) } else { NOT_RESOLVED.into() }
    };
    let own = |row: &RankLate| row.own_us.unwrap_or_default();
    ReportTable::new(Chapter::Late.name(), late.ranks.iter().enumerate())
        .column("GPU", "gpu", |(place, _)| names.known(place), str::to_owned)
        .column("calls", "calls", |(_, row)| row.calls, count)
        .column_by_row("waits itself", "wait_us", |(_, row)| row.wait_us, wait)
        .value("wait_error_us", |(_, row)| row.wait_error_us)
        .column("last in", "last", |(_, row)| row.last, count)
        .column("delay cost", "cost_us", |(_, row)| row.cost_us, a_step)
        .figures("share", move |(_, row)| known(pace.share(pace.a_step(row.cost_us)), share))
        .column("own", "own_us", |(_, row)| row.own_us, a_step)
        .column("passed on", "propagated_us", |(_, row)| row.propagated_us, a_step)
        .figures("queued in", |(_, row)| known(row.launches, |it| share(of_gpu(&it))))
        .column("median queued", "queued_median_us", |(_, row)| row.launches?.queued_median_us, time)
        .value("queued_us", |(_, row)| Some(row.launches?.queued_us))
        .value("host_later", |(_, row)| Some(row.launches?.host_later))
        .value("gpu_later", |(_, row)| Some(row.launches?.gpu_later))
        .value("host_cost_us", |(_, row)| Some(row.launches?.host_cost_us))
        .value("gpu_cost_us", |(_, row)| Some(row.launches?.gpu_cost_us))
        .in_order(|(_, a), (_, b)| own(b).total_cmp(&own(a)).then(b.cost_us.total_cmp(&a.cost_us)))
        .without(["calls", "share", "median queued", "queued in", "last in"])
}

/// Returns the share of calls whose GPU was later than their launch.
fn of_gpu(launches: &RankLaunches) -> f64 {
    part_of(launches.gpu_later as f64, (launches.host_later + launches.gpu_later) as f64)
}

/// The operations that others waited for longest.
pub(crate) fn worst<'a>(
    late: &'a Late,
    report: &'a Report,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a WorstOperation> {
    let communicator = |comm: &str| names.communicator(comm);
    let of_all = |row: &WorstOperation| {
        let all = late.ranks.get(row.gpu).map(|rank| rank.cost_us).filter(|all| *all > 0.0);
        known(all, |all| share(part_of(row.cost_us, all)))
    };
    let number = |number: u64, row: &WorstOperation| match row.sequence {
        Some((_, replay)) if replay > 0 => format!("{number} replay {replay}"),
        _ => number.to_string(),
    };
    ReportTable::new(Chapter::Worst.name(), &late.worst)
        .column("function", "function", |row| row.function.as_str(), str::to_owned)
        .column("communicator", "communicator", |row| row.comm.as_str(), communicator)
        .column_by_row("number", "sequence", |row| row.sequence.map(|(number, _)| number), number)
        .value("replay", |row| row.sequence.map(|(_, replay)| u64::from(replay)))
        .column("bytes", "bytes", |row| row.bytes, |it| bytes(it as f64))
        .column("at", "time_us", |row| row.time_us, time)
        .column("last GPU", "last", |row| names.known(row.gpu), str::to_owned)
        .column("late by", "late_us", |row| row.late_us, |us| resolved(us, &report.complete))
        .column("delay cost", "cost_us", |row| row.cost_us, time)
        .figures("of its GPU's", of_all)
        .column("cause", "propagated", |row| row.propagated, |it| if it { "passed on" } else { "own" }.to_owned())
        .column("call before", "before_function", |row| Some(row.before.as_ref()?.0.as_str()), str::to_owned)
        .column("of communicator", "before_communicator", |row| Some(row.before.as_ref()?.1.as_str()), communicator)
        .column("waited", "before_wait_us", |row| Some(row.before.as_ref()?.2), time)
        .without([
            "of its GPU's",
            "of communicator",
            "call before",
            "waited",
            "bytes",
            "number",
            "cause",
            "communicator",
        ])
}
