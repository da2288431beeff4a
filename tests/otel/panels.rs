//! What each panel of the dashboard must show, from the summary of the same replay alone.

use crate::database::GREW;
use crate::figures;
use crate::points::Labels;
use serde_json::Value;
use std::collections::BTreeMap;

/// Values by labels.
pub(crate) type Shown = BTreeMap<Labels, f64>;

/// A label, and the field of the summary that it is made of.
type Names<'a> = &'a [(&'a str, &'a str)];

const FUNCTION: (&str, &str) = ("operation", "func");
const RANK: [(&str, &str); 2] = [("communicator", "comm"), ("rank", "rank")];
const PAIR: [(&str, &str); 3] = [("communicator", "comm"), ("source_rank", "rank"), ("dest_rank", "peer")];

/// A job that was replayed.
pub(crate) struct Job {
    pub(crate) name: &'static str,
    /// The name of the host that all of its processes have.
    pub(crate) host: String,
    pub(crate) summary: Value,
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or(0.0)
}

fn labels(row: &Value, names: Names<'_>) -> Labels {
    let text = |field: &str| row[field].as_str().map_or_else(|| row[field].to_string(), str::to_owned);
    names.iter().map(|(label, field)| ((*label).to_owned(), text(field))).collect()
}

fn sums<'a>(rows: impl IntoIterator<Item = &'a Value>, names: Names<'_>, value: impl Fn(&Value) -> f64) -> Shown {
    let mut sums = Shown::new();
    for row in rows {
        *sums.entry(labels(row, names)).or_default() += value(row);
    }
    sums
}

fn quotient(above: &Shown, below: &Shown) -> Shown {
    let below = |key: &Labels| below.get(key).copied().filter(|below| *below > 0.0);
    above.iter().filter_map(|(key, above)| Some((key.clone(), above / below(key)?))).collect()
}

impl Job {
    fn rows(&self, table: &str) -> Vec<&Value> {
        self.summary[table].as_array().unwrap().iter().collect()
    }

    fn with_host(&self, shown: Shown) -> Shown {
        let with = |mut labels: Labels| {
            labels.insert("hostname".into(), self.host.clone());
            labels
        };
        shown.into_iter().map(|(labels, value)| (with(labels), value)).collect()
    }

    fn nranks(&self, row: &Value) -> f64 {
        let communicators = self.rows("communicators");
        number(communicators.iter().find(|communicator| communicator["comm"] == row["comm"]).unwrap(), "nranks")
    }

    /// nccl-tests' factor, of the bytes that NCCL reports.
    fn factor(&self, row: &Value) -> Option<f64> {
        let others = self.nranks(row) - 1.0;
        match row["func"].as_str().unwrap() {
            "AllReduce" => Some(2.0 * others / (others + 1.0)),
            "AllGather" | "ReduceScatter" => Some(others),
            _ => None,
        }
    }

    /// Nothing, where the GPU has timed only some operations: the summary does not have their bytes.
    fn bus(&self, names: Names<'_>) -> Option<Shown> {
        let rows = self.rows("operations").into_iter().filter(|row| self.factor(row).is_some());
        let rows: Vec<&Value> = rows.collect();
        let all_timed = rows.iter().all(|row| row["gpu_timed"] == row["count"]);
        let bytes = sums(rows.iter().copied(), names, |row| number(row, "bytes") * self.factor(row).unwrap());
        // whole microseconds
        let time = sums(rows.iter().copied(), names, |row| number(row, "kernel_time_us").floor() / 1e6);
        all_timed.then(|| quotient(&bytes, &time))
    }

    /// Mean times of the collectives that no rank ends before all have begun, where all ranks are there.
    fn means(&self) -> Vec<Shown> {
        let rows = self.rows("operations").into_iter().filter(|row| self.factor(row).is_some());
        let mut groups: BTreeMap<Labels, Vec<&Value>> = BTreeMap::new();
        for row in rows.filter(|row| number(row, "gpu_timed") > 0.0) {
            groups.entry(labels(row, &[FUNCTION, RANK[0]])).or_default().push(row);
        }
        let whole = groups.into_values().filter(|rows| rows.len() as f64 == self.nranks(rows[0]));
        let means = whole.map(|rows| {
            let mean = sums(rows.iter().copied(), &[FUNCTION, RANK[0], RANK[1]], |row| {
                number(row, "time_us") / number(row, "gpu_timed") / 1e6
            });
            let with = |mut labels: Labels| {
                labels.insert("comm_nranks".into(), self.nranks(rows[0]).to_string());
                labels
            };
            mean.into_iter().map(|(labels, value)| (with(labels), value)).collect()
        });
        means.collect()
    }

