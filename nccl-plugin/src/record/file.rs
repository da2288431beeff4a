//! The file of a recording: lines in the true order of the callbacks, gzipped; whole or not there at all.
//!
//! Two gzip members: the meta line, not compressed, so that it can be written again once it is known what was dropped; and the rest.

use super::event::{Record, What};
use super::line::{Line, Words};
use super::memory::{Memory, Records};
use common::files::{self, NewFile};
use flate2::Compression;
use flate2::write::GzEncoder;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ffi::CStr;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of the meta line, filled up with blanks: what is said of the process is short.
const META: usize = 8192;
/// Bytes of text that are compressed at a time.
const BLOCK: usize = 1 << 16;

/// What the meta line tells, but for the number of callbacks dropped.
pub(super) struct Meta {
    /// Of those dropped the ones that have no place in the order.
    pub(super) missed: u64,
    pub(super) version: u32,
    pub(super) mask: u64,
    pub(super) pid: u32,
    pub(super) real0: u64,
    pub(super) mono0: u64,
    /// When the memory was full, nanoseconds since `mono0`; 0 where it never was.
    pub(super) full: u64,
    /// The process that is recorded, as JSON.
    pub(super) process: String,
}

/// Where the file goes.
#[derive(Debug)]
pub(super) struct Place(PathBuf);

impl Place {
    /// `<host>.<pid>.jsonl.gz` in a directory, which is made if need be.
    ///
    /// # Errors
    /// When no file can be made there: better known now than at the end.
    pub(super) fn new(directory: &Path) -> io::Result<Self> {
        files::make(directory)?;
        // the job may go elsewhere
        let directory = directory.canonicalize()?;
        let name = format!("{}.{}.jsonl.gz", host(), std::process::id());
        let place = directory.join(name);
        drop(NewFile::beside(&place)?);
        Ok(Self(place))
    }

    pub(super) fn file(&self) -> &Path {
        &self.0
    }
}

/// Writes the file of that many callbacks in order, and tells how many of all are not in it.
///
/// # Errors
/// When there is no room or no right to write; then nothing is left behind.
pub(super) fn write(place: &Place, meta: &Meta, callbacks: u64, memory: &Memory, words: &Words<'_>) -> io::Result<u64> {
    let mut file = NewFile::beside(&place.0)?;
    let reserved = meta_member(meta, 0)?;
    file.write_all(&reserved)?;
    // the process waits for this, so it is fast rather than small; whole blocks of text, since each write costs
    let mut body = BufWriter::with_capacity(BLOCK, GzEncoder::new(file, Compression::fast()));
    let lines = write_lines(&mut body, callbacks, memory, words)?;
    let body = body.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut file = body.finish()?;
    let dropped = callbacks.saturating_sub(lines).saturating_add(meta.missed);
    let member = meta_member(meta, dropped)?;
    if member.len() != reserved.len() {
        return Err(io::Error::other("the meta line does not fit"));
    }
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&member)?;
    file.appear()?;
    Ok(dropped)
}

