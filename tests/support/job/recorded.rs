//! What a process' stand-in for Score-P has recorded, and what is true of its operations.

use super::Process;
use std::collections::BTreeMap;

/// A location that is not a thread's, or one of a thread.
#[derive(Debug, Clone)]
pub(crate) struct Location {
    pub(crate) name: String,
    /// Whether it is of type GPU.
    pub(crate) is_gpu: bool,
    /// What its regions were, in the order of their begins.
    pub(crate) visits: Vec<Visit>,
    /// Counters outside any region: name, time in ticks, value.
    pub(crate) outside: Vec<(String, u64, u64)>,
}

/// A region from enter to leave, times in ticks.
#[derive(Debug, Clone, Default)]
pub(crate) struct Visit {
    pub(crate) region: String,
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) attributes: BTreeMap<String, String>,
    /// Counters inside.
    pub(crate) counters: Vec<(String, u64)>,
}

/// An operation as the host made it: what the lanes must show, times in ticks.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) comm: String,
    pub(crate) rank: i32,
    pub(crate) func: String,
    pub(crate) peer: i32,
    pub(crate) sequence: u64,
    pub(crate) bytes: u64,
    pub(crate) timing: String,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

impl Visit {
    /// The one counter of that name inside.
    pub(crate) fn counter(&self, name: &str) -> Option<u64> {
        let mut found = self.counters.iter().filter(|(known, _)| known == name);
        let value = found.next().map(|&(_, value)| value);
        assert!(found.next().is_none(), "{name} twice in {self:?}");
        value
    }
}

impl Location {
    /// A time of the measurement is between its begin and its end, whatever it is a time of.
    fn read(process: &Process, [number, kind, _, name]: [&str; 4]) -> Self {
        let measured = process.number("begin")..=process.number("end");
        let mut location = Self { name: name.into(), is_gpu: kind == "1", visits: vec![], outside: vec![] };
        let mut inside: Vec<Visit> = Vec::new();
        for event in process.lines("event").filter(|event| event[0] == number) {
            let time: u64 = event[1].parse().unwrap();
            assert!(measured.contains(&time), "{name}: {event:?} is not in {measured:?}");
            match (event[2], event[3]) {
                ("enter", region) => {
                    let attributes = event[4..].iter().filter_map(|text| text.split_once('='));
                    let attributes = attributes.map(|(name, value)| (name.into(), value.into())).collect();
                    inside.push(Visit { region: region.into(), begin: time, attributes, ..Visit::default() });
                }
                ("leave", _) => {
                    let visit = inside.pop().unwrap();
                    location.visits.push(Visit { end: time, ..visit });
                }
                (_, counter) => {
                    let value = event[4].parse().unwrap();
                    match inside.last_mut() {
                        Some(visit) => visit.counters.push((counter.into(), value)),
                        None => location.outside.push((counter.into(), time, value)),
                    }
                }
            }
        }
        location.visits.sort_by_key(|visit| visit.begin);
        location
    }

    /// What a counter outside showed from a time on, until the next value.
    pub(crate) fn shown(&self, counter: &str, time: u64) -> Option<u64> {
        let mut of_counter = self.outside.iter().filter(|(name, at, _)| name == counter && *at <= time);
        of_counter.next_back().map(|&(_, _, value)| value)
    }
}

impl Process {
    /// All locations, with their events.
    pub(crate) fn locations(&self) -> Vec<Location> {
        self.lines("location").map(|fields| Location::read(self, fields.try_into().unwrap())).collect()
    }

    /// Those of type GPU, by name.
    pub(crate) fn lanes(&self) -> BTreeMap<String, Location> {
        // those made at the begin that there was no need of
        let unused = |location: &Location| location.name == "NCCL (unused)" && location.visits.is_empty();
        let lanes: Vec<Location> =
            self.locations().into_iter().filter(|location| location.is_gpu && !unused(location)).collect();
        let count = lanes.len();
        let lanes: BTreeMap<String, Location> = lanes.into_iter().map(|lane| (lane.name.clone(), lane)).collect();
        assert_eq!(lanes.len(), count, "two lanes of one name");
        lanes
    }

    /// The operations that the host made, in the order of their calls.
    pub(crate) fn operations(&self) -> Vec<Operation> {
        let read = |fields: Vec<&str>| Operation {
            comm: fields[0].into(),
            rank: fields[1].parse().unwrap(),
            func: fields[2].into(),
            peer: fields[3].parse().unwrap(),
            sequence: fields[4].parse().unwrap(),
            bytes: fields[5].parse().unwrap(),
            timing: fields[6].into(),
            begin: fields[7].parse().unwrap(),
            end: fields[8].parse().unwrap(),
        };
        self.lines("truth").map(read).collect()
    }
}
