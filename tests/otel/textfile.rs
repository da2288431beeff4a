//! Figures in textfiles: those of the summary of the same replay, and what promtool, node_exporter and Prometheus make
//! of them.

use crate::figures::{self, RUNS};
use crate::points::{Labels, Point};
use crate::prometheus::{self, Daemon};
use crate::receiver::Receiver;
use crate::support::{host, tool};
use crate::text;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Names that differ from what OTLP's receivers make of OpenTelemetry's, for the sake of base units: the end of the
/// one, and of the other; and how many of the latter's unit are one of the former's.
const BASE_UNITS: [(&str, &str, f64); 3] =
    [("_time_seconds", "_time", 1e6), ("_latency_seconds", "_latency", 1e6), ("_rate_bytes_per_second", "_rate", 1e-6)];

fn replay(source: &Path, directory: &Path) -> Command {
    let mut command = tool::tool();
    command.arg("replay").arg(source).args(["--format", "json"]).env("NCCL_SCOREP_PROM_DIR", directory);
    // what else is to be known stands in the summary
    command.env("NCCL_SCOREP_LOG", "off");
    command
}

/// The whole files of a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    found.sort();
    assert!(found.iter().all(|path| path.extension().is_some_and(|ending| ending == "prom")), "{found:?}");
    found
}

/// A point under its name over OpenTelemetry and in the unit there.
fn over_opentelemetry(mut point: Point) -> Option<Point> {
    let name = point.name.strip_suffix("_total").unwrap_or(&point.name).to_owned();
    point.labels.remove("process");
    if name == "nccl_process_info" {
        return None;
    }
    let converted = BASE_UNITS
        .iter()
        .find_map(|(ours, theirs, scale)| Some((format!("{}{theirs}", name.strip_suffix(ours)?), *scale)));
    let (name, scale) = converted.unwrap_or_else(|| {
        // a unit that is behind the name, where it is no word of it
        let plain = [
            "_size_bytes",
            "_num_transfers_count",
            "_dropped_count",
            "_incomplete_count",
            "_ops_count",
            "_step_count",
            "_failed_count",
            "_launches_count",
            "_state_transfers_count",
            "_progress_entries_count",
            "_network_events_count",
        ];
        let is_plain = name.starts_with("nccl_untimed_") || plain.iter().any(|ending| name.ends_with(ending));
        let unit = is_plain.then(|| name.rsplit_once('_').unwrap().0.to_owned());
        (unit.unwrap_or(name), 1.0)
    });
    let bounds = point.bounds.iter().map(|bound| bound * scale).collect();
    Some(Point { name, sum: point.sum * scale, bounds, ..point })
}

fn converted(directory: &Path) -> Vec<Point> {
    files(directory).iter().flat_map(|path| text::points(path)).filter_map(over_opentelemetry).collect()
}

#[test]
fn they_are_the_summarys() {
    for run in RUNS {
        let directory = tempfile::tempdir().unwrap();
        let summary = tool::summary(&mut replay(&tool::run(run), directory.path()));
        assert_eq!(files(directory.path()).len(), summary["processes"].as_array().unwrap().len(), "{run}");
        let found = figures::found(&converted(directory.path()));
        assert_eq!(figures::differences(&found, &figures::expected(&summary)), Vec::<String>::new(), "{run}");
    }
}

/// The threads that progress proxy operations, and the events of network plugins.
#[test]
fn those_of_the_network_are_the_summarys() {
    for (scenario, start) in [("progress_threads", "nccl_progress_"), ("network_plugins", "nccl_network_")] {
        let directory = tempfile::tempdir().unwrap();
        let place = directory.path().to_str().unwrap();
        let run = host::play(scenario, 7, &[("NCCL_SCOREP_PROM_DIR", place)], 0);
        let [mut found, mut expected] =
            [figures::found(&converted(directory.path())), figures::expected(&run.summaries[0])];
        for rows in [&mut found, &mut expected] {
            rows.retain(|(name, _), _| name.starts_with(start));
        }
        assert!(expected.len() > 2, "{scenario}: {expected:?}");
        assert_eq!(figures::differences(&found, &expected), Vec::<String>::new(), "{scenario}");
    }
}

