//! Prometheus' text format, in base units, as its conventions and `promtool check metrics` demand.

use crate::base::prometheus;
use crate::export::{Family, Histogram, ProcessIdentity, Value};
use std::collections::BTreeMap;

/// Writes all families. Each series has the process among its labels.
pub(super) fn of(families: &[Family], process: &str) -> String {
    let mut text = String::new();
    families.iter().for_each(|family| write_family(&mut text, family, process));
    text
}

/// Writes a series with the identity that other series' labels lack, to be joined with them: job, task and GPU of the
/// process, and what `others` say of it unless their names are taken.
pub(super) fn info(identity: &ProcessIdentity, process: &str, others: &BTreeMap<String, String>) -> String {
    let told = [
        ("local_rank", &identity.local_rank),
        ("slurm_job_id", &identity.slurm_job),
        ("slurm_procid", &identity.slurm_task),
        ("gpu_ordinal", &identity.gpu_ordinal),
        ("gpu_uuid", &identity.gpu_uuid),
        ("gpu_pci_bus_id", &identity.gpu_bus),
    ];
    let told = told.into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?)));
    let mut all: BTreeMap<&str, &str> = others.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    all.extend([("hostname", identity.host.as_str())].into_iter().chain(told));
    let labels = labels(all.into_iter(), process);
    let mut text = String::new();
    prometheus::head(&mut text, "nccl_process_info", "gauge", "What the environment tells of the process, always 1");
    prometheus::line(&mut text, "nccl_process_info", &labels, 1);
    text
}

fn write_family(text: &mut String, family: &Family, process: &str) {
    let (unit, in_base_units) = base_unit(family.unit);
    let name = name(family, unit);
    let kind = match family.points.first().map(|point| &point.value) {
        Some(Value::Sum(_)) => "counter",
        Some(Value::Histogram(_)) => "histogram",
        None => return,
    };
    prometheus::head(text, &name, kind, &family.meaning);
    for point in &family.points {
        let labels = labels(point.labels.iter().map(|(name, value)| (*name, value.as_str())), process);
        match &point.value {
            Value::Sum(sum) if unit == family.unit => prometheus::line(text, &name, &labels, sum),
            Value::Sum(sum) => prometheus::line(text, &name, &labels, in_base_units(*sum as f64)),
            Value::Histogram(histogram) => write_histogram(text, &name, &labels, histogram, in_base_units),
        }
    }
}

/// Writes a histogram. Each bucket counts the values of the buckets before it, too.
fn write_histogram(text: &mut String, name: &str, labels: &str, histogram: &Histogram, in_base_units: fn(f64) -> f64) {
    let bounds = histogram.bounds.iter().map(|&bound| in_base_units(bound).to_string()).chain(["+Inf".to_owned()]);
    let bucket = format!("{name}_bucket");
    let mut count = 0;
    for (bound, more) in bounds.zip(&histogram.counts) {
        count += more;
        prometheus::line(text, &bucket, &format!("{labels},le=\"{bound}\""), count);
    }
    prometheus::line(text, &format!("{name}_sum"), labels, in_base_units(histogram.sum));
    prometheus::line(text, &format!("{name}_count"), labels, count);
}

fn labels<'a>(of_series: impl Iterator<Item = (&'a str, &'a str)>, process: &'a str) -> String {
    prometheus::labels(of_series.chain([("process", process)]))
}

/// Returns the base unit and the conversion to it.
fn base_unit(unit: &'static str) -> (&'static str, fn(f64) -> f64) {
    match unit {
        // a division makes a bound the closest number to its decimal digits
        "us" => ("seconds", |microseconds| microseconds / 1e6),
        "MB/s" => ("bytes_per_second", |megabytes| megabytes * 1e6),
        of_its_own => (of_its_own, |value| value),
    }
}

/// Returns a family's name as OTLP receivers make it: the unit is appended unless it is a word of the name, and a sum
/// gets `total`.
fn name(family: &Family, unit: &str) -> String {
    let mut name = family.name.to_owned();
    if !name.split('_').any(|word| word == unit) {
        name = format!("{name}_{unit}");
    }
    if family.points.iter().any(|point| matches!(point.value, Value::Sum(_))) {
        name += "_total";
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::LabelledPoint;

    fn family(name: &'static str, unit: &'static str, value: Value) -> Family {
        let labels = vec![("operation", "a\"b\\c\nd".to_owned())];
        Family { name, unit, meaning: "One\\two\nthree".into(), points: vec![LabelledPoint { labels, value }] }
    }

    #[test]
    fn what_has_a_meaning_in_the_format_is_escaped() {
        let text = of(&[family("nccl_x", "count", Value::Sum(u64::MAX))], "7");
        let expected = r#"# HELP nccl_x_count_total One\\two\nthree
# TYPE nccl_x_count_total counter
nccl_x_count_total{operation="a\"b\\c\nd",process="7"} 18446744073709551615
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn a_histogram_is_cumulative_and_in_base_units() {
        let histogram = Histogram { sum: 1234.5, bounds: vec![1.0, 20.0, 1e7], counts: vec![1, 0, 2, 4] };
        let text = of(&[family("nccl_time", "us", Value::Histogram(histogram))], "7")
            .replace(r#"operation="a\"b\\c\nd","#, "");
        let expected = r#"# HELP nccl_time_seconds One\\two\nthree
# TYPE nccl_time_seconds histogram
nccl_time_seconds_bucket{process="7",le="0.000001"} 1
nccl_time_seconds_bucket{process="7",le="0.00002"} 1
nccl_time_seconds_bucket{process="7",le="10"} 3
nccl_time_seconds_bucket{process="7",le="+Inf"} 7
nccl_time_seconds_sum{process="7"} 0.0012345
nccl_time_seconds_count{process="7"} 7
"#;
        assert_eq!(text, expected);
    }

    #[test]
    fn names_are_those_that_otlps_receivers_make_but_for_base_units() {
        let histogram = || Value::Histogram(Histogram { sum: 0.0, bounds: vec![1.0], counts: vec![0, 0] });
        for (name, unit, value, expected) in [
            ("nccl_profiler_rank_bytes", "bytes", Value::Sum(1), "nccl_profiler_rank_bytes_total"),
            ("nccl_dropped", "count", Value::Sum(1), "nccl_dropped_count_total"),
            ("nccl_profiler_collective_count", "count", histogram(), "nccl_profiler_collective_count"),
            ("nccl_profiler_transfer_size", "bytes", histogram(), "nccl_profiler_transfer_size_bytes"),
            ("nccl_profiler_rank_latency", "us", histogram(), "nccl_profiler_rank_latency_seconds"),
            ("nccl_profiler_rank_rate", "MB/s", histogram(), "nccl_profiler_rank_rate_bytes_per_second"),
        ] {
            assert_eq!(super::name(&family(name, unit, value), base_unit(unit).0), expected);
        }
    }
}
