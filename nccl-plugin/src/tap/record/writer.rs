//! Who writes a recording: its lines in the true order of the callbacks, without those that no reader would take, part
//! by part.

use super::event::What;
use super::file::{Head, Parts};
use super::line::{Communicator, Line, Words};
use super::memory::Memory;
use super::order::Order;
use super::seen::Seen;
use super::strings::Strings;
use rustc_hash::FxHashMap;
use std::io::{self, Write};

/// What was written so far.
#[derive(Debug)]
pub(super) struct Writer {
    pub(super) parts: Parts,
    order: Order,
    seen: Seen,
    /// Numbers of threads in the file.
    tids: FxHashMap<u32, u32>,
    /// What inits told that are not written yet, by number.
    pub(super) communicators: FxHashMap<u32, Communicator>,
    /// Lines of callbacks.
    lines: u64,
    /// Nothing more is written: it is ended, or could not be written on.
    pub(super) is_over: bool,
}

/// Up to where a part goes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Places in the order below this.
    pub(super) callbacks: u64,
    /// Callbacks besides that have no place.
    pub(super) missed: u64,
    /// The process ends now, nanoseconds since the recording began.
    pub(super) end: Option<u64>,
}

impl Writer {
    pub(super) fn new(parts: Parts) -> Self {
        Self {
            parts,
            order: Order::default(),
            seen: Seen::default(),
            tids: FxHashMap::default(),
            communicators: FxHashMap::default(),
            lines: 0,
            is_over: false,
        }
    }

    /// Writes a part, if there is something to write, or what the head says of those that are missing. Gives how many
    /// callbacks are not in the file by then. A callback may be missing that a thread is just making.
    ///
    /// # Errors
    /// When it cannot be written; then none of it is there, and nothing will be behind it.
    pub(super) fn write(&mut self, memory: &Memory, strings: &Strings, head: Head, span: Span) -> io::Result<u64> {
        let Self { parts, order, seen, tids, communicators, lines, is_over } = self;
        let dropped = |lines: u64| span.callbacks.saturating_sub(lines).saturating_add(span.missed);
        if *is_over {
            return Ok(dropped(*lines));
        }
        if span.end.is_none() && !order.has(memory, span.callbacks) {
            // callbacks go on when the memory is full, and the process may be killed any time
            let head = Head { dropped: dropped(*lines), ..head };
            let dropped = head.dropped;
            let renewed = parts.renew_head(head);
            *is_over = renewed.is_err();
            return renewed.map(|()| dropped);
        }
        let introductions = &*communicators;
        let words = Words::new(strings, introductions);
        let mut introduced = Vec::new();
        let mut count = *lines;
        let part = |out: &mut dyn Write| {
            order.take(memory, span.callbacks, |mut record, is_late| {
                let mut is_lost = is_late;
                if let What::Init { introduction, .. } = record.what {
                    introduced.push(introduction);
                    // one that was under way for so long that nobody has waited for it: it came after this part's had
                    // been taken
                    is_lost |= !introductions.contains_key(&introduction);
                }
                if is_lost {
                    seen.lose(&record.what);
                } else if seen.take(&mut record.what)? {
                    let known = tids.len() as u32;
                    let tid = *tids.entry(record.thread).or_insert(known + 1);
                    count += 1;
                    write_line(out, &Line { record: &record, tid, words: &words })?;
                }
                Ok(())
            })?;
            if let Some(time) = span.end {
                writeln!(out, r#"{{"t":{time},"tid":1,"cb":"end"}}"#)?;
            }
            Ok(count)
        };
        let written = parts.add(head, span.end.is_some(), part, |&count| dropped(count));
        introduced.iter().for_each(|number| _ = communicators.remove(number));
        *is_over = span.end.is_some() || written.is_err();
        *lines = written?;
        if *is_over {
            parts.close()?;
        }
        Ok(dropped(*lines))
    }
}

fn write_line(out: &mut dyn Write, line: &Line<'_>) -> io::Result<()> {
    writeln!(out, "{line}")
}

#[cfg(test)]
mod tests {
    use super::super::event::{Event, Record};
    use super::*;
    use flate2::bufread::MultiGzDecoder;
    use std::fs;
    use std::io::Read;

    const EVENT: Event = Event::Group;
    const INIT: What = What::Init { context: 1, introduction: 0 };

    fn head() -> Head {
        let process = r#"{"host":"a"}"#.to_owned();
        Head { version: 6, mask: 1, pid: 2, real0: 3, mono0: 4, dropped: 0, full: 0, process }
    }

    /// A recording in a directory of its own.
    struct Trial {
        directory: std::path::PathBuf,
        writer: Writer,
        memory: Memory,
        strings: Strings,
    }

    impl Trial {
        fn new() -> Self {
            let directory = std::env::temp_dir().join(format!("scorep-nccl-writer-{:016x}", common::files::random()));
            let mut writer = Writer::new(Parts::new(&directory).unwrap());
            writer.communicators.insert(0, Communicator { id: 1, name: None, nodes: 1, ranks: 2, rank: 0 });
            Self { directory, writer, memory: Memory::new(1 << 20).unwrap(), strings: Strings::new().unwrap() }
        }

        /// Callbacks by place in the order.
        fn push(&self, all: &[(u64, What)]) {
            for &(sequence, what) in all {
                let record = Record { sequence, time: 7, thread: 40, rank: 0, what };
                assert!(self.memory.enter().unwrap().push(record));
            }
        }

