//! Matches the operations that all ranks of a communicator have.

use crate::event::name::NcclName;
use crate::figures::arrivals::Arrival;
use crate::lateness::clock_tree::Uncertainty;

/// A member's begin and end of an operation on a clock that all members share, in ticks of that clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct BeginEnd {
    /// Function, sequence number and occurrence.
    pub(super) operation: (NcclName, u64, u32),
    /// Most likely begin.
    pub(super) time: u64,
    /// End.
    pub(super) stop: u64,
    /// How much earlier and how much later begin and end may both be, by the GPU's clock.
    pub(super) clock: [f64; 2],
    /// The node whose clock it was read from, by the process that compared it.
    pub(super) node: u32,
    /// How far begin and end may both be off, by the nodes' clocks.
    pub(super) nodes: Uncertainty,
    /// How much earlier and how much later the begin alone may be.
    pub(super) begin: [f64; 2],
    /// Whether CUDA events have timed it, on a clock of their own.
    pub(super) by_events: bool,
    /// Whether anchors have placed the begin.
    pub(super) is_anchored: bool,
}

/// A rank of a communicator, with its arrivals.
#[derive(Debug)]
pub(super) struct ArrivalsOfMember {
    pub(super) rank: i32,
    pub(super) process: u32,
    /// Sorted by operation.
    arrivals: Vec<Arrival>,
    /// Place of the first arrival that was not passed yet.
    next: usize,
}

impl ArrivalsOfMember {
    /// Makes a member from arrivals in any order.
    pub(super) fn new(process: u32, rank: i32, mut arrivals: Vec<Arrival>) -> Self {
        // mostly sorted as they come; a name that only one process has seen has another number here
        if !arrivals.is_sorted_by_key(Arrival::operation) {
            arrivals.sort_unstable_by_key(Arrival::operation);
        }
        Self { rank, process, arrivals, next: 0 }
    }

    /// Returns its arrivals, sorted by operation.
    pub(super) fn arrivals(&self) -> &[Arrival] {
        &self.arrivals
    }

    /// Returns its arrival at an operation.
    pub(super) fn part_in(&self, operation: (NcclName, u64, u32)) -> Option<&Arrival> {
        self.arrivals.get(self.arrivals.binary_search_by_key(&operation, Arrival::operation).ok()?)
    }

    /// Returns its arrival at an operation if it has exactly one. Must be called with ascending operations.
    fn arrival(&mut self, operation: (NcclName, u64, u32)) -> Option<Arrival> {
        self.next += self.arrivals[self.next..].iter().take_while(|arrival| arrival.operation() < operation).count();
        match self.arrivals[self.next..] {
            [arrival, another, ..] if arrival.operation() == operation && another.operation() == operation => None,
            [arrival, ..] if arrival.operation() == operation => Some(arrival),
            _ => None,
        }
    }
}

/// Passes the members' arrivals at each operation that all of them have to `each`.
pub(super) fn for_each(members: &mut [ArrivalsOfMember], mut each: impl FnMut(&[Arrival])) {
    // the member with the fewest arrivals has every operation of all members
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

/// Passes the places of sender and receiver, and their arrivals, of each send and its receive to `each`. The k-th send
/// to a rank belongs to that rank's k-th receive from the sender.
pub(super) fn for_each_message(members: &[ArrivalsOfMember], mut each: impl FnMut([usize; 2], [&Arrival; 2])) {
    let [send, receive] = [c"Send", c"Recv"].map(|name| NcclName::of(Some(name)));
    for (place, sender) in members.iter().enumerate() {
        for sent in sender.arrivals().iter().filter(|arrival| arrival.function == send) {
            let peer = i32::try_from(sent.sequence).ok();
            let peer = peer.and_then(|peer| members.binary_search_by_key(&peer, |it| it.rank).ok());
            let Some((other, rank)) = peer.zip(u64::try_from(sender.rank).ok()) else { continue };
            if let Some(received) = members[other].part_in((receive, rank, sent.occurrence)) {
                each([place, other], [sent, received]);
            }
        }
    }
}
