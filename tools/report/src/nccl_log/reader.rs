//! From lines to a log: which communicator a line is of.
//!
//! Few lines name their communicator. A thread inits one at a time, so the lines of a thread between `Init START` and
//! `Init timings` are of that one. Connections that come later, with the first operation, are of the communicator in
//! which the process has this rank on this GPU, if there is only one.

use super::connection::{Route, Side};
use super::log::{Connection, LoggedCommunicator, LoggedRank, NcclLog, Origin, Warnings};
use super::message::{InitLine, InitOrigin, Message, message};
use super::prefix;
use super::prefix::{Level, LogLine, Prefix, divided, may_be_nccl};
use super::process::LoggedProcess;
use super::texts::Texts;
use rustc_hash::FxHashMap;
use std::io::{self, BufRead};
use std::rc::Rc;

/// Bounds of what is kept.
const MAX_PROCESSES: usize = 1 << 17;
const MAX_RANKS: usize = 1 << 19;
const MAX_CONNECTIONS: usize = 1 << 19;
const MAX_THREADS: usize = 1 << 18;
/// Communicators in which a process has one rank on one GPU, of which more are not compared.
const MAX_ALIKE: usize = 64;

/// What a thread is at.
#[derive(Debug, Default)]
struct Thread {
    network: Option<Rc<str>>,
    rank: Option<usize>,
}

/// Reads logs.
#[derive(Debug, Default)]
pub struct LogReader {
    log: NcclLog,
    texts: Texts,
    processes: FxHashMap<(u32, Rc<str>), usize>,
    /// The first processes with a process id, of which a host has one.
    by_pid: FxHashMap<u32, Vec<usize>>,
    threads: FxHashMap<(usize, u32), Thread>,
    communicators: FxHashMap<(Origin, u32), usize>,
    /// The ranks of communicators, by number.
    members: FxHashMap<(usize, u32), usize>,
    /// The latest rank at a pointer of a process.
    pointers: FxHashMap<(usize, u64), usize>,
    /// Ranks of a process, by number and GPU.
    alike: FxHashMap<(usize, u32, u32), Vec<usize>>,
    connections: FxHashMap<Connection, u64>,
    warnings: Warnings,
}

/// A line had no room, or nothing that it belongs to.
enum Unkept {
    NoRoom,
    Broken,
}

impl LogReader {
    /// Reads a log to its end.
    ///
    /// # Errors
    /// Those of the reader; what was read before is kept.
    pub fn read(&mut self, reader: impl BufRead) -> io::Result<()> {
        let too_long = prefix::each(reader, |line| self.line(line))?;
        self.log.lines.too_long += too_long;
        self.log.lines.all += too_long;
        // the threads of the next file are others, even where it is of the same process
        self.threads.clear();
        Ok(())
    }

    /// Returns what was kept.
    pub fn finish(self) -> NcclLog {
        let mut log = self.log;
        log.warnings = self.warnings.finish();
        log.connections = self.connections.into_iter().collect();
        let order = |(of, _): &(Connection, u64)| (of.process, of.of, of.own, of.peer, of.side as u8, of.route.clone());
        log.connections.sort_by_cached_key(order);
        log
    }

    fn line(&mut self, line: &[u8]) {
        self.log.lines.all += 1;
        if !may_be_nccl(line) {
            return;
        }
        let line = String::from_utf8_lossy(line);
        let kept = match divided(&line) {
            LogLine::Foreign => return,
            LogLine::Broken => Err(Unkept::Broken),
            LogLine::Whole { by, level, text } => self.whole(&by, level, text),
        };
        self.log.lines.nccl += 1;
        match kept {
            Ok(()) => (),
            Err(Unkept::NoRoom) => self.log.lines.left_out += 1,
            Err(Unkept::Broken) => self.log.lines.broken += 1,
        }
    }

