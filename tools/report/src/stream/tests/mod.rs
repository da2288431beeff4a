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

/// Runs the stream over a made job.
fn hear(made: &MadeJob) -> (Heard, StreamCounts, CommonClock) {
    hear_tables(&made.job, &made.table)
}

fn hear_tables(job: &Job, table: &InMemory) -> (Heard, StreamCounts, CommonClock) {
    let clocks = CommonClock::of(job, table).unwrap();
    let mut heard = Heard::default();
    let counts = run(job, table, &clocks, &mut [&mut heard]).unwrap();
    (heard, counts, clocks)
}
