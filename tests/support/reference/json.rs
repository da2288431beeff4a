//! Reads captures as events with their states, stop and children. It does not check the order of a capture; the
//! library's strict reader does.

use std::collections::{BTreeMap, HashMap};
use std::error::Error;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use serde_json::Value;

/// A capture.
pub(crate) struct Recording {
    /// Version of the profiler interface.
    pub(crate) api: i64,
    pub(crate) pid: i64,
    /// Number of lost callbacks.
    pub(crate) dropped: usize,
    /// Number of lines, without the first line and the lines of kernels.
    pub(crate) callbacks: usize,
    pub(crate) contexts: BTreeMap<i64, Context>,
    /// Events in the order of their start lines.
    pub(crate) events: Vec<Event>,
    /// Times of kernels, by the handle of the launch or call between whose two CUDA events they ran.
    pub(crate) kernels: HashMap<i64, KernelLine>,
}

/// Times of two CUDA events, nanoseconds of the events' clock.
pub(crate) struct KernelLine {
    /// When the times became known.
    pub(crate) t: i64,
    pub(crate) first: i64,
    pub(crate) last: i64,
    /// When the kernel began, if the line has it.
    pub(crate) begin: Option<i64>,
    /// When the first event was recorded, if the line has it.
    pub(crate) at: Option<i64>,
}

/// A communicator, as NCCL's init describes it to one rank.
pub(crate) struct Context {
    /// 16 hexadecimal digits.
    pub(crate) comm: String,
    pub(crate) name: String,
    pub(crate) nnodes: i64,
    pub(crate) nranks: i64,
    pub(crate) rank: i64,
}

/// An event.
pub(crate) struct Event {
    pub(crate) kind: String,
    pub(crate) ctx: i64,
    /// Thread of the start.
    pub(crate) tid: i64,
    /// Index of the parent in [`Recording::events`].
    pub(crate) parent: Option<usize>,
    /// Indices of the children in [`Recording::events`].
    pub(crate) children: Vec<usize>,
    /// The start line.
    pub(crate) start: Value,
    /// The state lines before the stop.
    pub(crate) states: Vec<Value>,
    /// Time of the first stop, nanoseconds.
    pub(crate) stop: Option<i64>,
}

const KINDS: [&str; 16] = [
    "Group",
    "Coll",
    "P2p",
    "ProxyOp",
    "ProxyStep",
    "ProxyCtrl",
    "KernelCh",
    "NetPlugin",
    "GroupApi",
    "CollApi",
    "P2pApi",
    "KernelLaunch",
    "CeColl",
    "CeSync",
    "CeBatch",
    "KernelPhase",
];

pub(crate) fn read(path: &Path) -> Result<Recording, Box<dyn Error>> {
    let mut text = String::new();
    MultiGzDecoder::new(File::open(path)?).read_to_string(&mut text)?;
    let lines = text.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let meta = lines.first().ok_or("no meta line")?;
    let mut recording = Recording {
        api: int(meta, "api")?,
        pid: int(meta, "pid")?,
        dropped: usize::try_from(int(meta, "dropped")?)?,
        callbacks: lines.iter().skip(1).filter(|line| line["cb"] != "kernel").count(),
        contexts: BTreeMap::new(),
        events: Vec::new(),
        kernels: HashMap::new(),
    };
    let mut places = HashMap::new();
    for line in lines.into_iter().skip(1) {
        match line["cb"].as_str() {
            Some("init") => {
                let comm = u64::from_str_radix(line["comm"].as_str().ok_or("no comm")?, 16)?;
                let context = Context {
                    comm: format!("{comm:016x}"),
                    name: line["name"].as_str().unwrap_or_default().to_owned(),
                    nnodes: int(&line, "nnodes")?,
                    nranks: int(&line, "nranks")?,
                    rank: int(&line, "rank")?,
                };
                recording.contexts.insert(int(&line, "ctx")?, context);
            }
            Some("start") => {
                let place = recording.events.len();
                let parent = places.get(&int(&line, "parent")?).copied();
                places.insert(int(&line, "h")?, place);
                if let Some(parent) = parent {
                    let event: &mut Event = &mut recording.events[parent];
                    event.children.push(place);
                }
                recording.events.push(Event {
                    kind: kind(&line["type"]),
                    ctx: int(&line, "ctx")?,
                    tid: int(&line, "tid")?,
                    parent,
                    children: Vec::new(),
                    start: line,
                    states: Vec::new(),
                    stop: None,
                });
            }
            Some("state") => {
                let event = &mut recording.events[*places.get(&int(&line, "h")?).ok_or("a state of no event")?];
                if event.stop.is_none() {
                    event.states.push(line);
                }
            }
            Some("stop") => {
                let event = &mut recording.events[*places.get(&int(&line, "h")?).ok_or("a stop of no event")?];
                event.stop = event.stop.or(Some(int(&line, "t")?));
            }
            Some("kernel") => {
                let [t, first, last] = [int(&line, "t")?, int(&line, "first")?, int(&line, "last")?];
                let [begin, at] = ["begin", "at"].map(|field| line[field].as_i64());
                let kernel = KernelLine { t, first, last, begin, at };
                recording.kernels.entry(int(&line, "h")?).or_insert(kernel);
            }
            Some("finalize") => {}
            other => return Err(format!("callback {other:?}").into()),
        }
    }
    Ok(recording)
}

/// Returns the name of an event type, which a line may have as a number; empty if the type has no name.
fn kind(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let bits = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    match bits {
        Ok(bits) => (0..16).find(|&bit| 1 << bit == bits).map_or_else(String::new, |bit| KINDS[bit].to_owned()),
        Err(_) => text,
    }
}

/// Returns a number from a line.
pub(crate) fn int(line: &Value, field: &str) -> Result<i64, Box<dyn Error>> {
    line[field].as_i64().ok_or_else(|| format!("no {field} in {line}").into())
}

impl Recording {
    pub(crate) fn context(&self, event: &Event) -> Result<&Context, Box<dyn Error>> {
        self.contexts.get(&event.ctx).ok_or_else(|| format!("no context {}", event.ctx).into())
    }

    /// Returns the children of an event that have this kind.
    pub(crate) fn children<'a>(&'a self, event: &'a Event, kind: &'a str) -> impl Iterator<Item = &'a Event> {
        event.children.iter().map(|&child| &self.events[child]).filter(move |child| child.kind == kind)
    }

    pub(crate) fn has_child(&self, event: &Event, kind: &str) -> bool {
        self.children(event, kind).next().is_some()
    }
}

impl Event {
    /// Returns whether the event is a collective, a send or a receive.
    pub(crate) fn is_operation(&self) -> bool {
        self.kind == "Coll" || self.kind == "P2p"
    }

    /// Returns the last line with this state, if it has an argument.
    pub(crate) fn state(&self, number: i64) -> Option<&Value> {
        let mut lines = self.states.iter().filter(|line| line["state"] == number);
        lines.next_back().filter(|line| line["arg"].is_number())
    }
}