/// The meta line as a gzip member, of the same length whatever it says.
fn meta_member(meta: &Meta, dropped: u64) -> io::Result<Vec<u8>> {
    let Meta { version, mask, pid, real0, mono0, full, process, .. } = meta;
    let full = if *full > 0 { format!(r#","full":{full}"#) } else { String::new() };
    let line = format!(
        r#"{{"cb":"meta","format":1,"api":{version},"mask":{mask},"pid":{pid},"real0":{real0},"mono0":{mono0},"dropped":{dropped}{full},"process":{process}}}"#
    );
    let mut member = GzEncoder::new(Vec::new(), Compression::none());
    writeln!(member, "{line:META$}")?;
    member.finish()
}

/// Writes all callbacks in their order, without those that no reader would take: of a context or an event that is not in the file. One may
/// be missing that a thread was just making when the process ended. Gives how many were written.
fn write_lines(out: &mut impl Write, callbacks: u64, memory: &Memory, words: &Words<'_>) -> io::Result<u64> {
    let mut lanes: Vec<Records<'_>> = memory.lanes().collect();
    let mut heads: Vec<Option<Record>> = lanes.iter_mut().map(Iterator::next).collect();
    let head = |heads: &[Option<Record>], lane: usize| heads[lane].map(|record| Reverse((record.sequence, lane)));
    let mut order: BinaryHeap<_> = (0..lanes.len()).filter_map(|lane| head(&heads, lane)).collect();
    let (mut seen, mut tids, mut lines) = (Seen::default(), FxHashMap::default(), 0);
    while let Some(Reverse((sequence, lane))) = order.pop() {
        // made since the end began
        if sequence >= callbacks {
            break;
        }
        let Some(mut record) = heads[lane].take() else { break };
        heads[lane] = lanes[lane].next();
        order.extend(head(&heads, lane));
        if !seen.take(&mut record.what)? {
            continue;
        }
        let known = tids.len() as u32;
        let tid = *tids.entry(record.thread).or_insert(known + 1);
        writeln!(out, "{}", Line { record: &record, tid, words })?;
        lines += 1;
    }
    Ok(lines)
}

/// What the lines so far gave out: what NCCL calls a context or an event, and its number in the file, which is never given twice.
#[derive(Default)]
struct Seen {
    contexts: FxHashMap<u64, u64>,
    events: FxHashMap<u64, u64>,
    started: u64,
    made: u64,
}

impl Seen {
    /// Notes what a callback gives out, and puts the file's numbers in the place of NCCL's; a parent that is not in the file becomes
    /// none. False when the callback is about what is not in the file.
    ///
    /// # Errors
    /// When there is no memory: there may be millions.
    fn take(&mut self, what: &mut What) -> io::Result<bool> {
        let is_known = match what {
            What::Init { context, .. } => {
                self.made += 1;
                make_room(&mut self.contexts)?;
                self.contexts.insert(*context, self.made);
                *context = self.made;
                true
            }
            What::Start { context, handle, parent, .. } => {
                *parent = self.events.get(parent).copied().unwrap_or(0);
                let known = replace(context, &self.contexts);
                // NCCL holds a step that it starts again by the same number, and means the new one
                if known {
                    self.started += 1;
                    make_room(&mut self.events)?;
                    self.events.insert(*handle, self.started);
                    *handle = self.started;
                } else {
                    self.events.remove(handle);
                }
                known
            }
            What::State { handle, state, .. } => *state >= 0 && replace(handle, &self.events),
            What::Stop { handle } | What::Kernel { handle, .. } => replace(handle, &self.events),
            What::Finalize { context } => replace(context, &self.contexts),
        };
        Ok(is_known)
    }
}

/// For one more.
fn make_room(numbers: &mut FxHashMap<u64, u64>) -> io::Result<()> {
    numbers.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory.into())
}

/// Puts the file's number in the place of NCCL's, if it has one.
fn replace(number: &mut u64, numbers: &FxHashMap<u64, u64>) -> bool {
    numbers.get(number).map(|known| *number = *known).is_some()
}

/// Name of this host.
fn host() -> String {
    let mut name = [0_u8; 256];
    // SAFETY: gethostname writes at most the length given; the last byte stays 0.
    let told = unsafe { libc::gethostname(name.as_mut_ptr().cast(), name.len() - 1) } == 0;
    let host = CStr::from_bytes_until_nul(&name).ok().filter(|host| told && !host.is_empty());
    host.map_or_else(|| "unknown".to_owned(), |host| host.to_string_lossy().replace('/', "-"))
}

#[cfg(test)]
mod tests {
    use super::super::event::Event;
    use super::super::line::Communicator;
    use super::super::strings::Strings;
    use super::*;
    use flate2::bufread::MultiGzDecoder;
    use std::fs;
    use std::io::Read;

    const EVENT: Event = Event::Group;

    /// The text of a file with these callbacks, by place in the order, of that many made.
    fn text(callbacks: u64, all: &[(u64, What)]) -> (u64, String) {
        let directory = std::env::temp_dir().join(format!("scorep-nccl-file-{}-{callbacks}", std::process::id()));
        let place = Place::new(&directory).unwrap();
        let memory = Memory::new(1 << 20).unwrap();
        for (sequence, what) in all {
            assert!(memory.push(Record { sequence: *sequence, time: 7, thread: 40, rank: 0, what: *what }));
        }
        let communicators = [Communicator { id: 1, name: None, nodes: 1, ranks: 2, rank: 0 }];
        let strings = Strings::new().unwrap();
        let words = Words::new(&strings, &communicators);
        let process = r#"{"host":"a"}"#.to_owned();
        let meta = Meta { missed: 0, version: 6, mask: 1, pid: 2, real0: 3, mono0: 4, full: 0, process };
        let dropped = write(&place, &meta, callbacks, &memory, &words).unwrap();
        let bytes = fs::read(place.file()).unwrap();
        let mut text = String::new();
        MultiGzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        fs::remove_dir_all(directory).unwrap();
        (dropped, text)
    }

    #[test]
    fn the_file_goes_on_behind_a_callback_that_is_missing() {
        let init = What::Init { context: 1, introduction: 0 };
        let start = What::Start { context: 1, handle: 1, parent: 99, event: EVENT };
        // of the two that are missing one is a start, whose stop is left out, too
        let stops = [(3, What::Stop { handle: 1 }), (5, What::Stop { handle: 2 }), (6, What::Finalize { context: 1 })];
        let (dropped, text) = text(6, &[&[(0, init), (1, start)], &stops[..]].concat());
        assert_eq!((dropped, text.lines().count()), (3, 4));
        assert!(text.lines().nth(3).unwrap().contains(r#""cb":"stop""#));
        let meta = r#"{"cb":"meta","format":1,"api":6,"mask":1,"pid":2,"real0":3,"mono0":4,"dropped":3,"process":{"host":"a"}}"#;
        assert_eq!(text.lines().next().unwrap().trim_end(), meta);
        // the parent was never started
        assert!(text.contains(r#""type":"Group","parent":0,"#));
        assert!(text.lines().nth(1).unwrap().starts_with(r#"{"t":7,"tid":1,"cb":"init""#));
    }

    #[test]
    fn what_no_reader_would_take_is_left_out_and_counted() {
        let init = What::Init { context: 1, introduction: 0 };
        let foreign = What::Start { context: 0, handle: 1, parent: 0, event: EVENT };
        let of_foreign = What::State { handle: 1, state: 9, value: None };
        let odd = [What::Stop { handle: 0 }, What::Finalize { context: 7 }, What::Stop { handle: 1 << 40 }];
        let end = What::Finalize { context: 1 };
        let all: Vec<What> = [init, foreign, of_foreign].into_iter().chain(odd).chain([end]).collect();
        let all: Vec<(u64, What)> = (0..).zip(all).collect();
        let (dropped, text) = text(7, &all);
        assert_eq!((dropped, text.lines().count()), (5, 3));
    }
}
