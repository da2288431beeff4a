//! The writer of a recording. It writes lines in the order of the callbacks, part by part, without the callbacks that a
//! reader would refuse.

use super::event::{CallbackFields, Record};
use super::file::FileParts;
use super::memory::Memory;
use super::numbers::FileNumbers;
use super::order::ReadOrder;
use super::strings::{RecordedStrings, StringsOfPart};
use common::conditions::{self, ConditionRow};
use recording::{Content, IntroducedCommunicator, Meta, write_conditions};
use rustc_hash::FxHashMap;
use std::cell::Cell;
use std::io::{self, Write};

/// State of the file between two parts.
#[derive(Debug)]
pub(super) struct RecordWriter {
    pub(super) parts: FileParts,
    order: ReadOrder,
    numbers: FileNumbers,
    /// Communicators whose end is not written yet, by number.
    pub(super) communicators: FxHashMap<u32, IntroducedCommunicator>,
    /// The inits of communicators whose end is not written yet: a file that replaces a removed one begins with them.
    open: Vec<Record>,
    /// Number of lines for callbacks.
    lines: u64,
    /// Nothing more is written: the file has ended, or writing has failed.
    pub(super) is_over: bool,
}

/// The callbacks that a part covers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    /// Callbacks with places in the order below this.
    pub(super) callbacks: u64,
    /// Number of callbacks without a place in the order.
    pub(super) missed: u64,
    /// At the end of the process, the time of the end in nanoseconds since the recording began.
    pub(super) end: Option<u64>,
}

impl RecordWriter {
    pub(super) fn new(parts: FileParts) -> Self {
        Self {
            parts,
            order: ReadOrder::default(),
            numbers: FileNumbers::default(),
            communicators: FxHashMap::default(),
            open: Vec::new(),
            lines: 0,
            is_over: false,
        }
    }

    /// Writes a part, or without new records only a head with the current number of dropped callbacks. Returns the
    /// number of callbacks that the file then lacks, which may include callbacks in progress.
    ///
    /// # Errors
    /// If the part cannot be written; then the file holds nothing of it, and nothing follows.
    pub(super) fn write(
        &mut self,
        memory: &Memory,
        strings: &RecordedStrings,
        meta: Meta<String>,
        span: Span,
    ) -> io::Result<u64> {
        let Self { parts, order, numbers, communicators, open, lines, is_over } = self;
        let dropped = |lines: u64| span.callbacks.saturating_sub(lines).saturating_add(span.missed);
        if *is_over {
            return Ok(dropped(*lines));
        }
        if span.end.is_none() && !order.has(memory, span.callbacks) {
            // the head stays current: when the memory is full, callbacks go on, and the process may be killed at any
            // time
            let dropped = dropped(*lines);
            let renewed = parts.renew_meta(Meta { dropped, ..meta });
            *is_over = renewed.is_err();
            return renewed.map(|()| dropped);
        }
        let mono0 = meta.mono0;
        let mut again = Vec::new();
        if parts.begins_again() {
            (*numbers, *lines) = (FileNumbers::default(), 0);
            again = std::mem::take(open);
        }
        let introductions = &*communicators;
        let strings = StringsOfPart::new(strings);
        let mut ended = Vec::new();
        let count = Cell::new(*lines);
        let mut add = |out: &mut dyn Write, record: Record, is_late: bool| {
            let line = if is_late {
                numbers.lose(&record.what);
                None
            } else {
                numbers.line(&record, introductions)?
            };
            let Some(line) = line else {
                ended.extend(introduction(&record));
                return Ok(());
            };
            match record.what {
                CallbackFields::Init { .. } => open.push(record),
                CallbackFields::Finalize { context } => ended
                    .extend(open.extract_if(.., |init| is_of(init, context)).filter_map(|init| introduction(&init))),
                _ => {}
            }
            count.set(count.get() + 1);
            line.write(out, &strings)
        };
        let part = |out: &mut dyn Write| {
            again.into_iter().try_for_each(|init| add(out, init, false))?;
            order.take(memory, span.callbacks, |record, is_late| add(out, record, is_late))?;
            // after the callbacks: readers need neither in the order of the other
            for row in conditions::take_new() {
                write_conditions(out, &ConditionRow { until: row.until.saturating_sub(mono0), ..row })?;
            }
            if let Some(time) = span.end {
                Content::End(time).write(out, &strings)?;
            }
            Ok(count.get())
        };
        let written = parts.add(meta, span.end.is_some(), part, |&count| dropped(count));
        ended.iter().for_each(|number| _ = communicators.remove(number));
        *is_over = span.end.is_some() || written.is_err();
        *lines = written?;
        if *is_over {
            parts.close()?;
        }
        Ok(dropped(*lines))
    }
}

