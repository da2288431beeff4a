//! Operations of one communicator that all its ranks have.

use crate::name::Name;

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
    /// See [`crate::arrivals::Arrival::bytes`].
    pub(super) bytes: u64,
}

/// A rank of the communicator.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) rank: i32,
    /// By operation.
    moments: Vec<Moment>,
    /// The first moment that was not passed yet.
    next: usize,
}

impl Member {
    /// From moments in any order.
    pub(super) fn new(rank: i32, mut moments: Vec<Moment>) -> Self {
        // as they come, they mostly are in order; names that only one process has seen have other numbers here
        if !moments.is_sorted_by_key(|moment| moment.operation) {
            moments.sort_unstable_by_key(|moment| moment.operation);
        }
        Self { rank, moments, next: 0 }
    }

    /// When it began an operation, if it has it once. To be asked in ascending order.
    fn moment(&mut self, operation: (Name, u64, u32)) -> Option<Moment> {
        self.next += self.moments[self.next..].iter().take_while(|moment| moment.operation < operation).count();
        match self.moments[self.next..] {
            [moment, another, ..] if moment.operation == operation && another.operation == operation => None,
            [moment, ..] if moment.operation == operation => Some(moment),
            _ => None,
        }
    }
}

/// Gives `each` the members' moments of each operation that all of them have.
pub(super) fn for_each(members: &mut [Member], mut each: impl FnMut(&[Moment])) {
    // no operation of all is missing from the member with the fewest
    let Some(fewest) = (0..members.len()).min_by_key(|&member| members[member].moments.len()) else { return };
    members.iter_mut().for_each(|member| member.next = 0);
    let mut moments = Vec::with_capacity(members.len());
    for place in 0..members[fewest].moments.len() {
        let operation = members[fewest].moments[place].operation;
        moments.clear();
        moments.extend(members.iter_mut().map_while(|member| member.moment(operation)));
        if moments.len() == members.len() {
            each(&moments);
        }
    }
}
