//! The processes of all relays, from their lines. Whoever can write the lines may write anything: what they cost is
//! bounded, and a line that is none is counted.

use super::message::{RelayMessage, RelayedLook};
use super::piece::Piece;
use crate::statuses::{Life, MOST_MEMORY, Observed, StatusReading, shown};
use common::status::SCHEMA;
use std::collections::BTreeMap;

/// Most relays: of more nodes than any job has.
const MOST_RELAYS: usize = 1 << 14;
/// Looks and further seconds without a word after which a relay has ended.
const LATE_LOOKS: f64 = 2.0;
const LATE_SECONDS: f64 = 4.0;

/// What all relays have said.
#[derive(Default)]
pub(super) struct Relays {
    relays: BTreeMap<u64, Relay>,
    /// Estimate of the memory of all that is kept, bytes.
    memory: usize,
    /// Lines that are none, and messages without all of their lines.
    pub(super) lost: u64,
    /// The first such line.
    first_lost: Option<String>,
    /// Whether something was left out for its memory.
    is_full: bool,
    /// Time of the first look of any relay, seconds.
    pub(super) first_look: Option<f64>,
}

/// What one relay has said.
#[derive(Default)]
struct Relay {
    place: String,
    /// Time from which on it has ended, seconds.
    late: f64,
    is_whole: bool,
    /// Processes by file.
    processes: BTreeMap<String, Relayed>,
    /// The message of which pieces are missing.
    begun: Option<Begun>,
}

/// A process as its relay has it.
struct Relayed {
    process: Observed,
    weight: usize,
    /// Whether it has come since the last end of a look.
    is_new: bool,
}

/// The pieces of a message so far.
struct Begun {
    message: u32,
    next: u16,
    count: u16,
    data: Vec<u8>,
}

impl Relays {
    /// Takes a line without its end. `now` are seconds by a clock that does not jump.
    pub(super) fn take(&mut self, line: &[u8], now: f64) {
        let Some(piece) = Piece::of(line) else { return self.lose(&String::from_utf8_lossy(line)) };
        let number = piece.relay;
        if !self.relays.contains_key(&number) && self.relays.len() == MOST_RELAYS
            || self.memory + piece.data.len() > MOST_MEMORY
        {
            self.is_full = true;
            return;
        }
        let relay = self.relays.entry(number).or_default();
        let had = relay.held();
        let (whole, is_torn) = relay.join(piece);
        self.memory = self.memory + relay.held() - had;
        if is_torn {
            self.lose("a message without some of its lines");
        }
        match whole.map(|packed| RelayMessage::unpacked(&packed)) {
            None => {}
            Some(Some((RelayMessage::Process(process), weight))) if process.status.schema == SCHEMA => {
                self.put(number, *process, weight);
            }
            Some(Some((RelayMessage::Look(look), _))) => self.end_look(number, look, now),
            Some(Some((RelayMessage::End, _))) => {
                self.relays.entry(number).and_modify(|relay| relay.late = f64::NEG_INFINITY);
            }
            Some(_) => self.lose("a message of another form: use the same scorep-nccl on all nodes"),
        }
    }

    /// Counts a line that is none. It is shown by its begin.
    pub(super) fn lose(&mut self, line: &str) {
        self.lost += 1;
        self.first_lost.get_or_insert_with(|| shown(line));
    }

    fn put(&mut self, number: u64, process: Observed, weight: usize) {
        let Some(relay) = self.relays.get_mut(&number) else { return };
        let had = relay.processes.get(&process.file).map_or(0, |had| had.weight);
        if self.memory - had + weight > MOST_MEMORY {
            self.is_full = true;
            return;
        }
        self.memory = self.memory - had + weight;
        relay.processes.insert(process.file.clone(), Relayed { process, weight, is_new: true });
    }

