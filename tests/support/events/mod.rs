//! The host of tests/cuda_events and tests/cuda_failures.rs (tests/c/cuda/events_host.c): one process a scenario. It
//! prints each operation with what times it, from when to when by true time; the summary must say the same.
#![allow(dead_code, reason = "each test target uses a part of its own")]

use crate::host::Run;
use crate::tool;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

/// The versions of the interface that tell of launches.
pub(crate) const WITH_EVENTS: [u32; 3] = [5, 6, 7];
/// How long one scenario may take.
const PATIENCE: Duration = Duration::from_secs(100);
/// By how much a time may be off for want of digits, microseconds.
const TOLERANCE: f64 = 0.3;
/// Why an operation has no time of the GPU's.
const CAUSES: [&str; 5] = ["graph", "no_event", "cuda_failed", "not_chosen", "not_believed"];

/// A scenario to be played.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    name: &'static str,
    version: u32,
    number: i64,
    driver: &'static str,
    settings: BTreeMap<String, String>,
}

/// A scenario through a version of the interface, with kernel stamps in every release and the stand-in for CUDA's
/// driver.
pub(crate) fn of(name: &'static str, version: u32) -> Scenario {
    let settings =
        [("NCCL_ALLGATHERV_ENABLE", "0"), ("NCCL_SCOREP_TICK_RATE", "1e9"), ("NCCL_SCOREP_SETTLE_SECONDS", "0.001")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    Scenario { name, version, number: 0, driver: env!("CUDA_STAND_IN"), settings }
}

impl Scenario {
    pub(crate) fn number(mut self, number: i64) -> Self {
        self.number = number;
        self
    }

    pub(crate) fn setting(mut self, name: &str, value: &str) -> Self {
        self.settings.insert(name.to_owned(), value.to_owned());
        self
    }

    pub(crate) fn gpu_time(self, value: &str) -> Self {
        self.setting("NCCL_SCOREP_GPU_TIME", value)
    }

    pub(crate) fn without_setting(mut self, name: &str) -> Self {
        self.settings.remove(name);
        self
    }

    pub(crate) fn without_driver(mut self) -> Self {
        self.driver = "none";
        self
    }

    /// With a driver before CUDA 11.1.
    pub(crate) fn with_old_driver(mut self) -> Self {
        self.driver = env!("OLD_CUDA_STAND_IN");
        self
    }

    /// In a process that Score-P measures: its CUDA adapter knows the threads of the program alone.
    pub(crate) fn under_score_p(mut self) -> Self {
        self.driver = env!("WATCHED_CUDA_STAND_IN");
        self
    }

    fn what(&self) -> String {
        let Self { name, version, number, settings, .. } = self;
        format!("{name} {number}, v{version}, {settings:?}")
    }

    /// The process, what it says going to files of that directory.
    fn process(&self, directory: &Path) -> Output {
        let Self { name, version, number, driver, settings } = self;
        let mut command = tool::host(env!("HOST_EVENTS_HOST"));
        command.arg(tool::library()).arg(driver);
        command.args([&version.to_string(), *name, &number.to_string()]);
        command.env_remove("RUST_BACKTRACE").env_remove("CUDA_DEVICE_MAX_CONNECTIONS");
        command.env("NCCL_SCOREP_SUMMARY", directory.join("%p.json")).envs(settings);
        let path = |name: &str| directory.join(name);
        let file = |name: &str| Stdio::from(std::fs::File::create(path(name)).unwrap());
        let status = tool::ends(command.stdout(file("stdout")).stderr(file("stderr")), PATIENCE, &self.what());
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| std::fs::read(path(name)).unwrap());
        Output { status, stdout, stderr }
    }

    /// Runs it, however it ends.
    pub(crate) fn run(&self) -> Output {
        self.process(tempfile::tempdir().unwrap().path())
    }

    /// Plays it to its end.
    pub(crate) fn play(&self) -> Played {
        let directory = tempfile::tempdir().unwrap();
        let (what, output) = (self.what(), self.process(directory.path()));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{what}: {}\n{said}", output.status);
        let printed = String::from_utf8(output.stdout.clone()).unwrap();
        Played { run: Run { what, output, summaries: summaries(directory.path()) }, printed }
    }
}