    fn waits(&self) -> Shown {
        let less = |means: Shown| {
            let least = means.values().copied().fold(f64::INFINITY, f64::min);
            means.into_iter().map(move |(labels, mean)| (labels, mean - least))
        };
        self.means().into_iter().flat_map(less).collect()
    }

    fn late(&self) -> Shown {
        let of = |means: Shown| {
            let (late, least) = means.iter().min_by(|one, other| one.1.total_cmp(other.1)).unwrap();
            (late.clone(), means.values().sum::<f64>() / means.len() as f64 - least)
        };
        self.means().into_iter().map(of).collect()
    }

    /// Sums of the processes whose names are those.
    fn missing(&self, is_wanted: impl Fn(&str) -> bool) -> Shown {
        let rows = figures::expected(&self.summary);
        let wanted = rows.into_iter().filter(|((name, labels), _)| labels.is_empty() && is_wanted(name));
        let label = |name: String| Labels::from([("__name__".to_owned(), format!("{name}_count_total"))]);
        wanted.map(|((name, _), (_, sum))| (label(name), sum)).collect()
    }

    /// What a panel's query shows; nothing, where the summary does not tell.
    pub(crate) fn shown(&self, panel: &str, query: &str) -> Option<Shown> {
        let operations = self.rows("operations");
        let transfers = || self.rows("transfers").into_iter();
        let rank = [("communicator", "comm"), ("rank", "rank")];
        let in_a_second = |field: &'static str| move |row: &Value| number(row, field) / GREW;
        let without = Labels::new;
        let shown = match (panel, query) {
            ("Effective bus bandwidth by function", "A") => self.bus(&[FUNCTION])?,
            ("Effective bus bandwidth by function", "B") => {
                let mut most = Shown::new();
                for (mut labels, value) in self.bus(&[FUNCTION, RANK[0], RANK[1]])? {
                    labels.retain(|name, _| name == "operation");
                    most.entry(labels).and_modify(|most| *most = most.max(value)).or_insert(value);
                }
                most
            }
            ("Bytes by function", _) => sums(operations, &[FUNCTION], in_a_second("bytes")),
            ("Operations by function", _) => sums(operations, &[FUNCTION], in_a_second("count")),
            ("Share of operations with a GPU time", _) => quotient(
                &sums(operations.clone(), &[FUNCTION], in_a_second("gpu_timed")),
                &sums(operations, &[FUNCTION], in_a_second("count")),
            ),
            ("Time in communication by rank", _) => {
                let timed = operations.into_iter().filter(|row| number(row, "gpu_timed") > 0.0);
                self.with_host(sums(timed, &rank, |row| number(row, "time_us") / 1e6 / GREW))
            }
            ("Waits for others", _) => self.waits(),
            ("Late ranks", _) => self.late(),
            ("Transfer rate by pair, slowest", _) => {
                self.with_host(sums(transfers(), &PAIR, |row| number(row, "sustained_rate_mb_s") * 1e6))
            }
            ("Latency by pair, highest", _) => {
                let fitted = transfers().filter(|row| row["fit"]["latency_us"].is_number());
                self.with_host(sums(fitted, &PAIR, |row| number(&row["fit"], "latency_us") / 1e6))
            }
            ("Bytes by pair, most", _) => self.with_host(sums(transfers(), &PAIR, in_a_second("bytes"))),
            ("Missing, by kind", _) => {
                self.missing(|name| !["_untimed_", "_exports_", "_progress_"].iter().any(|part| name.contains(part)))
            }
            ("Operations without a GPU time, by cause", _) => self.missing(|name| name.contains("_untimed_")),
            ("Incomplete, by host", _) => {
                let of_job = self.missing(|name| name == "nccl_incomplete").into_values().sum();
                self.with_host(Shown::from([(without(), of_job)]))
            }
            ("Processes", _) => Shown::from([(without(), self.rows("processes").len() as f64)]),
            ("Failed exports", _) => Shown::from([(without(), 0.0)]),
            _ => unreachable!("no one has said what {panel} shows"),
        };
        Some(shown)
    }
}