/// With both, each of them has all; also those figures that no summary has.
#[test]
fn they_are_those_over_opentelemetry() {
    let receiver = Receiver::good();
    let directory = tempfile::tempdir().unwrap();
    let mut command = replay(&tool::run("nodes2x2_collectives"), directory.path());
    tool::succeed(command.args(["--otlp", &receiver.endpoint()]));
    let sent = receiver.requests().into_iter().flat_map(|request| crate::points::of(&request));
    let key = |point: &Point| format!("{} {:?} {:?}", point.name, point.labels, point.count);
    let mut sent: Vec<Point> = sent.collect();
    let mut written = converted(directory.path());
    // no label over OpenTelemetry says which process a point is of: then the sums do
    for points in [&mut sent, &mut written] {
        points.sort_by(|one, other| key(one).cmp(&key(other)).then(one.sum.total_cmp(&other.sum)));
    }
    assert!(sent.len() > 100 && written.iter().map(key).eq(sent.iter().map(key)));
    let is_close = |one: f64, other: f64| (one - other).abs() <= 1e-12 * other.abs();
    for (written, sent) in written.iter().zip(&sent) {
        assert!(is_close(written.sum, sent.sum), "{written:?} {sent:?}");
        assert_eq!(written.bounds.len(), sent.bounds.len());
        assert!(
            written.bounds.iter().zip(&sent.bounds).all(|(&one, &other)| is_close(one, other)),
            "{written:?} {sent:?}"
        );
    }
}

#[test]
fn promtool_has_nothing_to_say() {
    if prometheus::installed(&["promtool"]).is_none() {
        return;
    }
    for run in RUNS {
        let directory = tempfile::tempdir().unwrap();
        tool::succeed(&mut replay(&tool::run(run), directory.path()));
        for file in files(directory.path()) {
            let checked = prometheus::promtool(&file);
            let said = [checked.stdout, checked.stderr].concat();
            assert!(checked.status.success() && said.is_empty(), "{run}: {}", String::from_utf8_lossy(&said));
        }
    }
}

/// All of node_exporter's lines of that name; it must be content with the directory.
fn exported(directory: &Path, name: &str) -> Option<Vec<text::Line>> {
    let exporter = Daemon::node_exporter(directory)?;
    let answer = exporter.get("/metrics").unwrap();
    assert!(answer.contains("\nnode_textfile_scrape_error 0\n"), "{answer}");
    // what is there twice is left out, and nothing but the log tells
    assert!(!exporter.log().contains("level=error"), "{}", exporter.log());
    let ours: Vec<&str> = answer.lines().filter(|line| line.starts_with(&format!("{name}{{"))).collect();
    Some(text::lines(&ours.join("\n")))
}

/// Ranks and communicators are the same, also the sum of all that are past labels of their own.
#[test]
fn processes_with_equal_labels_are_kept_apart() {
    let directory = tempfile::tempdir().unwrap();
    let capture = tool::captures(&tool::run("net2_collectives")).remove(0);
    for _ in 0..2 {
        tool::succeed(&mut replay(&capture, directory.path()));
        let mut host = tool::host(env!("HOST_MEMORY_HOST"));
        host.arg(tool::library()).args(["7", "destroyed", "1"]).env("NCCL_ALLGATHERV_ENABLE", "0");
        tool::succeed(host.env("NCCL_SCOREP_PROM_DIR", directory.path()).env("NCCL_SCOREP_SETTLE_SECONDS", "0.001"));
    }
    assert_eq!(files(directory.path()).len(), 4);
    let Some(lines) = exported(directory.path(), "nccl_profiler_collective_bytes_total") else { return };
    let others = lines.iter().filter(|line| line.labels["communicator"] == "others").count();
    let without_process = |line: &text::Line| {
        let mut labels = line.labels.clone();
        labels.remove("process");
        labels
    };
    let distinct: BTreeSet<Labels> = lines.iter().map(without_process).collect();
    assert!(
        others == 2 && distinct.len() > 100 && lines.len() == 2 * distinct.len(),
        "{others} {} {}",
        distinct.len(),
        lines.len()
    );
}

