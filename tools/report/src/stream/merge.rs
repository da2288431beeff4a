//! One pass over the operations of all processes.
//!
//! The next row is read from the process whose call the oldest incomplete operation lacks. No clock decides that, so
//! wrong clocks cannot make memory grow: it holds the calls between the processes' places in the order of the program.
//! An operation that will never be complete is decided once the lacking rank has passed it, or its table has ended, or
//! more calls wait than memory should hold.

use super::clocks::CommonClock;
use super::collectives::Collectives;
use super::exchange::ExchangeNames;
use super::exchanges::Exchanges;
use super::held::{CallGroup, HeldCall, Next};
use super::judge;
use super::occurrence::{Listener, StreamCounts};
use super::order::Order;
use super::places::{MatchingPlace, Places};
use super::reading::{TableReading, TableRow};
use crate::job::{Job, OperationTables, Unreadable};

/// Reads all operations of a job once, matches them over ranks, compares their times, and passes the calls and
/// occurrences to the listeners.
///
/// # Errors
/// A table cannot be read.
pub fn run(
    job: &Job,
    table: &dyn OperationTables,
    clocks: &CommonClock,
    listeners: &mut [&mut dyn Listener],
) -> Result<StreamCounts, Unreadable> {
    let places = Places::new(job);
    let names = ExchangeNames::new();
    let mut readings = Vec::with_capacity(job.processes.len());
    for process in 0..job.processes.len() {
        readings.push(TableReading::new(process, table.operations(process)?));
    }
    let mut merge = MergedOperations {
        job,
        clocks,
        places: &places,
        names,
        collectives: Collectives::default(),
        exchanges: Exchanges::default(),
        counts: StreamCounts::default(),
        age: 0,
        occurrences: 0,
        listeners,
    };
    let mut order = Order::new(job.gpus.len(), job.processes.len());
    let mut turn = 0;
    while let Some(process) = merge.next(&readings, &mut order, &mut turn) {
        let Some(reading) = readings.get_mut(process) else { continue };
        let row =
            reading.read((&places, clocks, &names), &mut order, |order, place, held| merge.add(order, place, held))?;
        merge.counts.operations += u64::from(!matches!(row, TableRow::End));
        merge.counts.foreign += u64::from(matches!(row, TableRow::Foreign));
    }
    merge.counts.most_held = order.most as u64;
    Ok(merge.counts)
}

/// The operations under way.
struct MergedOperations<'a, 'l> {
    job: &'a Job,
    clocks: &'a CommonClock,
    places: &'a Places,
    names: ExchangeNames,
    collectives: Collectives,
    exchanges: Exchanges,
    counts: StreamCounts,
    /// Number of calls so far.
    age: u64,
    /// Number of occurrences so far.
    occurrences: u64,
    listeners: &'a mut [&'l mut dyn Listener],
}

impl MergedOperations<'_, '_> {
    /// Returns the process to read from; `None` once all were read and all operations are decided.
    fn next(&mut self, readings: &[TableReading<'_>], order: &mut Order, turn: &mut usize) -> Option<usize> {
        loop {
            let is_over =
                |process: usize| order.is_full(process) || readings.get(process).is_none_or(TableReading::is_over);
            let teams = &self.places.teams;
            let next = match (self.collectives.oldest(), self.exchanges.oldest()) {
                // nothing lacks anything: the processes take turns
                (None, None) => {
                    let all = readings.len();
                    let mut turns = (0..all).map(|step| (*turn + step) % all);
                    let process = turns.find(|&process| !readings.get(process).is_none_or(TableReading::is_over));
                    *turn = process.map_or(0, |process| process + 1);
                    return process;
                }
                (Some(collective), exchange) if exchange.is_none_or(|exchange| collective < exchange) => {
                    self.collectives.next(teams, is_over)
                }
                _ => self.exchanges.next(teams, is_over),
            };
            match next? {
                Next::Read(process) => return Some(process),
                Next::Decided(group) => self.decide(order, group),
            }
        }
    }

    fn add(&mut self, order: &mut Order, place: MatchingPlace, held: HeldCall) {
        self.age += 1;
        let (age, team) = (self.age, self.places.teams.get(place.communicator));
        let group = match place.member.zip(team) {
            // it is not known which calls of a rank that two processes claim belong to which of the others
            None => Some(CallGroup::alone(held)),
            Some((_, team)) if !held.call.messages.is_empty() => self.exchanges.add(age, team, held),
            Some((member, team)) if held.call.sequence.is_some() => self.collectives.add(age, team, member, held),
            Some(_) => Some(CallGroup::alone(held)),
        };
        if let Some(group) = group {
            self.decide(order, group);
        }
    }

    /// Compares the calls that belong together, and passes them on.
    fn decide(&mut self, order: &mut Order, group: CallGroup) {
        let CallGroup { calls, is_whole } = group;
        let Some(team) = calls.first().and_then(|held| self.places.teams.get(held.call.communicator)) else { return };
        let (from, calls): (Vec<_>, Vec<_>) =
            calls.into_iter().map(|held| ((held.process, held.number), held.call)).unzip();
        let mut occurrence = judge::occurrence(self.occurrences, calls, is_whole, team, &self.names);
        judge::compare(&mut occurrence, from.iter().map(|&(process, _)| process), self.clocks);
        self.occurrences += 1;
        for listener in &mut *self.listeners {
            listener.occurrence(self.job, &occurrence);
        }
        for (&(process, number), judged) in from.iter().zip(judge::verdicts(occurrence)) {
            order.leave(process, number, judged, |judged| {
                for listener in &mut *self.listeners {
                    listener.call(self.job, judged);
                }
            });
        }
    }
}