    fn whole(&mut self, by: &Prefix<'_>, level: Level, text: &str) -> Result<(), Unkept> {
        let place = self.process(by)?;
        if level == Level::Warn {
            return if self.warnings.count(place, text) { Ok(()) } else { Err(Unkept::NoRoom) };
        }
        let said = message(text);
        match said {
            Message::Other => return Ok(()),
            Message::Cut => return Err(Unkept::Broken),
            Message::Init(init) => return self.init(place, by.tid, &init),
            Message::Connection { own, peer, side, route } => {
                return self.connection((place, by), own, peer, side, route);
            }
            Message::Shape { pointer, rank, nodes } => {
                let of = self.pointers.get(&(place, pointer)).and_then(|at| self.log.ranks.get(*at));
                let of = of.filter(|of| of.rank == rank).ok_or(Unkept::Broken)?.communicator;
                let of = self.log.communicators.get_mut(of).ok_or(Unkept::Broken)?;
                of.nodes = Some(nodes).filter(|nodes| *nodes <= of.nranks);
                return Ok(());
            }
            Message::Channels(channels) => {
                let of = self.of_thread(place, by.tid).and_then(|at| self.log.ranks.get_mut(at));
                of.ok_or(Unkept::Broken)?.channels = Some(channels);
                return Ok(());
            }
            Message::Timings { rank, nranks, phases } => {
                let at = self.threads.remove(&(place, by.tid)).and_then(|thread| thread.rank).ok_or(Unkept::Broken)?;
                let of = self.log.ranks.get_mut(at).filter(|of| of.rank == rank).ok_or(Unkept::Broken)?;
                let is_same = self.log.communicators.get(of.communicator).is_some_and(|it| it.nranks == nranks);
                of.init = Some(phases).filter(|_| is_same);
                return Ok(());
            }
            Message::Network(name) => {
                let name = self.text(name)?;
                if self.threads.len() >= MAX_THREADS {
                    return Err(Unkept::NoRoom);
                }
                let thread = self.threads.entry((place, by.tid)).or_default();
                // up to release 2.18 it follows the begin
                match thread.rank.and_then(|at| self.log.ranks.get_mut(at)).filter(|of| !of.is_complete) {
                    Some(of) => of.network = Some(name),
                    None => thread.network = Some(name),
                }
                return Ok(());
            }
            _ => (),
        }
        self.of_process(place, said)
    }

    /// Keeps what a line says of its process.
    fn of_process(&mut self, place: usize, said: Message<'_>) -> Result<(), Unkept> {
        let [mut name, mut value] = [None, None];
        match said {
            Message::Version(text) | Message::Sockets(text) | Message::InfiniBand(text) => value = Some(text),
            Message::PluginMissing(text) | Message::GpuDirect { enabled: false, adapter: text } => value = Some(text),
            Message::Setting { name: of, value: text } => (name, value) = (Some(of), Some(text)),
            _ => (),
        }
        let [name, value] = [name, value].map(|text| text.map(|text| self.text(text)).transpose());
        let (name, value) = (name?, value?);
        let process = self.log.processes.get_mut(place).ok_or(Unkept::Broken)?;
        match said {
            Message::Version(_) => process.version = value,
            Message::Sockets(_) => process.sockets = value,
            Message::InfiniBand(_) => process.infiniband = value,
            Message::Begin => process.has_begin = true,
            Message::NoInfiniBand => process.has_no_infiniband = true,
            Message::PluginMissing(_) => process.missing_plugin = value,
            Message::GpuDirect { enabled: false, .. } => process.no_gpu_direct = value,
            Message::Setting { .. } => {
                let is_kept = name.zip(value).is_some_and(|(name, value)| process.set(name, value));
                return if is_kept { Ok(()) } else { Err(Unkept::NoRoom) };
            }
            _ => (),
        }
        Ok(())
    }

    /// Returns the place of a line's process.
    fn process(&mut self, by: &Prefix<'_>) -> Result<usize, Unkept> {
        let host = self.text(by.host)?;
        let key = (by.pid, host.clone());
        if let Some(at) = self.processes.get(&key) {
            return Ok(*at);
        }
        // other output without a line's end touches the host's name
        let alike = self.by_pid.entry(by.pid).or_default();
        if alike.iter().any(|at| self.log.processes.get(*at).is_some_and(|known| host.ends_with(&*known.host))) {
            return Err(Unkept::Broken);
        }
        let at = self.log.processes.len();
        if at >= MAX_PROCESSES {
            return Err(Unkept::NoRoom);
        }
        self.log.processes.push(LoggedProcess { host, pid: by.pid, ..LoggedProcess::default() });
        self.processes.insert(key, at);
        if alike.len() < MAX_ALIKE {
            alike.push(at);
        }
        Ok(at)
    }

    fn text(&mut self, text: &str) -> Result<Rc<str>, Unkept> {
        self.texts.kept(text).ok_or(Unkept::NoRoom)
    }

    /// Returns the place of the rank that a thread inits.
    fn of_thread(&self, process: usize, tid: u32) -> Option<usize> {
        let at = self.threads.get(&(process, tid))?.rank?;
        self.log.ranks.get(at).is_some_and(|of| !of.is_complete).then_some(at)
    }