        fn write(&mut self, callbacks: u64, end: Option<u64>) -> u64 {
            self.writer.write(&self.memory, &self.strings, head(), Span { callbacks, missed: 0, end }).unwrap()
        }

        fn text(&self) -> String {
            let files: Vec<_> = self.directory.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
            assert_eq!(files, [self.writer.parts.place()]);
            let mut text = String::new();
            MultiGzDecoder::new(fs::read(&files[0]).unwrap().as_slice()).read_to_string(&mut text).unwrap();
            text
        }
    }

    impl Drop for Trial {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.directory);
        }
    }

    /// The text of a file with these callbacks, of that many made.
    fn text(callbacks: u64, all: &[(u64, What)]) -> (u64, String) {
        let mut trial = Trial::new();
        trial.push(all);
        (trial.write(callbacks, Some(9)), trial.text())
    }

    #[test]
    fn the_file_goes_on_behind_a_callback_that_is_missing() {
        let start = What::Start { context: 1, handle: 1, parent: 99, event: EVENT };
        // of the two that are missing one is a start, whose stop is left out, too
        let stops = [(3, What::Stop { handle: 1 }), (5, What::Stop { handle: 2 }), (6, What::Finalize { context: 1 })];
        let (dropped, text) = text(6, &[&[(0, INIT), (1, start)], &stops[..]].concat());
        assert_eq!((dropped, text.lines().count()), (3, 5));
        assert!(text.lines().nth(3).unwrap().contains(r#""cb":"stop""#));
        assert_eq!(text.lines().nth(4), Some(r#"{"t":9,"tid":1,"cb":"end"}"#));
        let head = r#"{"cb":"meta","format":1,"api":6,"mask":1,"pid":2,"real0":3,"mono0":4,"dropped":3,"ends":1,"process":{"host":"a"}}"#;
        assert_eq!(text.lines().next().unwrap().trim_end(), head);
        // the parent was never started
        assert!(text.contains(r#""type":"Group","parent":0,"#));
        assert!(text.lines().nth(1).unwrap().starts_with(r#"{"t":7,"tid":1,"cb":"init""#));
    }

    #[test]
    fn what_no_reader_would_take_is_left_out_and_counted() {
        let foreign = What::Start { context: 0, handle: 1, parent: 0, event: EVENT };
        let of_foreign = What::State { handle: 1, state: 9, value: None };
        let odd = [What::Stop { handle: 0 }, What::Finalize { context: 7 }, What::Stop { handle: 1 << 40 }];
        let end = What::Finalize { context: 1 };
        let all: Vec<What> = [INIT, foreign, of_foreign].into_iter().chain(odd).chain([end]).collect();
        let all: Vec<(u64, What)> = (0..).zip(all).collect();
        let (dropped, text) = text(7, &all);
        assert_eq!((dropped, text.lines().count()), (5, 4));
    }

    #[test]
    fn parts_are_one_text_whenever_they_are_written() {
        let start = |handle, parent| What::Start { context: 1, handle, parent, event: EVENT };
        let all = [
            INIT,
            start(5, 0),
            start(6, 5),
            What::Stop { handle: 6 },
            start(6, 5),
            What::Stop { handle: 6 },
            What::Stop { handle: 5 },
        ];
        let all: Vec<(u64, What)> = (0..).zip(all).collect();
        let (_, at_once) = text(7, &all);
        let mut trial = Trial::new();
        for (place, callback) in (1..).zip(&all) {
            trial.push(std::slice::from_ref(callback));
            assert_eq!(trial.write(place, None), 0);
            // what is there is whole
            assert_eq!(trial.text().lines().count() as u64, place + 1);
            // nothing new is nothing written
            let length = fs::metadata(trial.writer.parts.place()).unwrap().len();
            trial.write(place, None);
            assert_eq!(fs::metadata(trial.writer.parts.place()).unwrap().len(), length);
        }
        assert_eq!((trial.write(7, Some(9)), trial.text()), (0, at_once));
        // it is over
        trial.push(&[(7, What::Stop { handle: 5 })]);
        trial.write(8, Some(10));
        assert_eq!(trial.text().lines().count(), 9);
    }

    #[test]
    fn an_init_whose_introduction_is_not_there_is_lost_alone() {
        let start = |context, handle| What::Start { context, handle, parent: 0, event: EVENT };
        let late = What::Init { context: 2, introduction: 1 };
        let all = [(0, INIT), (1, late), (2, start(1, 5)), (3, start(2, 6)), (4, What::Stop { handle: 5 })];
        let (dropped, text) = text(5, &all);
        assert_eq!((dropped, text.lines().count()), (2, 5));
        assert_eq!(text.matches(r#""cb":"init""#).count(), 1);
    }

    #[test]
    fn what_comes_too_late_is_counted_and_so_is_what_is_about_it() {
        let start = |handle| What::Start { context: 1, handle, parent: 0, event: EVENT };
        let mut trial = Trial::new();
        // a step that is started twice under one number: the second start is late
        trial.push(&[(0, INIT), (1, start(5)), (3, start(6))]);
        assert_eq!(trial.write(4, None), 1);
        trial.push(&[
            (2, start(5)),
            (4, What::State { handle: 5, state: 1, value: None }),
            (5, What::Stop { handle: 6 }),
        ]);
        assert_eq!(trial.write(6, Some(9)), 2);
        let text = trial.text();
        assert!(text.lines().count() == 6 && !text.contains("state\":1") && text.contains(r#""dropped":2"#), "{text}");
    }
}
