//! A trace as otf2-print shows it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::installation;

/// All locations of a trace.
#[derive(Debug)]
pub(crate) struct Trace {
    pub(crate) ticks_per_second: f64,
    pub(crate) locations: Vec<Location>,
}

/// A location with its events in their order.
#[derive(Debug)]
pub(crate) struct Location {
    pub(crate) id: u64,
    pub(crate) name: String,
    /// `CPU_THREAD`, `ACCELERATOR_STREAM`, `METRIC`.
    pub(crate) kind: String,
    /// The process: `MPI Rank 0`, or `Process` without MPI.
    pub(crate) group: String,
    pub(crate) events: Vec<Event>,
}

/// One record.
#[derive(Debug)]
pub(crate) struct Event {
    /// Ticks.
    pub(crate) time: u64,
    pub(crate) what: What,
    pub(crate) attributes: BTreeMap<String, String>,
}

/// What it tells.
#[derive(Debug, PartialEq)]
pub(crate) enum What {
    Enter(String),
    Leave(String),
    /// Values by name.
    Metric(BTreeMap<String, u64>),
    /// Another record's name.
    Other(String),
}

/// Values of counters.
type Values<'a> = BTreeMap<&'a str, u64>;

impl Trace {
    /// Reads the trace of an experiment.
    pub(crate) fn read(experiment: &Path) -> Self {
        let anchor = experiment.join("traces.otf2");
        let print = |flags: &[&str]| installation::say(installation::command("otf2-print").args(flags).arg(&anchor));
        let mut trace = Self::parse(&print(&["-G"]), &print(&[]));
        trace.undo_clock_offsets(&print(&["-C"]));
        trace
    }

    /// Puts events back on the timer of their process. Score-P compares it with that of the first process at the begin
    /// and at the end, and beside other work is wrong by as much as a millisecond, which stretches all lengths.
    fn undo_clock_offsets(&mut self, offsets: &str) {
        let mut of_locations: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
        for line in offsets.lines().filter(|line| line.starts_with("CLOCK_OFFSET")) {
            let location = line.split_whitespace().nth(1).unwrap().parse().unwrap();
            let [time, offset] = ["Time: ", "Offset: "].map(|key| field(line, key).parse().unwrap());
            of_locations.entry(location).or_default().push((time, offset));
        }
        for location in &mut self.locations {
            let Some(&[(begin, first), (end, last)]) = of_locations.get(&location.id).map(Vec::as_slice) else {
                continue;
            };
            let slope = (last - first) as f64 / (end - begin) as f64;
            for event in &mut location.events {
                let since = (event.time as i64 - begin - first) as f64 / (1.0 + slope);
                event.time = (begin + since.round() as i64) as u64;
            }
        }
    }

    /// The same without the events.
    pub(crate) fn read_definitions(experiment: &Path) -> Self {
        let anchor = experiment.join("traces.otf2");
        Self::parse(&installation::say(installation::command("otf2-print").arg("-G").arg(&anchor)), "")
    }

    /// From the definitions and the events as they are printed.
    pub(crate) fn parse(definitions: &str, events: &str) -> Self {
        let mut trace = Self { ticks_per_second: 0.0, locations: Vec::new() };
        for line in definitions.lines() {
            match line.split_whitespace().next() {
                Some("CLOCK_PROPERTIES") => {
                    trace.ticks_per_second = field(line, "Ticks per Seconds: ").parse().unwrap()
                }
                Some("LOCATION") => trace.locations.push(Location {
                    id: line.split_whitespace().nth(1).unwrap().parse().unwrap(),
                    name: field(line, "Name: ").to_owned(),
                    kind: field(line, "Type: ").to_owned(),
                    group: field(line, "Group: ").to_owned(),
                    events: Vec::new(),
                }),
                _ => {}
            }
        }
        trace.take_events(events);
        trace
    }

    fn take_events(&mut self, text: &str) {
        let places: BTreeMap<u64, usize> =
            self.locations.iter().enumerate().map(|(place, location)| (location.id, place)).collect();
        let mut last = None;
        for line in text.lines() {
            if let Some(attributes) = line.trim_start().strip_prefix("ADDITIONAL ATTRIBUTES: ") {
                let place: usize = last.unwrap();
                self.locations[place].events.last_mut().unwrap().attributes = tuples(attributes).collect();
                continue;
            }
            let mut words = line.split_whitespace();
            let (Some(name), Some(location), Some(time)) = (words.next(), words.next(), words.next()) else { continue };
            let (Ok(location), Ok(time)) = (location.parse::<u64>(), time.parse()) else { continue };
            let what = match name {
                "ENTER" => What::Enter(field(line, "Region: ").to_owned()),
                "LEAVE" => What::Leave(field(line, "Region: ").to_owned()),
                // series count in fractions
                "METRIC" => {
                    What::Metric(tuples(line).filter_map(|(name, value)| Some((name, value.parse().ok()?))).collect())
                }
                other => What::Other(other.to_owned()),
            };
            self.locations[places[&location]].events.push(Event { time, what, attributes: BTreeMap::new() });
            last = Some(places[&location]);
        }
    }

