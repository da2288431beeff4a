//! Lists every difference between a summary and the reference.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::Reference;
use super::channels::ChannelsCompared;
use super::fit::Fit;

/// The expected value of a field.
enum Expected {
    /// This value exactly.
    Exactly(Value),
    /// A time or a rate: within 0.1 %.
    Time(f64),
    /// A result of a fit: within 1e-6.
    Fitted(f64),
    /// A standard error and its result: within 1e-6 of the result.
    Error(f64, f64),
    /// An object with these fields.
    Object(Vec<(&'static str, Expected)>),
    /// Any count, since captures do not determine it.
    AnyCount,
    /// Counts by reason with this sum; captures do not determine the reason.
    Untimed(usize),
}

use Expected::{AnyCount, Error, Exactly, Fitted, Object, Time, Untimed};

/// A row: the fields that identify it, and its other fields.
type Row = (Vec<(&'static str, Value)>, Vec<(&'static str, Expected)>);

/// Reasons why an operation has no GPU time.
const REASONS: [&str; 5] = ["graph", "no_event", "cuda_failed", "not_chosen", "not_believed"];

/// Least tolerance, for fits whose expected value is 0.
const FLOOR: f64 = 1e-9;

/// Returns a sentence for every difference; none if the summary is right.
pub(crate) fn compare(actual: &Value, expected: &Reference) -> Vec<String> {
    let mut differences = Vec::new();
    check(&actual["schema"], &Exactly(json!("scorep-nccl-summary-1")), "schema", &mut differences);
    for (section, rows) in sections(expected) {
        let Some(actual) = actual[section].as_array() else {
            differences.push(format!("{section}: is no list"));
            continue;
        };
        compare_rows(section, actual, &rows, &mut differences);
    }
    differences
}

/// Compares the processes' counters of times with sums of kernel times. The counters of collectives and of sends and
/// receives count each kernel once; a function's counter counts each kernel that runs the function.
pub(crate) fn compare_counters(actual: &Value, expected: &Reference) -> Vec<String> {
    let mut wanted: BTreeMap<String, f64> =
        ["nccl_collective_time", "nccl_p2p_time"].map(|name| (name.to_owned(), 0.0)).into();
    for row in &expected.operations {
        let of_kind = if row.kind == "Coll" { "nccl_collective_time" } else { "nccl_p2p_time" };
        *wanted.entry(of_kind.to_owned()).or_default() += row.kernel_once_us * 1e3;
        *wanted.entry(format!("nccl_{}_time", row.func.to_lowercase())).or_default() += row.kernel_time_us * 1e3;
    }
    let mut differences = Vec::new();
    for (counter, wanted) in wanted {
        let processes = actual["processes"].as_array().into_iter().flatten();
        let found: Option<u64> = processes.map(|process| process["counters"][&counter].as_u64()).sum();
        if found.is_none_or(|found| (found as f64 - wanted).abs() > 0.001 * wanted + 1.0) {
            differences.push(format!("{counter}: {found:?} instead of {wanted}"));
        }
    }
    differences
}

fn compare_rows(section: &str, actual: &[Value], expected: &[Row], differences: &mut Vec<String>) {
    let columns = expected.first().map(|(key, _)| key.iter().map(|&(field, _)| field).collect::<Vec<_>>());
    let Some(columns) = columns else {
        differences.extend(actual.iter().map(|row| format!("{section}: extra row {row}")));
        return;
    };
    let mut found: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
    for row in actual {
        let key = columns.iter().map(|&field| (field, row.get(field).cloned().unwrap_or(json!("absent"))));
        found.entry(name(&key.collect::<Vec<_>>())).or_default().push(row);
    }
    let wanted = expected.iter().map(|(key, _)| name(key)).collect::<BTreeSet<_>>();
    for (key, rows) in &found {
        if !wanted.contains(key) {
            differences.push(format!("{section} [{key}]: extra row"));
        } else if rows.len() > 1 {
            differences.push(format!("{section} [{key}]: {} rows instead of one", rows.len()));
        }
    }
    for (key, fields) in expected {
        let key = name(key);
        match found.get(&key).and_then(|rows| rows.first()) {
            Some(row) => check_fields(row, fields, &format!("{section} [{key}]"), differences),
            None => differences.push(format!("{section} [{key}]: missing row")),
        }
    }
}

fn name(key: &[(&'static str, Value)]) -> String {
    key.iter().map(|(field, value)| format!("{field}={value}")).collect::<Vec<_>>().join(" ")
}

fn check_fields(actual: &Value, fields: &[(&'static str, Expected)], place: &str, differences: &mut Vec<String>) {
    for (field, expected) in fields {
        match actual.get(field) {
            Some(value) => check(value, expected, &format!("{place}.{field}"), differences),
            None => differences.push(format!("{place}.{field}: is absent")),
        }
    }
}

fn check(actual: &Value, expected: &Expected, place: &str, differences: &mut Vec<String>) {
    match expected {
        Exactly(value) if actual == value => {}
        Exactly(value) => differences.push(format!("{place}: {actual} instead of {value}")),
        Time(value) => check_near(actual, *value, 1e-3, place, differences),
        Fitted(value) => check_near(actual, *value, 1e-6, place, differences),
        Error(value, of) => {
            if !actual.as_f64().is_some_and(|actual| (actual - value).abs() <= 1e-6 * of.abs()) {
                differences.push(format!("{place}: {actual} instead of {value} (within 1e-6 of {of})"));
            }
        }
        Object(fields) if actual.is_object() => check_fields(actual, fields, place, differences),
        Object(_) => differences.push(format!("{place}: {actual} instead of an object")),
        Untimed(expected) => {
            let counts = REASONS.map(|reason| actual[reason].as_u64());
            if counts.into_iter().sum::<Option<u64>>() != Some(*expected as u64) {
                differences.push(format!("{place}: {actual} instead of {expected} in all"));
            }
        }
        AnyCount if actual.is_u64() => {}
        AnyCount => differences.push(format!("{place}: {actual} instead of a count")),
    }
}

fn check_near(actual: &Value, expected: f64, tolerance: f64, place: &str, differences: &mut Vec<String>) {
    let near = |actual: f64| (actual - expected).abs() <= (expected.abs() * tolerance).max(FLOOR);
    if !actual.as_f64().is_some_and(near) {
        differences.push(format!("{place}: {actual} instead of {expected} (within {tolerance})"));
    }
}

/// Expects null if there is no value.
fn or_null<T>(value: Option<T>, expected: impl Fn(T) -> Expected) -> Expected {
    value.map_or(Exactly(Value::Null), expected)
}

fn fit(fit: Option<Fit>) -> Expected {
    or_null(fit, |fit| {
        Object(vec![
            ("latency_us", or_null(fit.latency_us, Fitted)),
            ("latency_error_us", Error(fit.latency_error_us, fit.latency_us.unwrap_or(fit.latency_error_us))),
            ("rate_mb_s", Fitted(fit.rate_mb_s)),
            ("rate_error_mb_s", Error(fit.rate_error_mb_s, fit.rate_mb_s)),
            ("r2", Fitted(fit.r2)),
            ("n", Exactly(json!(fit.n))),
        ])
    })
}

/// The chance is a sum of a density, so its error is that of the sum.
fn channel_fits(compared: Option<&ChannelsCompared>) -> Expected {
    or_null(compared, |compared| {
        let is_alike = compared.chance >= 0.001;
        let mut fields = vec![
            ("alike", Exactly(json!(is_alike))),
            ("chance", Time(compared.chance)),
            ("mean_rate_mb_s", or_null(is_alike.then_some(compared.mean_rate_mb_s), Fitted)),
        ];
        fields.extend(
            [("compared", compared.channels), ("left_out", compared.left_out), ("sizes", compared.sizes)]
                .map(|(field, number)| (field, Exactly(json!(number)))),
        );
        if is_alike {
            fields.push(("merged", fit(compared.together)));
        }
        Object(fields)
    })
}

fn sections(reference: &Reference) -> [(&'static str, Vec<Row>); 7] {
    [
        ("processes", processes(reference)),
        ("communicators", communicators(reference)),
        ("operations", operations(reference)),
        ("transfers", transfers(reference)),
        ("channels", channels(reference)),
        ("states", states(reference)),
        ("operation_transfers", operation_transfers(reference)),
    ]
}

fn processes(reference: &Reference) -> Vec<Row> {
    let row = |row: &super::ProcessRow| {
        let fields = vec![
            ("pid", AnyCount),
            ("callbacks", Exactly(json!(row.callbacks))),
            ("events", Exactly(json!(row.events))),
            ("windows", AnyCount),
            ("dropped", Exactly(json!(row.dropped))),
            ("unfinished", Exactly(json!(row.unfinished))),
            ("invisible", Exactly(json!(row.invisible))),
            ("out_of_step", Exactly(json!(row.out_of_step))),
            ("ignored_handles", Exactly(json!(row.ignored_handles))),
            ("peak_memory_bytes", AnyCount),
            ("untimed", Untimed(row.untimed)),
        ];
        (vec![("process", json!(row.process))], fields)
    };
    reference.processes.iter().map(row).collect()
}

fn communicators(reference: &Reference) -> Vec<Row> {
    let row = |row: &super::CommunicatorRow| {
        let ranks = row.ranks.iter().map(|(rank, process)| json!({"rank": rank, "process": process}));
        let fields = vec![
            ("nranks", Exactly(json!(row.nranks))),
            ("nnodes", Exactly(json!(row.nnodes))),
            ("name", Exactly(json!(row.name))),
            ("ranks", Exactly(ranks.collect())),
        ];
        (vec![("comm", json!(row.comm))], fields)
    };
    reference.communicators.iter().map(row).collect()
}

fn operations(reference: &Reference) -> Vec<Row> {
    let row = |row: &super::OperationRow| {
        let key = vec![
            ("comm", json!(row.comm)),
            ("rank", json!(row.rank)),
            ("kind", json!(row.kind)),
            ("func", json!(row.func)),
            ("peer", json!(row.peer)),
        ];
        let fields = vec![
            ("count", Exactly(json!(row.count))),
            ("bytes", Exactly(json!(row.bytes))),
            ("gpu_timed", Exactly(json!(row.gpu_timed))),
            ("event_timed", Exactly(json!(row.event_timed))),
            ("time_us", Time(row.time_us)),
            ("kernel_time_us", Time(row.kernel_time_us)),
            ("kernel_once_us", Time(row.kernel_once_us)),
            ("min_us", or_null(row.min_us, Time)),
            ("max_us", or_null(row.max_us, Time)),
        ];
        (key, fields)
    };
    reference.operations.iter().map(row).collect()
}

fn transfers(reference: &Reference) -> Vec<Row> {
    let row = |row: &super::TransferRow| {
        let key = vec![("comm", json!(row.comm)), ("rank", json!(row.rank)), ("peer", json!(row.peer))];
        let fields = vec![
            ("transfers", Exactly(json!(row.transfers))),
            ("bytes", Exactly(json!(row.bytes))),
            ("sizes", Exactly(json!(row.sizes))),
            ("channels", Exactly(json!(row.channels))),
            ("active_us", Time(row.active_us)),
            ("sustained_rate_mb_s", or_null(row.sustained_rate_mb_s, Time)),
            ("typical_rate_mb_s", or_null(row.typical_rate_mb_s, Time)),
            ("mean_in_flight", Fitted(row.mean_in_flight)),
            ("max_in_flight", Exactly(json!(row.max_in_flight))),
            ("fit", fit(row.fit)),
            ("channel_fits", channel_fits(row.compared.as_ref())),
        ];
        (key, fields)
    };
    reference.transfers.iter().map(row).collect()
}

fn channels(reference: &Reference) -> Vec<Row> {
    let row = |row: &super::ChannelRow| {
        let key = vec![
            ("comm", json!(row.comm)),
            ("rank", json!(row.rank)),
            ("peer", json!(row.peer)),
            ("channel", json!(row.channel)),
        ];
        let fields = vec![
            ("transfers", Exactly(json!(row.transfers))),
            ("bytes", Exactly(json!(row.bytes))),
            // not a time, but a quotient of two exact numbers
            ("mean_size_bytes", Fitted(row.mean_size_bytes)),
            ("mean_time_us", Time(row.mean_time_us)),
        ];
        (key, fields)
    };
    reference.channels.iter().map(row).collect()
}

fn states(reference: &Reference) -> Vec<Row> {
    let row = |row: &super::StateRow| {
        let key = vec![
            ("comm", json!(row.comm)),
            ("rank", json!(row.rank)),
            ("peer", json!(row.peer)),
            ("direction", json!(row.direction)),
        ];
        let [queued, gpu, peer, network, flush] = row.times_us;
        let fields = vec![
            ("transfers", Exactly(json!(row.transfers))),
            ("bytes", Exactly(json!(row.bytes))),
            ("queued_us", or_null(queued, Time)),
            ("gpu_us", or_null(gpu, Time)),
            ("peer_us", or_null(peer, Time)),
            ("network_us", or_null(network, Time)),
            ("flush_us", or_null(flush, Time)),
        ];
        (key, fields)
    };
    reference.states.iter().map(row).collect()
}

fn operation_transfers(reference: &Reference) -> Vec<Row> {
    let row = |((comm, rank, kind, func, from), row): (&super::SizeKey, &super::OperationTransfersRow)| {
        let key = vec![
            ("comm", json!(comm)),
            ("rank", json!(rank)),
            ("kind", json!(kind)),
            ("func", json!(func)),
            ("from_bytes", json!(from)),
        ];
        let fields = vec![
            ("operations", Exactly(json!(row.operations))),
            ("transfers", Exactly(json!(row.transfers))),
            ("bytes", Exactly(json!(row.bytes))),
            ("time_us", Time(row.time_us)),
        ];
        (key, fields)
    };
    reference.operation_transfers.iter().map(row).collect()
}