/// Returns the number of the description of a communicator whose init this is.
fn introduction(record: &Record) -> Option<u32> {
    if let CallbackFields::Init { introduction, .. } = record.what { Some(introduction) } else { None }
}

/// Returns whether this is the init of that communicator.
fn is_of(record: &Record, communicator: u64) -> bool {
    matches!(record.what, CallbackFields::Init { context, .. } if context == communicator)
}

#[cfg(test)]
mod tests {
    use super::super::strings::StringNumber;
    use super::*;
    use flate2::bufread::MultiGzDecoder;
    use recording::RecordedEvent;
    use std::fs;
    use std::io::Read;

    const EVENT: RecordedEvent<StringNumber> = RecordedEvent::Group;
    const INIT: CallbackFields = CallbackFields::Init { context: 1, introduction: 0 };

    fn meta() -> Meta<String> {
        let origin = r#"{"host":"a"}"#.to_owned();
        Meta { api: 6, mask: 1, pid: 2, real0: 3, mono0: 4, dropped: 0, full: None, origin }
    }

    fn introduced(comm: u64) -> IntroducedCommunicator {
        IntroducedCommunicator { comm, name: None, nnodes: 1, nranks: 2, rank: 0 }
    }

    /// A writer with a directory of its own.
    struct Trial {
        directory: std::path::PathBuf,
        writer: RecordWriter,
        memory: Memory,
        strings: RecordedStrings,
    }

    impl Trial {
        fn new() -> Self {
            let directory = std::env::temp_dir().join(format!("scorep-nccl-writer-{:016x}", common::files::random()));
            let mut writer = RecordWriter::new(FileParts::new(&directory).unwrap());
            writer.communicators.insert(0, introduced(1));
            Self { directory, writer, memory: Memory::new(1 << 20).unwrap(), strings: RecordedStrings::new().unwrap() }
        }

        /// Keeps callbacks, given with their places in the order.
        fn push(&self, all: &[(u64, CallbackFields)]) {
            for &(sequence, what) in all {
                let record = Record { sequence, time: 7, thread: 40, rank: 0, what };
                assert!(self.memory.enter().unwrap().push(record));
            }
        }