    /// Threads of the application.
    pub(crate) fn threads(&self) -> impl Iterator<Item = &Location> {
        self.locations.iter().filter(|location| location.kind == "CPU_THREAD")
    }

    /// What is wrong with the order of events: times that fall, regions that do not nest or do not end.
    pub(crate) fn disorder(&self) -> Vec<String> {
        self.locations
            .iter()
            .flat_map(|location| location.disorder().map(|wrong| format!("{}: {wrong}", location.label())))
            .collect()
    }

    /// What is wrong with the counters of the threads. Right before every enter and leave there must be a record of
    /// exactly these or, in a trace that is alone, of those that have changed since the last two. None of them may fall.
    pub(crate) fn miscounts(&self, counters: &[&str], is_alone: bool) -> Vec<String> {
        self.threads()
            .flat_map(|thread| thread.miscounts(counters, is_alone).map(|wrong| format!("{}: {wrong}", thread.label())))
            .collect()
    }
}

impl Location {
    /// For messages.
    pub(crate) fn label(&self) -> String {
        format!("{}, {}", self.group, self.name)
    }

    fn disorder(&self) -> Option<String> {
        let mut open: Vec<&str> = Vec::new();
        let mut time = 0;
        for event in &self.events {
            if event.time < time {
                return Some(format!("{:?} at {} comes after {time}", event.what, event.time));
            }
            time = event.time;
            match &event.what {
                What::Enter(region) => open.push(region),
                What::Leave(region) if open.pop() != Some(region) => {
                    return Some(format!("{region} is left at {time}, out of turn"));
                }
                _ => {}
            }
        }
        open.pop().map(|region| format!("{region} is never left"))
    }

    /// The enters and leaves, each with the counters' values there, and with the values that are written at it.
    fn counted(&self) -> Vec<(&What, Values<'_>, Values<'_>)> {
        let (mut values, mut written, mut at) = (Values::new(), Values::new(), 0);
        let mut counted = Vec::new();
        for event in &self.events {
            if event.time != std::mem::replace(&mut at, event.time) {
                written.clear();
            }
            match &event.what {
                What::Metric(new) => {
                    values.extend(new.iter().map(|(name, value)| (name.as_str(), *value)));
                    written.extend(new.iter().map(|(name, value)| (name.as_str(), *value)));
                }
                What::Enter(_) | What::Leave(_) => {
                    counted.push((&event.what, values.clone(), std::mem::take(&mut written)));
                }
                What::Other(_) => written.clear(),
            }
        }
        counted
    }

    fn miscounts(&self, counters: &[&str], is_alone: bool) -> Option<String> {
        let (mut last, mut times) = (Values::new(), Values::new());
        for (what, _, written) in self.counted() {
            if !is_alone && !written.keys().eq(counters.iter().collect::<BTreeSet<_>>()) {
                return Some(format!("counters {:?} at {what:?} instead of {counters:?}", written.keys()));
            }
            for (name, value) in written {
                let last = last.insert(name, value);
                if last.is_some_and(|last| value < last) {
                    return Some(format!("{name} falls to {value} at {what:?}"));
                }
                let times = times.entry(name).or_insert(0);
                *times = if last == Some(value) { *times + 1 } else { 1 };
                if is_alone && *times > 2 {
                    return Some(format!("{name} is {value} again at {what:?}"));
                }
            }
        }
        None
    }

    /// The last value of a counter; 0 without one.
    pub(crate) fn last_value(&self, counter: &str) -> u64 {
        let values = self.events.iter().rev().filter_map(|event| match &event.what {
            What::Metric(values) => values.get(counter).copied(),
            _ => None,
        });
        values.into_iter().next().unwrap_or(0)
    }

    /// By how much a counter rose during the visits of a region; `None` when the location does not know the region.
    pub(crate) fn within(&self, region: &str, counter: &str) -> Option<u64> {
        let mut risen = None;
        let mut entered = 0;
        for (what, values, _) in self.counted() {
            let value = values.get(counter).copied().unwrap_or(0);
            match what {
                What::Enter(name) if name == region => entered = value,
                What::Leave(name) if name == region => risen = Some(risen.unwrap_or(0) + value - entered),
                _ => {}
            }
        }
        risen
    }
}

/// What follows a key: a string in quotes, or all up to the next comma.
fn field<'a>(line: &'a str, key: &str) -> &'a str {
    let (_, rest) = line.split_once(key).unwrap();
    match rest.strip_prefix('"') {
        Some(text) => text.split('"').next().unwrap(),
        None => rest.split(',').next().unwrap(),
    }
}

/// Names and values of `("name" <1>; TYPE; value), ...`.
fn tuples(text: &str) -> impl Iterator<Item = (String, String)> {
    text.split("(\"").skip(1).map(|tuple| {
        let (name, rest) = tuple.split_once('"').unwrap();
        let value = rest.splitn(3, "; ").nth(2).unwrap();
        let value = match value.strip_prefix('"') {
            Some(text) => text.split('"').next().unwrap(),
            None => value.split(')').next().unwrap(),
        };
        (name.to_owned(), value.to_owned())
    })
}
