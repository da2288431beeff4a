//! CUPTI's kernels of runs in tests/captures and tests/truth, and plain sums of intervals.

use crate::support::report::Row;
use crate::support::{lines, tool};
use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::path::Path;

/// Begin and end, nanoseconds since 1970.
pub(crate) type Span = [i64; 2];

/// The kernels of a rank, in the order of their begins.
pub(crate) struct Rank {
    /// Kernels of NCCL.
    pub(crate) nccl: Vec<Span>,
    /// All others.
    pub(crate) computing: Vec<Span>,
    /// Kernel of each collective, by communicator, function and NCCL's number.
    pub(crate) collectives: BTreeMap<(String, String, u64), Span>,
    /// Kernels with sends and receives.
    pub(crate) exchanges: Vec<Span>,
    /// When the host returned from the launch of each kernel, nanoseconds since 1970.
    pub(crate) launched: HashMap<Span, i64>,
}

fn cupti(run: &str, rank: usize) -> (i64, Vec<(Span, String)>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/truth/cupti/{run}.r{rank}.json.gz"));
    let cupti: Value = serde_json::from_reader(MultiGzDecoder::new(File::open(path).unwrap())).unwrap();
    let base = cupti["base_ns"].as_i64().unwrap();
    let kernel = |kernel: &Value| {
        let begin = base + kernel[0].as_i64().unwrap();
        ([begin, begin + kernel[1].as_i64().unwrap()], kernel[2].as_str().unwrap().to_owned())
    };
    (base, cupti["kernels"].as_array().unwrap().iter().map(kernel).collect())
}

/// Returns the begins of the kernels of a rank whose names begin so.
pub(crate) fn begins(run: &str, rank: usize, name: &str) -> Vec<i64> {
    let (_, kernels) = cupti(run, rank);
    kernels.iter().filter(|(_, of)| of.starts_with(name)).map(|([begin, _], _)| *begin).collect()
}

/// Returns the kernels as PyTorch's profiler writes them (Kineto's JSON).
pub(crate) fn kineto(run: &str, rank: usize) -> Value {
    let (base, kernels) = cupti(run, rank);
    let event = |([begin, end], name): &(Span, String)| {
        let [ts, dur] = [begin - base, end - begin].map(|time| time as f64 / 1e3);
        json!({"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur})
    };
    let events: Vec<Value> = kernels.iter().map(event).collect();
    json!({"schemaVersion": 1, "traceEvents": events, "baseTimeNanoseconds": base})
}

fn number(line: &Value, field: &str) -> u64 {
    line[field].as_u64().unwrap()
}

impl Rank {
    /// The k-th launch of a recording is the k-th of NCCL's kernels; the operations that start on its thread before the
    /// next launch are in it.
    pub(crate) fn of(run: &str, rank: usize) -> Self {
        let (meta, lines) = lines::all(&tool::captures(&tool::run(run))[rank]);
        let (_, kernels) = cupti(run, rank);
        // NCCL 2.32 reports only the calls of broadcasts
        let silent = !lines.iter().any(|line| line["type"] == "Coll" && line["func"] == "Broadcast");
        let of_nccl = |name: &str| name.starts_with("ncclDevKernel");
        let spans = |is_wanted: &dyn Fn(&str) -> bool| {
            kernels.iter().filter(|(_, name)| is_wanted(name)).map(|(span, _)| *span).collect::<Vec<Span>>()
        };
        let launched = spans(&|name| of_nccl(name) && !(silent && name.contains("Broadcast")));
        let (mut collectives, mut exchanges) = (BTreeMap::new(), Vec::new());
        let (mut comms, mut of_thread) = (HashMap::new(), HashMap::new());
        let (mut under_way, mut returned) = (HashMap::new(), HashMap::new());
        let mut launches = launched.iter();
        for line in &lines {
            if line["cb"] == "init" {
                comms.insert(number(line, "ctx"), line["comm"].as_str().unwrap().to_owned());
            }
            if line["cb"] == "stop"
                && let Some(kernel) = under_way.remove(&number(line, "h"))
            {
                returned.insert(kernel, (number(&meta, "real0") + number(line, "t")).cast_signed());
            }
            if line["cb"] != "start" {
                continue;
            }
            let thread = number(line, "tid");
            match line["type"].as_str().unwrap() {
                "KernelLaunch" => {
                    let kernel = *launches.next().unwrap();
                    under_way.insert(number(line, "h"), kernel);
                    of_thread.insert(thread, (kernel, false));
                }
                "Coll" => {
                    let function = line["func"].as_str().unwrap().to_owned();
                    let key = (comms[&number(line, "ctx")].clone(), function, number(line, "seq"));
                    collectives.insert(key, of_thread[&thread].0);
                }
                "P2p" => {
                    let (kernel, is_known) = of_thread.get_mut(&thread).unwrap();
                    if !std::mem::replace(is_known, true) {
                        exchanges.push(*kernel);
                    }
                }
                _ => {}
            }
        }
        assert_eq!(launches.len(), 0, "{run} rank {rank}");
        let computing = spans(&|name| !of_nccl(name));
        Self { nccl: spans(&of_nccl), computing, collectives, exchanges, launched: returned }
    }

    /// Returns the rows of this rank with their kernels. In these runs, each exchange has one kernel.
    pub(crate) fn joined(&self, mut rows: Vec<Row>) -> Vec<(Row, Span)> {
        rows.sort_by_key(|row| row.enqueued);
        let mut exchanges = self.exchanges.iter();
        let join = |row: Row| {
            let span = if row.messages > 0 {
                *exchanges.next().unwrap()
            } else {
                // a broadcast of NCCL 2.32 has no launch
                *self.collectives.get(&(row.communicator.clone(), row.function.clone(), row.sequence?))?
            };
            Some((row, span))
        };
        let joined: Vec<_> = rows.into_iter().filter_map(join).collect();
        assert_eq!(exchanges.len(), 0);
        assert_eq!(joined.len(), self.collectives.len() + self.exchanges.len());
        joined
    }
}

/// Returns the union of intervals.
pub(crate) fn united(spans: &[Span]) -> Vec<Span> {
    let mut sorted = spans.to_vec();
    sorted.sort_unstable();
    let mut united: Vec<Span> = Vec::new();
    for [begin, end] in sorted {
        match united.last_mut() {
            Some(last) if begin <= last[1] => last[1] = last[1].max(end),
            _ => united.push([begin, end]),
        }
    }
    united
}

/// Returns the parts of intervals within another one.
pub(crate) fn clipped(spans: &[Span], [from, to]: Span) -> Vec<Span> {
    let parts = spans.iter().map(|[begin, end]| [*begin.max(&from), *end.min(&to)]);
    parts.filter(|[begin, end]| begin < end).collect()
}

/// Returns the time that is in both unions.
pub(crate) fn shared(some: &[Span], others: &[Span]) -> i64 {
    some.iter().map(|span| length(&clipped(others, *span))).sum()
}

/// Returns the sum of the lengths.
pub(crate) fn length(spans: &[Span]) -> i64 {
    spans.iter().map(|[begin, end]| end - begin).sum()
}
