//! A scenario that was played: what the host printed, and what differs in the summary.

use super::row::{Row, union};
use crate::support::host::Run;
use serde_json::Value;
use std::collections::BTreeMap;

/// By how much a time may be off for want of digits, microseconds.
const TOLERANCE: f64 = 0.3;
/// Why an operation has no time of the GPU's.
const CAUSES: [&str; 5] = ["graph", "no_event", "cuda_failed", "not_chosen", "not_believed"];

/// One process of the host, and what it printed.
pub(crate) struct Played {
    pub(super) run: Run,
    pub(super) printed: String,
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
            // threads at full speed may leave no room, which lines say beside the summary
            let of_drops = ["events were dropped for want of room", "found no room in the recording memory"];
            let is_other = |line: &&String| !of_drops.iter().any(|text| line.contains(text));
            let others = self.lines().iter().filter(is_other).count();
            assert!(self.run.summaries.len() + others == 1, "{}: {:?}", self.what(), self.lines());
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
