//! Operations of one communicator that all its ranks have.

use crate::arrivals::Arrival;
use crate::name::Name;

/// A rank of the communicator.
#[derive(Debug)]
pub(super) struct Member {
    rank: i32,
    /// By operation; times on a clock that all members share.
    arrivals: Vec<Arrival>,
    /// The first arrival that was not passed yet.
    next: usize,
    /// How late it was, where it was, nanoseconds.
    late: Vec<f64>,
    /// Operations in which it was last.
    last: u64,
}

impl Member {
    /// From arrivals in any order.
    pub(super) fn new(rank: i32, mut arrivals: Vec<Arrival>) -> Self {
        // as they come, they mostly are in order; names that only one process has seen have other numbers here
        if !arrivals.is_sorted_by_key(Arrival::operation) {
            arrivals.sort_unstable_by_key(Arrival::operation);
        }
        Self { rank, arrivals, next: 0, late: Vec::new(), last: 0 }
    }

    /// When it arrived at an operation, if it has it once. To be asked in ascending order.
    fn time(&mut self, operation: (Name, u64, u32)) -> Option<u64> {
        self.next += self.arrivals[self.next..].iter().take_while(|arrival| arrival.operation() < operation).count();
        match self.arrivals[self.next..] {
            [arrival, another, ..] if arrival.operation() == operation && another.operation() == operation => None,
            [arrival, ..] if arrival.operation() == operation => Some(arrival.time),
            _ => None,
        }
    }

    pub(super) fn rank(&self) -> i32 {
        self.rank
    }

    pub(super) fn last(&self) -> u64 {
        self.last
    }

    /// Mean lateness of so many operations, nanoseconds; `None` when it was never late.
    pub(super) fn mean(&self, operations: u64) -> Option<f64> {
        (!self.late.is_empty()).then(|| self.late.iter().sum::<f64>() / operations as f64)
    }

    /// What its lateness is at most in 99 of 100 operations, nanoseconds; `None` when it was never late.
    pub(super) fn p99(&mut self, operations: u64) -> Option<f64> {
        if self.late.is_empty() {
            return None;
        }
        let above = (operations / 100) as usize;
        // it was late in fewer: then in 99 of 100 it was not
        let Some(place) = self.late.len().checked_sub(above + 1) else { return Some(0.0) };
        Some(*self.late.select_nth_unstable_by(place, f64::total_cmp).1)
    }
}

/// Compares the members' arrivals at each operation that all of them have; what is not above `error` nanoseconds is no lateness. How many
/// operations these were.
pub(super) fn compare(members: &mut [Member], nanoseconds_per_tick: f64, error: f64) -> u64 {
    // no operation of all is missing from the member with the fewest
    let Some(fewest) = (0..members.len()).min_by_key(|&member| members[member].arrivals.len()) else { return 0 };
    let mut operations = 0;
    let mut times = Vec::with_capacity(members.len());
    for place in 0..members[fewest].arrivals.len() {
        let operation = members[fewest].arrivals[place].operation();
        times.clear();
        times.extend(members.iter_mut().map_while(|member| member.time(operation)));
        if times.len() < members.len() {
            continue;
        }
        operations += 1;
        let nanoseconds = |ticks: u64| ticks as f64 * nanoseconds_per_tick;
        let earliest = times.iter().copied().min().unwrap_or(0);
        let (mut latest, mut before_it) = ((0, 0), 0);
        for (place, (member, &time)) in members.iter_mut().zip(&times).enumerate() {
            let late = nanoseconds(time - earliest);
            if late > error {
                member.late.push(late);
            }
            if time >= latest.1 {
                before_it = latest.1;
                latest = (place, time);
            } else {
                before_it = before_it.max(time);
            }
        }
        if nanoseconds(latest.1 - before_it) > error {
            members[latest.0].last += 1;
        }
    }
    operations
}