    /// Keeps the begin or the end of an init.
    fn init(&mut self, process: usize, tid: u32, line: &InitLine) -> Result<(), Unkept> {
        let is_it = |of: &LoggedRank| of.rank == line.rank && of.gpu == line.gpu;
        let known = self.pointers.get(&(process, line.pointer)).copied();
        let known = known.filter(|at| line.is_complete && self.log.ranks.get(*at).is_some_and(is_it));
        let at = match known {
            Some(at) => at,
            // the begin may be cut off
            None => self.begun(process, line)?,
        };
        if self.threads.len() >= MAX_THREADS {
            return Err(Unkept::NoRoom);
        }
        let thread = self.threads.entry((process, tid)).or_default();
        thread.rank = Some(at);
        let network = thread.network.take();
        if let Some(of) = self.log.ranks.get_mut(at) {
            of.network = network.or(of.network.take());
            of.is_complete |= line.is_complete;
        }
        Ok(())
    }

    /// Keeps a rank that is met for the first time. Returns its place.
    fn begun(&mut self, process: usize, line: &InitLine) -> Result<usize, Unkept> {
        let at = self.log.ranks.len();
        if at >= MAX_RANKS {
            return Err(Unkept::NoRoom);
        }
        let origin = match line.origin {
            InitOrigin::Id(id) => Origin::Id(id),
            InitOrigin::Split { parent, number, color } => {
                let parent = self.pointers.get(&(process, parent)).and_then(|at| self.log.ranks.get_mut(*at));
                parent.map_or(Origin::Unknown { rank: at }, |parent| {
                    parent.splits += 1;
                    Origin::Split { parent: parent.communicator, number: number.unwrap_or(parent.splits), color }
                })
            }
        };
        let mut communicator = self.communicator(origin, line.nranks);
        if let Some(&known) = self.members.get(&(communicator, line.rank)) {
            // the log is there twice
            if self.log.ranks.get(known).is_some_and(|of| of.process == process) {
                return Ok(known);
            }
            // splits that a release does not number were counted, which a rank without a color may miss
            communicator = self.communicator(Origin::Unknown { rank: at }, line.nranks);
        }
        self.members.insert((communicator, line.rank), at);
        if let Some(of) = self.log.communicators.get_mut(communicator) {
            of.ranks.push(at);
        }
        self.log.ranks.push(LoggedRank {
            process,
            communicator,
            rank: line.rank,
            cuda_device: line.cuda_device,
            gpu: line.gpu,
            ..LoggedRank::default()
        });
        self.pointers.insert((process, line.pointer), at);
        self.alike.entry((process, line.rank, line.gpu)).or_default().push(at);
        Ok(at)
    }

    fn communicator(&mut self, origin: Origin, nranks: u32) -> usize {
        let all = &mut self.log.communicators;
        let place = *self.communicators.entry((origin, nranks)).or_insert(all.len());
        if place == all.len() {
            all.push(LoggedCommunicator { origin, nranks, nodes: None, ranks: vec![] });
        }
        place
    }

    /// Keeps a connection.
    fn connection(
        &mut self,
        (process, by): (usize, &Prefix<'_>),
        own: [u32; 2],
        peer: [u32; 2],
        side: Side,
        route: Route<'_>,
    ) -> Result<(), Unkept> {
        let [rank, gpu] = own;
        let fits = |at: &usize| {
            let of = self.log.ranks.get(*at)?;
            let nranks = self.log.communicators.get(of.communicator)?.nranks;
            Some(of.rank == rank && of.gpu == gpu && of.cuda_device == by.device && peer[0] < nranks)
        };
        let is_of = |at: &usize| fits(at).unwrap_or(false);
        let thread = self.of_thread(process, by.tid).filter(is_of);
        let has_begin = self.log.processes.get(process).is_some_and(|process| process.has_begin);
        let of = thread.or_else(|| {
            // without it, communicators may be missing
            has_begin.then_some(())?;
            let alike = self.alike.get(&(process, rank, gpu)).filter(|alike| alike.len() <= MAX_ALIKE)?;
            let mut fitting = alike.iter().copied().filter(is_of);
            fitting.next().filter(|_| fitting.next().is_none())
        });
        let (transport, is_gpu_direct) = (route.transport, route.is_gpu_direct);
        let route = self.text(&route.text())?;
        let connection = Connection { process, of, own, peer, side, transport, route, is_gpu_direct };
        let has_room = self.connections.len() < MAX_CONNECTIONS;
        match self.connections.get_mut(&connection) {
            Some(channels) => *channels += 1,
            None if has_room => drop(self.connections.insert(connection, 1)),
            None => return Err(Unkept::NoRoom),
        }
        Ok(())
    }
}