        fn write(&mut self, callbacks: u64, end: Option<u64>) -> u64 {
            self.writer.write(&self.memory, &self.strings, meta(), Span { callbacks, missed: 0, end }).unwrap()
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

    /// Returns the number of dropped callbacks and the text of a file with these callbacks, out of `callbacks`.
    fn text(callbacks: u64, all: &[(u64, CallbackFields)]) -> (u64, String) {
        let mut trial = Trial::new();
        trial.push(all);
        (trial.write(callbacks, Some(9)), trial.text())
    }

    #[test]
    fn the_file_goes_on_behind_a_callback_that_is_missing() {
        let start = CallbackFields::Start { context: 1, handle: 1, parent: 99, event: EVENT };
        // one of the two missing callbacks is a start; its stop is left out, too
        let stops = [
            (3, CallbackFields::Stop { handle: 1 }),
            (5, CallbackFields::Stop { handle: 2 }),
            (6, CallbackFields::Finalize { context: 1 }),
        ];
        let (dropped, text) = text(6, &[&[(0, INIT), (1, start)], &stops[..]].concat());
        assert_eq!((dropped, text.lines().count()), (3, 5));
        assert!(text.lines().nth(3).unwrap().contains(r#""cb":"stop""#));
        assert_eq!(text.lines().nth(4), Some(r#"{"t":9,"tid":1,"cb":"end"}"#));
        let head = r#"{"cb":"meta","format":1,"api":6,"mask":1,"pid":2,"real0":3,"mono0":4,"dropped":3,"ends":1,"process":{"host":"a"}}"#;
        assert_eq!(text.lines().next().unwrap().trim_end(), head);
        // the parent is not in the file
        assert!(text.contains(r#""type":"Group","parent":0,"#));
        assert!(text.lines().nth(1).unwrap().starts_with(r#"{"t":7,"tid":1,"cb":"init""#));
    }

    #[test]
    fn what_no_reader_would_take_is_left_out_and_counted() {
        let foreign = CallbackFields::Start { context: 0, handle: 1, parent: 0, event: EVENT };
        let of_foreign = CallbackFields::State { handle: 1, state: 9, value: None };
        let odd = [
            CallbackFields::Stop { handle: 0 },
            CallbackFields::Finalize { context: 7 },
            CallbackFields::Stop { handle: 1 << 40 },
        ];
        let end = CallbackFields::Finalize { context: 1 };
        let all: Vec<CallbackFields> = [INIT, foreign, of_foreign].into_iter().chain(odd).chain([end]).collect();
        let all: Vec<(u64, CallbackFields)> = (0..).zip(all).collect();
        let (dropped, text) = text(7, &all);
        assert_eq!((dropped, text.lines().count()), (5, 4));
    }

    #[test]
    fn parts_are_one_text_whenever_they_are_written() {
        let start = |handle, parent| CallbackFields::Start { context: 1, handle, parent, event: EVENT };
        let all = [
            INIT,
            start(5, 0),
            start(6, 5),
            CallbackFields::Stop { handle: 6 },
            start(6, 5),
            CallbackFields::Stop { handle: 6 },
            CallbackFields::Stop { handle: 5 },
        ];
        let all: Vec<(u64, CallbackFields)> = (0..).zip(all).collect();
        let (_, at_once) = text(7, &all);
        let mut trial = Trial::new();
        for (place, callback) in (1..).zip(&all) {
            trial.push(std::slice::from_ref(callback));
            assert_eq!(trial.write(place, None), 0);
            // every part is complete
            assert_eq!(trial.text().lines().count() as u64, place + 1);
            // without new callbacks nothing is written
            let length = fs::metadata(trial.writer.parts.place()).unwrap().len();
            trial.write(place, None);
            assert_eq!(fs::metadata(trial.writer.parts.place()).unwrap().len(), length);
        }
        assert_eq!((trial.write(7, Some(9)), trial.text()), (0, at_once));
        // nothing more is written after the end
        trial.push(&[(7, CallbackFields::Stop { handle: 5 })]);
        trial.write(8, Some(10));
        assert_eq!(trial.text().lines().count(), 9);
    }

    #[test]
    fn an_init_whose_introduction_is_not_there_is_lost_alone() {
        let start = |context, handle| CallbackFields::Start { context, handle, parent: 0, event: EVENT };
        let late = CallbackFields::Init { context: 2, introduction: 1 };
        let all = [(0, INIT), (1, late), (2, start(1, 5)), (3, start(2, 6)), (4, CallbackFields::Stop { handle: 5 })];
        let (dropped, text) = text(5, &all);
        assert_eq!((dropped, text.lines().count()), (2, 5));
        assert_eq!(text.matches(r#""cb":"init""#).count(), 1);
    }

    #[test]
    fn a_file_that_was_removed_is_followed_by_one_with_the_communicators_that_live() {
        let start = |context, handle| CallbackFields::Start { context, handle, parent: 0, event: EVENT };
        let ended = [CallbackFields::Init { context: 2, introduction: 1 }, CallbackFields::Finalize { context: 2 }];
        let mut trial = Trial::new();
        trial.writer.communicators.insert(1, introduced(2));
        trial.push(&[(0, INIT), (1, ended[0]), (2, start(1, 5)), (3, ended[1])]);
        assert_eq!(trial.write(4, None), 0);
        assert_eq!(trial.writer.communicators.len(), 1, "of the one that lives");
        fs::remove_dir_all(&trial.directory).unwrap();
        trial.push(&[
            (4, CallbackFields::Stop { handle: 5 }),
            (5, start(1, 6)),
            (6, CallbackFields::Stop { handle: 6 }),
        ]);
        assert_eq!(
            trial.write(7, Some(9)),
            4,
            "all but the init are lost with the file, and so is the stop of event 5"
        );
        let text = trial.text();
        let kinds =
            ["meta", "init", "start", "stop", "end"].map(|kind| text.matches(&format!("\"cb\":\"{kind}\"")).count());
        assert_eq!(kinds, [1; 5], "{text}");
    }

    #[test]
    fn what_comes_too_late_is_counted_and_so_is_what_is_about_it() {
        let start = |handle| CallbackFields::Start { context: 1, handle, parent: 0, event: EVENT };
        let mut trial = Trial::new();
        // the step is started twice under one number, and the second start is late
        trial.push(&[(0, INIT), (1, start(5)), (3, start(6))]);
        assert_eq!(trial.write(4, None), 1);
        trial.push(&[
            (2, start(5)),
            (4, CallbackFields::State { handle: 5, state: 1, value: None }),
            (5, CallbackFields::Stop { handle: 6 }),
        ]);
        assert_eq!(trial.write(6, Some(9)), 2);
        let text = trial.text();
        assert!(text.lines().count() == 6 && !text.contains("state\":1") && text.contains(r#""dropped":2"#), "{text}");
    }
}
