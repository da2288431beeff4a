//! Tests on made jobs, whose times are all known.

mod chance;
mod exchanges;
mod incomplete;
mod order;
mod time;
mod waits;

use super::{Call, CommonClock, JudgedCall, Listener, Occurrence, StreamCounts, run};
use crate::job::Job;
use crate::made::{InMemory, MadeJob};

/// Keeps all that it hears.
#[derive(Debug, Default)]
struct Heard {
    occurrences: Vec<Occurrence>,
    calls: Vec<JudgedCall>,
}

impl Listener for Heard {
    fn occurrence(&mut self, _: &Job, occurrence: &Occurrence) {
        self.occurrences.push(occurrence.clone());
    }

    fn call(&mut self, _: &Job, judged: &JudgedCall) {
        assert!(self.occurrences.iter().rev().any(|it| it.number == judged.occurrence), "judged before its occurrence");
        self.calls.push(judged.clone());
    }
}

impl Heard {
    /// Returns the calls of a GPU.
    fn of(&self, gpu: usize) -> Vec<&Call> {
        self.calls.iter().map(JudgedCall::call).filter(|call| call.gpu == gpu).collect()
    }
}

/// The counts of the stream, and of the occurrences that were heard.
#[derive(Debug, Clone, Copy)]
struct HeardCounts {
    operations: u64,
    foreign: u64,
    most_held: u64,
    matched: usize,
    unmatched: usize,
    compared: usize,
}

impl HeardCounts {
    fn new(stream: StreamCounts, heard: &Heard) -> Self {
        let StreamCounts { operations, foreign, most_held } = stream;
        let count = |is: fn(&Occurrence) -> bool| heard.occurrences.iter().filter(|it| is(it)).count();
        let (matched, compared) = (count(|it| it.is_whole), count(|it| it.compared.is_some()));
        Self { operations, foreign, most_held, matched, unmatched: heard.occurrences.len() - matched, compared }
    }
}

/// Runs the stream over a made job.
fn hear(made: &MadeJob) -> (Heard, HeardCounts, CommonClock) {
    hear_tables(&made.job, &made.table)
}

fn hear_tables(job: &Job, table: &InMemory) -> (Heard, HeardCounts, CommonClock) {
    let clocks = CommonClock::read(job, table).unwrap();
    let mut heard = Heard::default();
    let counts = run(job, table, &clocks, &mut [&mut heard]).unwrap();
    let counts = HeardCounts::new(counts, &heard);
    (heard, counts, clocks)
}
