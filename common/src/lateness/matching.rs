//! Operations of one communicator that all its ranks have.

use crate::event::name::Name;
use crate::figures::arrivals::Arrival;

/// When a member began an operation, on a clock that all members share; ticks of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Moment {
    /// Function, sequence number and occurrence.
    pub(super) operation: (Name, u64, u32),
    /// When it most likely began.
    pub(super) time: u64,
    /// When it was over.
    pub(super) stop: u64,
    /// How much earlier and how much later both may be, alike.
    pub(super) clock: [f64; 2],
    /// The same either way, since clocks of nodes are not known better.
    pub(super) nodes: f64,
    /// How much earlier and how much later it may have begun besides.
    pub(super) begin: [f64; 2],
    /// CUDA's events have timed it, on a clock of their own.
    pub(super) by_events: bool,
}

/// A rank of the communicator.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) rank: i32,
    pub(super) process: u32,
    /// By operation.
    arrivals: Vec<Arrival>,
    /// The first one that was not passed yet.
    next: usize,
}

impl Member {
    /// From arrivals in any order.
    pub(super) fn new(process: u32, rank: i32, mut arrivals: Vec<Arrival>) -> Self {
        // as they come, they mostly are in order; names that only one process has seen have other numbers here
        if !arrivals.is_sorted_by_key(Arrival::operation) {
            arrivals.sort_unstable_by_key(Arrival::operation);
        }
        Self { rank, process, arrivals, next: 0 }
    }

    /// Its arrivals, by operation.
    pub(super) fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Its part in an operation.
    pub(super) fn part_in(&self, operation: (Name, u64, u32)) -> Option<&Arrival> {
        self.arrivals.get(self.arrivals.binary_search_by_key(&operation, Arrival::operation).ok()?)
    }

    /// Its part in an operation, if it has it once. To be asked in ascending order.
    fn arrival(&mut self, operation: (Name, u64, u32)) -> Option<Arrival> {
        self.next += self.arrivals[self.next..].iter().take_while(|arrival| arrival.operation() < operation).count();
        match self.arrivals[self.next..] {
            [arrival, another, ..] if arrival.operation() == operation && another.operation() == operation => None,
            [arrival, ..] if arrival.operation() == operation => Some(arrival),
            _ => None,
        }
    }
}

/// Gives `each` the members' arrivals at each operation that all of them have.
pub(super) fn for_each(members: &mut [Member], mut each: impl FnMut(&[Arrival])) {
    // no operation of all is missing from the member with the fewest
    let Some(fewest) = (0..members.len()).min_by_key(|&member| members[member].arrivals.len()) else { return };
    members.iter_mut().for_each(|member| member.next = 0);
    let mut arrivals = Vec::with_capacity(members.len());
    for place in 0..members[fewest].arrivals.len() {
        let operation = members[fewest].arrivals[place].operation();
        arrivals.clear();
        arrivals.extend(members.iter_mut().map_while(|member| member.arrival(operation)));
        if arrivals.len() == members.len() {
            each(&arrivals);
        }
    }
}
