//! A bounded sample of the operations of all processes, by which their clocks are compared.

use super::call::arrival;
use super::day::Day;
use super::places::Places;
use crate::job::{Job, Operation, Table, Unreadable};
use common::arrivals::{Arrival, Arrivals, RankArrivals, is_kept};
use common::name::Name;
use common::run_sums::Rank;
use rustc_hash::FxHashMap;

/// Most arrivals of a sample, of all processes.
const MOST: usize = 2_000_000;

/// Added to a communicator's id for its messages, so that they are chosen apart from its collectives.
const MESSAGES: u64 = 0x5eed;

/// The sample, and the first and the last time of each process, both by place in the clock tree.
#[derive(Debug)]
pub(super) struct Sample {
    pub(super) arrivals: Vec<Arrivals>,
    pub(super) spans: Vec<[u64; 2]>,
}

/// The arrivals of a rank.
#[derive(Debug)]
struct OfRank {
    rank: Rank,
    arrivals: Vec<Arrival>,
    /// Number of messages so far by peer and direction.
    messages: FxHashMap<(i32, bool), u32>,
}

/// Both ends of a message, and its number, are one operation.
fn message(own: i32, peer: i32, is_send: bool) -> u64 {
    let (from, to) = if is_send { (own, peer) } else { (peer, own) };
    u64::from(from.cast_unsigned()) << 32 | u64::from(to.cast_unsigned())
}

impl OfRank {
    /// Keeps one operation in `one_in`: of all ranks the same ones.
    fn thin(&mut self, one_in: u32, [send, receive]: [Name; 2]) {
        let Rank { comm, rank } = self.rank;
        self.arrivals.retain(|it| {
            if it.function == send || it.function == receive {
                let peer = i32::try_from(it.sequence).unwrap_or(-1);
                return is_kept(comm ^ MESSAGES, message(rank, peer, it.function == send), it.occurrence, one_in);
            }
            is_kept(seed(comm, it.function), it.sequence, it.occurrence, one_in)
        });
    }
}

fn seed(comm: u64, function: Name) -> u64 {
    comm ^ u64::from(function.bits()) << 56
}

impl Sample {
    /// Reads all operations once, and keeps at most 2 million of those with a GPU begin: the same ones of all ranks.
    ///
    /// # Errors
    /// A table cannot be read.
    pub(super) fn of(job: &Job, table: &dyn Table, places: &Places, day: &Day) -> Result<Self, Unreadable> {
        Self::of_at_most(MOST, job, table, places, day)
    }

    fn of_at_most(most: usize, job: &Job, table: &dyn Table, places: &Places, day: &Day) -> Result<Self, Unreadable> {
        let names = [c"Send", c"Recv"].map(|name| Name::of(Some(name)));
        let mut ranks: Vec<Vec<OfRank>> = job.processes.iter().map(|_| Vec::new()).collect();
        let mut spans: Vec<[u64; 2]> = job.processes.iter().map(|process| process.span).collect();
        let (mut one_in, mut count) = (1, 0);
        for process in 0..job.processes.len() {
            let mut of_rank: FxHashMap<(u64, i32), usize> = FxHashMap::default();
            let place = day.swapped(process);
            let mut span: Option<[u64; 2]> = spans.get(process).copied().filter(|span| span[1] > 0);
            for operation in table.operations(process)? {
                let operation = operation?;
                let Some(arrival) = arrival(operation.time, operation.source) else { continue };
                let [begin, end] = span.unwrap_or([arrival.time; 2]);
                span = Some([begin.min(arrival.time), end.max(arrival.time.saturating_add(arrival.length))]);
                let is_member = |place: super::places::Place| {
                    place.member.is_some()
                        && places.teams.get(place.communicator).is_some_and(|it| it.members.len() > 1)
                };
                let key = (operation.comm, operation.rank);
                let Some(of_process) = ranks.get_mut(place) else { continue };
                let index = *of_rank.entry(key).or_insert_with(|| {
                    let here = places.of_operation(process, key.0, key.1).is_some_and(is_member);
                    if here {
                        let rank = Rank { comm: key.0, rank: key.1 };
                        of_process.push(OfRank { rank, arrivals: Vec::new(), messages: FxHashMap::default() });
                    }
                    if here { of_process.len() - 1 } else { usize::MAX }
                });
                let Some(rank) = of_process.get_mut(index) else { continue };
                if rank.add(&operation, arrival, one_in, names) {
                    count += 1;
                }
                while count > most && one_in < 1 << 31 {
                    one_in *= 2;
                    ranks.iter_mut().flatten().for_each(|rank| rank.thin(one_in, names));
                    count = ranks.iter().flatten().map(|rank| rank.arrivals.len()).sum();
                }
            }
            if let Some((known, span)) = spans.get_mut(process).zip(span) {
                *known = span;
            }
        }
        let of_process = |ranks: Vec<OfRank>| {
            let ranks = ranks.into_iter().map(|it| RankArrivals { rank: it.rank, arrivals: it.arrivals }).collect();
            Arrivals { ranks, one_in, left_out: 0 }
        };
        let spans = (0..spans.len()).map(|place| spans.get(day.swapped(place)).copied().unwrap_or_default()).collect();
        Ok(Self { arrivals: ranks.into_iter().map(of_process).collect(), spans })
    }
}

impl OfRank {
    /// Adds the arrival at an operation, if it is one of those that stay.
    fn add(&mut self, operation: &Operation, arrival: Arrival, one_in: u32, [send, receive]: [Name; 2]) -> bool {
        let (comm, rank) = (self.rank.comm, self.rank.rank);
        let (stays, arrival) = match (operation.peer, operation.sequence) {
            (Some(peer), _) => {
                let is_send = operation.function == send;
                let number = self.messages.entry((peer, is_send)).or_default();
                let occurrence = *number;
                *number = number.saturating_add(1);
                let stays = is_kept(comm ^ MESSAGES, message(rank, peer, is_send), occurrence, one_in);
                let function = if is_send { send } else { receive };
                // a message to the own rank compares no clocks
                let sequence = u64::try_from(peer).ok().filter(|_| peer != rank);
                (
                    stays && sequence.is_some(),
                    Arrival { function, sequence: sequence.unwrap_or(0), occurrence, ..arrival },
                )
            }
            (None, Some(sequence)) => {
                let (function, occurrence) = (operation.function, operation.replay);
                let stays = is_kept(seed(comm, function), sequence, occurrence, one_in);
                (stays, Arrival { function, sequence, occurrence, ..arrival })
            }
            (None, None) => (false, arrival),
        };
        if stays {
            self.arrivals.push(arrival);
        }
        stays
    }
}