/// In containers on one machine processes have the same number, too.
#[test]
fn processes_with_equal_numbers_are_kept_apart() {
    let may = Command::new("unshare").args(["--pid", "--fork", "true"]).stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        return tool::skip("no namespaces of processes may be made here");
    }
    let directory = tempfile::tempdir().unwrap();
    let capture = tool::captures(&tool::run("net2_collectives")).remove(0);
    // each lives until it is told to end, so that the two are not one after the other with one number
    let script = r#""$@" > /dev/null; echo done; read -r _"#;
    let arguments = ["--pid", "--fork", "sh", "-c", script, "sh"].map(OsStr::new);
    let mut containers = [(); 2].map(|()| {
        let mut command = tool::within("unshare", &arguments, &replay(&capture, directory.path()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap()
    });
    for container in &mut containers {
        let mut said = [0; 5];
        container.stdout.as_mut().unwrap().read_exact(&mut said).unwrap();
        assert_eq!(&said, b"done\n");
    }
    for container in containers {
        container.wait_with_output().unwrap();
    }
    assert_eq!(files(directory.path()).len(), 2);
    let Some(lines) = exported(directory.path(), "nccl_exports_failed_count_total") else { return };
    let numbers: BTreeSet<&str> = lines.iter().filter_map(|line| line.labels["process"].split('-').next()).collect();
    assert!(numbers.len() == 1 && lines.len() == 2, "{lines:?}");
}

#[test]
fn prometheus_has_the_summarys_figures() {
    let directory = tempfile::tempdir().unwrap();
    let summary = tool::summary(&mut replay(&tool::run("nodes2x2_collectives"), directory.path()));
    let Some(exporter) = Daemon::node_exporter(directory.path()) else { return };
    let Some(prometheus) = Daemon::prometheus(&exporter) else { return };
    let rows = |table: &str| summary[table].as_array().unwrap().clone();
    for row in rows("operations").iter().filter(|row| row["kind"] == "Coll") {
        let [comm, func] = ["comm", "func"].map(|field| row[field].as_str().unwrap());
        let labels = format!("{{communicator=\"{comm}\",operation=\"{func}\",rank=\"{}\"}}", row["rank"]);
        for (name, field) in [("bytes_total", "bytes"), ("count_sum", "count")] {
            let of_all = rows("operations");
            let same = |other: &&Value| ["comm", "rank", "func"].iter().all(|field| other[*field] == row[*field]);
            let expected: u64 = of_all.iter().filter(same).map(|row| row[field].as_u64().unwrap()).sum();
            let found = prometheus.query(&format!("nccl_profiler_collective_{name}{labels}"));
            assert!(
                found.len() == 1 && found[0].1 == expected as f64,
                "{name}{labels}: {found:?}, the summary has {expected}"
            );
        }
    }
    let sent: u64 = rows("transfers").iter().map(|row| row["bytes"].as_u64().unwrap()).sum();
    assert_eq!(prometheus.query("sum(nccl_profiler_rank_bytes_total)")[0].1, sent as f64);
    // a mean time in seconds, from what the histogram has
    let means = prometheus
        .query("sum(nccl_profiler_transfer_time_seconds_sum) / sum(nccl_profiler_transfer_time_seconds_count)");
    let of_channels = rows("channels");
    let number = |row: &Value, field: &str| row[field].as_f64().unwrap();
    let count: f64 = of_channels.iter().map(|row| number(row, "transfers")).sum();
    let mean =
        of_channels.iter().map(|row| number(row, "transfers") * number(row, "mean_time_us")).sum::<f64>() / count / 1e6;
    assert!((means[0].1 - mean).abs() < 1e-9 * mean, "{means:?}, the summary has {mean}");
}

#[test]
fn job_task_and_gpu_are_told_once_a_process() {
    let directory = tempfile::tempdir().unwrap();
    let capture = tool::captures(&tool::run("net2_single")).remove(0);
    let told =
        [("SLURM_JOB_ID", "17"), ("SLURM_PROCID", "3"), ("SLURM_LOCALID", "1"), ("CUDA_VISIBLE_DEVICES", "GPU-\"1\"")];
    tool::succeed(replay(&capture, directory.path()).envs(told));
    let written = std::fs::read_to_string(&files(directory.path())[0]).unwrap();
    let infos: Vec<&str> = written.lines().filter(|line| line.starts_with("nccl_process_info{")).collect();
    assert_eq!(infos.len(), 1);
    for label in [r#"slurm_job_id="17""#, r#"slurm_procid="3""#, r#"local_rank="1""#, r#"gpu_uuid="GPU-\"1\"""#] {
        assert!(infos[0].contains(label), "{} {label}", infos[0]);
    }
}

/// The directory as other paths: %h and %p stand for host and process; and the file for all to read, whatever the job
/// keeps to itself.
#[test]
fn the_file_is_for_all_to_read_where_the_setting_says() {
    let directory = tempfile::tempdir().unwrap();
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let own = directory.path().join(host.trim());
    std::fs::create_dir(&own).unwrap();
    let capture = tool::captures(&tool::run("net2_single")).remove(0);
    let replay = replay(&capture, &directory.path().join("%h"));
    let arguments = ["-c", r#"umask 077; exec "$@""#, "sh"].map(OsStr::new);
    let summary = tool::summary(&mut tool::within("sh", &arguments, &replay));
    let found = files(&own);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].metadata().unwrap().permissions().mode() & 0o777, 0o644);
    let name = found[0].file_name().unwrap().to_str().unwrap();
    let start = format!("scorep-nccl_{}_{}", host.trim(), summary["processes"][0]["pid"]);
    assert!(name.strip_prefix(&start).is_some_and(|rest| rest == ".prom" || rest.starts_with('-')), "{name}");
}
