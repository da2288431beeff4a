//! The conditions of the processes and their GPUs.

use super::super::Chapter;
use super::super::names::ReportNames;
use super::super::sheet::ReportTable;
use super::super::units::{count, number, share};
use report::answer::{Conditions, ProcessConditions, Report};

/// The conditions of each rank: first those that stand out, then those that waited longest for a processor. Figures that
/// nobody has are in the table for programs alone.
pub(crate) fn conditions<'a>(
    conditions: &'a Conditions,
    report: &'a Report,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, (usize, &'a ProcessConditions)> {
    let found = report.stragglers.known().map_or(&[][..], |stragglers| &stragglers.found);
    let stands_out = move |place: usize| found.iter().any(|it| it.gpus.contains(&place));
    let waiting = |row: &ProcessConditions| row.waiting.unwrap_or(f64::MIN);
    ReportTable::new(Chapter::Conditions.name(), conditions.rows.iter().enumerate())
        .column("GPU", "gpu", |(place, _)| names.known(place), str::to_owned)
        .value("slow", move |(place, _)| stands_out(place))
        .value("length_us", |(_, row)| row.length_us)
        .column("running", "running", |(_, row)| row.running, share)
        .column("waiting", "waiting", |(_, row)| row.waiting, share)
        .column("blocked", "blocked", |(_, row)| row.blocked, share)
        .column("stopped", "stopped", |(_, row)| row.stopped, share)
        .column("throttled", "throttled", |(_, row)| row.throttled, share)
        .column("memory stall", "memory_stall", |(_, row)| row.memory_stall, share)
        .column("stolen", "stolen", |(_, row)| row.stolen, share)
        .column("major faults/s", "major_faults_s", |(_, row)| row.major_faults, number)
        .column("processors", "processors", |(_, row)| row.processors.map(u64::from), count)
        .column("near GPU", "near_gpu", |(_, row)| row.near_gpu.map(u64::from), count)
        .column("MHz", "mhz", |(_, row)| row.mhz, number)
        .column("SM MHz", "sm_mhz", |(_, row)| row.sm_mhz, number)
        .column("least", "sm_mhz_least", |(_, row)| row.sm_mhz_least, number)
        .value("sm_max_mhz", |(_, row)| row.sm_max_mhz)
        .column("at power limit", "power_capped", |(_, row)| row.power_capped, share)
        .column("hot", "hot", |(_, row)| row.hot, share)
        .column("power brake", "power_brake", |(_, row)| row.power_brake, share)
        .column("power W", "power_w", |(_, row)| row.power_w, number)
        .column("limit W", "power_limit_w", |(_, row)| row.power_limit_w, number)
        .column("most °C", "temperature_c", |(_, row)| row.temperature_c, |celsius| format!("{celsius:.0}"))
        .column("use", "use_percent", |(_, row)| row.use_percent, |percent| share(percent / 100.0))
        .column("errors", "errors", |(_, row)| row.errors, count)
        .in_order(|(one, a), (other, b)| {
            let by_standing = stands_out(*other).cmp(&stands_out(*one));
            by_standing.then(waiting(b).total_cmp(&waiting(a)))
        })
        .without([
            "limit W",
            "near GPU",
            "MHz",
            "power brake",
            "use",
            "memory stall",
            "major faults/s",
            "throttled",
            "stolen",
            "least",
            "errors",
            "hot",
            "most °C",
            "stopped",
            "at power limit",
            "power W",
            "running",
            "processors",
            "SM MHz",
        ])
        .without_unknown()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    #[test]
    fn people_have_the_columns_of_known_figures_and_programs_have_all() {
        let report = &sample(4);
        let names = &ReportNames::of(report);
        let table = conditions(report.conditions.known().unwrap(), report, names);
        let headings: Vec<&str> = table.headings().map(|it| it.text).collect();
        assert!(headings.contains(&"stolen") && !headings.contains(&"throttled"), "{headings:?}");
        let first: Vec<String> = table.rows().map(|mut row| row.swap_remove(0)).collect();
        assert_eq!(first, ["rank 3", "rank 0", "rank 1", "rank 2"], "rank 3 stands out, rank 0 waits");
        let sheet = table.sheet();
        let columns: Vec<&str> = sheet.columns.iter().map(|it| it.name).collect();
        assert!(columns.contains(&"throttled") && columns.contains(&"sm_max_mhz"), "{columns:?}");
    }
}