fn summaries(directory: &Path) -> Vec<Value> {
    let paths = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

/// One process of the host, and what it printed.
pub(crate) struct Played {
    run: Run,
    printed: String,
}

/// What a row of the summary must say: the operations that are timed by one source or another.
#[derive(Debug, Default)]
struct Row {
    enqueue: u64,
    stamps: u64,
    events: u64,
    either: u64,
    /// Microseconds that each GPU-timed one takes at least and at most.
    times: Vec<(f64, f64)>,
    /// From when to when, true time, of those that events alone time.
    intervals: Vec<(u64, u64)>,
}

impl Row {
    fn add(&mut self, source: &str, [begin, end, slack]: [u64; 3]) {
        match source {
            "enqueue" => self.enqueue += 1,
            "stamps" => self.stamps += 1,
            "events" => {
                self.events += 1;
                self.intervals.push((begin, end));
            }
            _ => self.either += 1,
        }
        if source != "enqueue" {
            let lasts = end - begin;
            self.times.push((lasts.saturating_sub(slack) as f64 / 1e3, lasts as f64 / 1e3));
        }
    }

    /// What differs in the summary's row, where times may be off by some microseconds. With `any`, any of the
    /// operations may be timed by any of the sources.
    fn wrong(&self, row: &Value, tolerance: f64, any: bool) -> Vec<String> {
        let field = |name: &str| row[name].as_u64().unwrap();
        let time = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
        let mut wrong = Vec::new();
        let mut hold = |right: bool, what: &str| {
            if !right {
                wrong.push(format!("{what}: {row} {:?}", (self.enqueue, self.stamps, self.events, self.either)));
            }
        };
        let (count, gpu) =
            (self.enqueue + self.stamps + self.events + self.either, self.stamps + self.events + self.either);
        hold(field("count") == count, "count");
        hold(field("gpu_timed") + field("enqueue_timed") + field("proxy_timed") == count, "all are timed once");
        hold(field("event_timed") <= field("gpu_timed"), "events are of the GPU");
        let between = |value: f64, least: f64, most: f64| least - tolerance <= value && value <= most + tolerance;
        let least = |of: fn(f64, f64) -> f64| self.times.iter().map(|times| times.0).reduce(of);
        let most = |of: fn(f64, f64) -> f64| self.times.iter().map(|times| times.1).reduce(of);
        let timed = field("gpu_timed") > 0;
        // a maximum of some operations may be that of the first ones
        let most_are = timed && field("gpu_timed") * 10 >= count * 9;
        hold(most_are == row["max_us"].is_number(), "the longest time where it is that of nearly all");
        if any {
            if let (Some(least), Some(most), true) = (least(f64::min), most(f64::max), timed) {
                hold(between(time("min_us"), least, most), "the shortest time");
                hold(!most_are || between(time("max_us"), least, most), "the longest time");
            }
            return wrong;
        }
        hold(field("gpu_timed") == gpu, "timed by the GPU");
        hold((self.events..=self.events + self.either).contains(&field("event_timed")), "timed by events");
        hold(timed == row["min_us"].is_number(), "a shortest time where there are some");
        if let (Some(shortest), Some(short), Some(long), Some(longest)) =
            (least(f64::min), most(f64::min), least(f64::max), most(f64::max))
        {
            hold(between(time("min_us"), shortest, short), &format!("the shortest time is {shortest} to {short}"));
            hold(
                !most_are || between(time("max_us"), long, longest),
                &format!("the longest time is {long} to {longest}"),
            );
            let [least, most] =
                [0, 1].map(|place| self.times.iter().map(|times| [times.0, times.1][place]).sum::<f64>());
            let off = tolerance * (self.times.len() as f64 - 1.0);
            hold(between(time("time_us"), least - off, most + off), &format!("all times are {least} to {most}"));
        }
        wrong
    }
}

/// Nanoseconds with at least one of them under way.
fn union(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.sort_unstable();
    let (mut sum, mut until) = (0, 0);
    for (begin, end) in intervals {
        sum += end.saturating_sub(begin.max(until));
        until = until.max(end);
    }
    sum
}

impl Played {
    pub(crate) fn what(&self) -> &str {
        &self.run.what
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        self.run.lines()
    }

    /// Whether the host printed that line.
    pub(crate) fn says(&self, line: &str) -> bool {
        self.printed.lines().any(|printed| printed == line)
    }

    /// The number that the host printed under that name.
    pub(crate) fn number(&self, name: &str) -> u64 {
        let mut lines = self.printed.lines().filter_map(|line| line.split_once(' '));
        lines.find(|(found, _)| *found == name).unwrap().1.parse().unwrap()
    }

    pub(crate) fn summary(&self) -> &Value {
        assert_eq!(self.run.summaries.len(), 1, "{}", self.what());
        &self.run.summaries[0]
    }

    fn sum(&self, field: &str) -> u64 {
        self.summary()["operations"].as_array().unwrap().iter().map(|row| row[field].as_u64().unwrap()).sum()
    }

    pub(crate) fn gpu_timed(&self) -> u64 {
        self.sum("gpu_timed")
    }

    pub(crate) fn event_timed(&self) -> u64 {
        self.sum("event_timed")
    }

    /// Operations without a time of the GPU's, for that reason.
    pub(crate) fn untimed_for(&self, cause: &str) -> u64 {
        self.summary()["processes"][0]["untimed"][cause].as_u64().unwrap()
    }

    /// For whatever reason.
    pub(crate) fn untimed(&self) -> u64 {
        CAUSES.iter().map(|cause| self.untimed_for(cause)).sum()
    }

    /// What the host says must be so, and what is so whatever happened.
    pub(crate) fn check(&self) {
        self.check_within(TOLERANCE);
    }

    /// The same, where times may be off by so many microseconds.
    pub(crate) fn check_within(&self, tolerance: f64) {
        let ours = |line: &String| line.starts_with("scorep-nccl: warning: ");
        assert!(self.lines().iter().all(ours), "{}: {:?}", self.what(), self.lines());
        if self.says("unknown") {
            assert!(self.run.summaries.len() + self.lines().len() == 1, "{}: {:?}", self.what(), self.lines());
            return;
        }
        self.run.check();
        let mut wrong = self.wrong_rows(tolerance);
        wrong.extend(self.wrong_causes());
        assert!(wrong.is_empty(), "{}:\n{}\n{}", self.what(), wrong.join("\n"), self.lines().join("\n"));
    }

    /// The rows that the host tells of: communicator, rank, kind, function, peer.
    fn expected(&self) -> BTreeMap<Vec<&str>, Row> {
        let mut rows: BTreeMap<Vec<&str>, Row> = BTreeMap::new();
        for line in self.printed.lines().filter_map(|line| line.strip_prefix("op\t")) {
            let fields: Vec<&str> = line.split('\t').collect();
            let numbers = [6, 7, 8].map(|place| fields[place].parse().unwrap());
            rows.entry(fields[..5].to_vec()).or_default().add(fields[5], numbers);
        }
        rows
    }

    fn wrong_rows(&self, tolerance: f64) -> Vec<String> {
        let expected = self.expected();
        let any = self.says("any");
        let rows = self.summary()["operations"].as_array().unwrap();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let key =
            |row: &Value| ["comm", "rank", "kind", "func", "peer"].map(|name| text(&row[name]).replace("null", "-1"));
        let found: BTreeMap<[String; 5], &Value> = rows.iter().map(|row| (key(row), row)).collect();
        let mut wrong = Vec::new();
        for (key, row) in &expected {
            match found.iter().find(|(found, _)| found.iter().eq(key.iter())) {
                Some((_, found)) => wrong.extend(row.wrong(found, tolerance, any)),
                None => wrong.push(format!("there is no row {key:?}")),
            }
        }
        if found.len() != expected.len() {
            wrong.push(format!("{} rows, not {}", found.len(), expected.len()));
        }
        // with one communicator and events alone it is known when the GPU is at work
        let only_events =
            expected.values().all(|row| row.stamps + row.either == 0 && row.events as usize == row.times.len());
        let communicators: std::collections::BTreeSet<_> = expected.keys().map(|key| (key[0], key[1])).collect();
        if only_events && communicators.len() == 1 && !any {
            let slack: f64 = expected.values().flat_map(|row| &row.times).map(|(least, most)| most - least).sum();
            let busy = union(expected.into_values().flat_map(|row| row.intervals).collect());
            let found = self.summary()["processes"][0]["counters"]["nccl_busy_time"].as_u64().unwrap();
            let off = (tolerance * self.gpu_timed() as f64 + slack) * 1e3;
            if found.abs_diff(busy) as f64 > off {
                wrong.push(format!("the GPU is at work for {found} ns, not {busy}"));
            }
        }
        wrong
    }

    /// What the summary says of operations without a time of the GPU's.
    fn wrong_causes(&self) -> Vec<String> {
        let counters = &self.summary()["processes"][0]["counters"];
        let found = |cause: &str| Some(self.untimed_for(cause));
        let mut wrong = Vec::new();
        for cause in CAUSES {
            let wanted = self.printed.lines().find_map(|line| line.strip_prefix(&format!("untimed {cause} ")));
            let wanted: Option<u64> = wanted.map(|wanted| wanted.parse().unwrap());
            if wanted.is_some() && wanted != found(cause) {
                wrong.push(format!("untimed for {cause}: {:?}, not {wanted:?}", found(cause)));
            }
            if counters[&format!("nccl_untimed_{cause}")].as_u64() != found(cause) {
                wrong.push(format!(
                    "nccl_untimed_{cause} is {}, not {:?}",
                    counters[&format!("nccl_untimed_{cause}")],
                    found(cause)
                ));
            }
        }
        // a kernel counts once, and no other time among those of kernels
        let sum_of = |counter: &str| counters[counter].as_u64().unwrap() as f64 / 1e3;
        let rows = self.summary()["operations"].as_array().unwrap();
        let of_rows = |field: &str| rows.iter().map(|row| row[field].as_f64().unwrap()).sum::<f64>();
        let kernels = sum_of("nccl_collective_time") + sum_of("nccl_p2p_time");
        for (field, found) in [("kernel_once_us", kernels), ("enqueue_time_us", sum_of("nccl_enqueue_time"))] {
            if (found - of_rows(field)).abs() > 0.002 * self.sum("count") as f64 {
                wrong.push(format!("{field}: {found}, not {}", of_rows(field)));
            }
        }
        let of_operations =
            [("nccl_ops", "count"), ("nccl_gpu_timed_ops", "gpu_timed"), ("nccl_event_timed_ops", "event_timed")];
        for (counter, field) in of_operations {
            if counters[counter] != self.sum(field) {
                wrong.push(format!("{counter} is {}, not {}", counters[counter], self.sum(field)));
            }
        }
        wrong
    }
}