    /// Takes the end of a look: processes that it does not name are gone, and what did not come has not changed.
    fn end_look(&mut self, number: u64, look: RelayedLook, now: f64) {
        let Some(relay) = self.relays.get_mut(&number) else { return };
        let mut before = std::mem::take(&mut relay.processes);
        for life in look.processes {
            let Some(mut relayed) = before.remove(&life.file) else { continue };
            let process = &mut relayed.process;
            (process.life, process.beats) = (life.life, life.beats);
            // a process that is torn has changed
            if !std::mem::take(&mut relayed.is_new) && process.status.beat == life.beat {
                process.moved.fill(false);
            }
            relay.processes.insert(life.file, relayed);
        }
        self.memory -= before.values().map(|gone| gone.weight).sum::<usize>();
        relay.late = now + LATE_LOOKS * look.interval.clamp(1.0, 3600.0) + LATE_SECONDS;
        (relay.place, relay.is_whole) = (look.place, look.is_whole);
        self.first_look.get_or_insert(now);
        // one that has ended before has been started anew
        let place = relay.place.clone();
        let mut freed = 0;
        self.relays.retain(|_, other| {
            let is_over = other.place == place && other.late < now;
            freed += if is_over { other.held() + other.weight() } else { 0 };
            !is_over
        });
        self.memory -= freed;
    }

    /// Returns the processes of all relays. Nobody knows any more whether those of a relay that has ended live.
    pub(super) fn reading(&self, now: f64) -> StatusReading {
        let mut reading = StatusReading::default();
        let mut known: BTreeMap<_, Observed> = BTreeMap::new();
        for relay in self.relays.values() {
            let is_late = relay.late < now;
            if is_late && !relay.place.is_empty() {
                let place = &relay.place;
                reading.left_out.push(format!(
                    "the relay of {place} has ended, or its lines do not come: whether its processes live is not known"
                ));
            } else if !relay.is_whole && !relay.place.is_empty() {
                reading.left_out.push(format!("the relay of {} has left files out, and names them there", relay.place));
            }
            // processes of a first look come before its end, with which they count
            for relayed in relay.processes.values().filter(|_| !relay.place.is_empty()) {
                let mut process = relayed.process.clone();
                process.file = format!("{}/{}", relay.place, process.file);
                if is_late {
                    process.beats = false;
                    if matches!(process.life, Life::Runs | Life::Stopped) {
                        process.life = Life::Elsewhere;
                    }
                }
                let origin = &process.status.origin;
                let id =
                    (origin.host.clone(), origin.boot.clone(), origin.rank, process.status.pid, process.status.born);
                // where nodes share a directory after all, the process' own host knows it best
                let knows = |process: &Observed| (process.life != Life::Elsewhere, process.status.written);
                if known.get(&id).is_none_or(|other| knows(other) < knows(&process)) {
                    known.insert(id, process);
                }
            }
        }
        reading.processes = known.into_values().collect();
        reading.processes.sort_by(|one, other| one.file.cmp(&other.file));
        if self.is_full {
            let most = MOST_MEMORY >> 30;
            reading.left_out.push(format!("standard input: more than {most} GiB or {MOST_RELAYS} relays are left out"));
        }
        reading
    }

    /// Returns the line on what was lost first.
    pub(super) fn lost_line(&self) -> Option<String> {
        let first = self.first_lost.as_ref()?;
        Some(format!("standard input has torn or foreign lines, the first `{first}`: the relay's next look repairs it"))
    }
}

impl Relay {
    /// Returns the bytes of the message that is not whole.
    fn held(&self) -> usize {
        self.begun.as_ref().map_or(0, |begun| begun.data.len())
    }

    /// Returns an estimate of the memory of its processes, bytes.
    fn weight(&self) -> usize {
        self.processes.values().map(|relayed| relayed.weight).sum()
    }

    /// Adds a piece. Returns the message if it is whole, and whether one was begun that never will be.
    fn join(&mut self, piece: Piece) -> (Option<Vec<u8>>, bool) {
        let Piece { message, number, count, mut data, .. } = piece;
        let begun = match self.begun.take() {
            Some(begun) if (begun.message, begun.next, begun.count) == (message, number, count) => begun,
            begun if number == 0 => {
                let new = Begun { message, next: 0, count, data: vec![] };
                return (self.grow(new, &mut data), begun.is_some());
            }
            begun => return (None, begun.is_some()),
        };
        (self.grow(begun, &mut data), false)
    }

    /// Adds data to a message. Returns it if it is whole.
    fn grow(&mut self, mut begun: Begun, data: &mut Vec<u8>) -> Option<Vec<u8>> {
        begun.data.append(data);
        begun.next += 1;
        if begun.next == begun.count {
            return Some(begun.data);
        }
        self.begun = Some(begun);
        None
    }
}
