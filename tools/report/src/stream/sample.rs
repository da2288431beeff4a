//! A bounded sample of the operations of all processes, by which their clocks are compared.

use super::call::arrival;
use super::places::{MatchingPlace, Places};
use crate::job::{Job, RankOperation, RowListener};
use common::arrivals::{Arrival, ArrivalShare, Arrivals, RankArrivals, is_kept};
use common::lateness::BootClocks;
use common::name::NcclName;
use common::run_sums::CommunicatorRank;
use rustc_hash::FxHashMap;

/// Most arrivals of a sample, of all processes.
const MAX_ARRIVALS: usize = 2_000_000;

/// Most operations of which one is kept.
const MAX_ONE_IN: u32 = 1 << 31;

/// Added to a communicator's id for its messages, so that they are chosen apart from its collectives.
const MESSAGE_SALT: u64 = 0x5eed;

/// The sample by which the clocks of a job are compared, as it is taken: at most 2 million of the operations with a GPU
/// begin, the same ones of all ranks.
#[derive(Debug)]
pub struct ClockSampling<'a> {
    job: &'a Job,
    places: Places,
    pub(super) boots: BootClocks,
    /// Send and receive.
    names: [NcclName; 2],
    /// By place of the process in the clock tree.
    ranks: Vec<Vec<SampledRank>>,
    /// The first and the last time of each process, likewise; empty where no ranks are compared.
    pub(super) spans: Vec<[u64; 2]>,
    one_in: u32,
    /// Number of arrivals.
    count: usize,
    most: usize,
    present: PresentProcess,
}

/// The process whose operations are read.
#[derive(Debug, Default)]
struct PresentProcess {
    process: usize,
    /// Its place in the clock tree.
    place: usize,
    /// Its span together with the times of its operations.
    span: Option<[u64; 2]>,
    /// The place of each rank among those of the process; `None` for ranks that are compared with no other rank.
    ranks: FxHashMap<(u64, i32), Option<usize>>,
}

impl<'a> ClockSampling<'a> {
    /// Begins the sample of a job.
    pub fn new(job: &'a Job) -> Self {
        Self::of_at_most(MAX_ARRIVALS, job)
    }

    fn of_at_most(most: usize, job: &'a Job) -> Self {
        let (places, boots) = (Places::new(job), job.boot_clocks());
        let ranks = job.processes.iter().map(|_| Vec::new()).collect();
        let names = [c"Send", c"Recv"].map(|name| NcclName::of(Some(name)));
        let are_compared = places.teams.iter().any(|team| team.members.len() > 1);
        let spans = vec![[0; 2]; if are_compared { job.processes.len() } else { 0 }];
        let present = PresentProcess::default();
        Self { job, places, boots, names, ranks, spans, one_in: 1, count: 0, most, present }
    }

    /// Returns the arrivals of each process, by place in the clock tree.
    pub(super) fn arrivals(&mut self) -> Vec<Arrivals> {
        let share = ArrivalShare::of_operations(self.one_in);
        let of_process = |ranks: Vec<SampledRank>| {
            let ranks = ranks
                .into_iter()
                .filter(|it| it.is_timed)
                .map(|it| RankArrivals { rank: it.rank, share, arrivals: it.arrivals })
                .collect();
            Arrivals { ranks, left_out: 0 }
        };
        std::mem::take(&mut self.ranks).into_iter().map(of_process).collect()
    }

    /// Enters a rank of a communicator that is compared with others.
    fn enter(&mut self, comm: u64, rank: i32) -> Option<usize> {
        let PresentProcess { process, place, .. } = self.present;
        let MatchingPlace { communicator, member, .. } = self.places.of_operation(process, comm, rank)?;
        let members = self.places.teams.get(communicator)?.members.len();
        let ranks = self.ranks.get_mut(place).filter(|_| member.is_some() && members > 1)?;
        ranks.push(SampledRank {
            rank: CommunicatorRank { comm, rank },
            is_timed: false,
            arrivals: Vec::new(),
            messages: FxHashMap::default(),
        });
        Some(ranks.len() - 1)
    }

    /// Leaves half of the operations out, the same ones of all ranks.
    fn thin(&mut self) {
        self.one_in *= 2;
        self.ranks.iter_mut().flatten().for_each(|rank| rank.thin(self.one_in, self.names));
        self.count = self.ranks.iter().flatten().map(|rank| rank.arrivals.len()).sum();
    }
}

impl RowListener for ClockSampling<'_> {
    fn begin(&mut self, process: usize) {
        let span = self.job.processes.get(process).map(|of_process| of_process.span).filter(|span| span[1] > 0);
        let place = self.boots.swapped(process);
        self.present = PresentProcess { process, place, span, ranks: FxHashMap::default() };
    }

    fn row(&mut self, row: &RankOperation) {
        if self.spans.is_empty() {
            return;
        }
        let arrival = arrival(row.time, row.source);
        if let Some(Arrival { time, length, .. }) = arrival {
            let [begin, end] = self.present.span.unwrap_or([time; 2]);
            self.present.span = Some([begin.min(time), end.max(time.saturating_add(length))]);
        }
        let key = (row.comm, row.rank);
        let rank = match self.present.ranks.get(&key) {
            Some(&rank) => rank,
            None => {
                let rank = self.enter(row.comm, row.rank);
                self.present.ranks.insert(key, rank);
                rank
            }
        };
        let of_process = self.ranks.get_mut(self.present.place);
        let Some(rank) = of_process.zip(rank).and_then(|(ranks, rank)| ranks.get_mut(rank)) else { return };
        self.count += usize::from(rank.add(row, arrival, self.one_in, self.names));
        while self.count > self.most && self.one_in < MAX_ONE_IN {
            self.thin();
        }
    }

    fn end(&mut self) {
        if let Some((known, span)) = self.spans.get_mut(self.present.place).zip(self.present.span) {
            *known = span;
        }
    }
}

/// The arrivals of a rank.
#[derive(Debug)]
struct SampledRank {
    rank: CommunicatorRank,
    /// Whether it has any begin. Else it is in no comparison, which the other ranks can do without it.
    is_timed: bool,
    arrivals: Vec<Arrival>,
    /// Number of messages so far by peer and direction.
    messages: FxHashMap<(i32, bool), u32>,
}

impl SampledRank {
    /// Returns whether an operation is one of those that stay: with a message, its other end stays, too.
    fn keeps(&self, operation: (NcclName, u64, u32), one_in: u32, [send, receive]: [NcclName; 2]) -> bool {
        let CommunicatorRank { comm, rank } = self.rank;
        let (function, sequence, occurrence) = operation;
        if function != send && function != receive {
            return is_kept(comm ^ u64::from(function.bits()) << 56, sequence, occurrence, one_in);
        }
        let (own, peer) = (u64::from(rank.cast_unsigned()), sequence);
        let [from, to] = if function == send { [own, peer] } else { [peer, own] };
        is_kept(comm ^ MESSAGE_SALT, from << 32 | to, occurrence, one_in)
    }

    fn thin(&mut self, one_in: u32, names: [NcclName; 2]) {
        let mut arrivals = std::mem::take(&mut self.arrivals);
        arrivals.retain(|arrival| self.keeps(arrival.operation(), one_in, names));
        // the first processes of a long job would keep room for all of their operations
        arrivals.shrink_to_fit();
        self.arrivals = arrivals;
    }

    /// Adds the arrival at an operation, if it has one, and is one of those that stay.
    fn add(&mut self, operation: &RankOperation, arrival: Option<Arrival>, one_in: u32, names: [NcclName; 2]) -> bool {
        let (function, sequence, occurrence) = match operation.peer {
            Some(peer) => {
                let number = self.messages.entry((peer, operation.function == names[0])).or_default();
                let occurrence = *number;
                *number = number.saturating_add(1);
                // a message to the own rank compares no clocks
                (operation.function, u64::try_from(peer).ok().filter(|_| peer != self.rank.rank), occurrence)
            }
            None => (operation.function, operation.sequence, operation.replay),
        };
        let Some((arrival, sequence)) = arrival.zip(sequence) else { return false };
        self.is_timed = true;
        let stays = self.keeps((function, sequence, occurrence), one_in, names);
        if stays {
            self.arrivals.push(Arrival { function, sequence, occurrence, ..arrival });
        }
        stays
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::read_all;
    use crate::made::{self, MadeJob};
    use std::collections::BTreeSet;

    fn sample(made: &MadeJob, most: usize) -> Vec<Vec<Arrival>> {
        let mut sampling = ClockSampling::of_at_most(most, &made.job);
        read_all(made.job.processes.len(), &made.table, &mut [&mut sampling]).unwrap();
        let arrivals = sampling.arrivals().into_iter();
        arrivals.map(|of| of.ranks.into_iter().flat_map(|rank| rank.arrivals).collect()).collect()
    }

    #[test]
    fn the_same_operations_of_all_ranks_stay() {
        let made = made::steps(1000, made::Changes::default());
        assert!(sample(&made, 16_000).iter().all(|of| of.len() == 4000));
        for (most, least) in [(15_999, 7000), (1000, 400)] {
            let kept = sample(&made, most);
            let operations: BTreeSet<Vec<_>> =
                kept.iter().map(|of| of.iter().map(Arrival::operation).collect()).collect();
            let count: usize = kept.iter().map(Vec::len).sum();
            assert!(operations.len() == 1 && (least..=most).contains(&count), "{count}");
        }
    }

    #[test]
    fn both_ends_of_a_message_stay() {
        let mut made = made::exchanged(4, 400, |_, _| 1000);
        // an end without a time has a number, too
        made.table.0[0][3].time = None;
        let [send, receive] = [c"Send", c"Recv"].map(|name| NcclName::of(Some(name)));
        let kept = sample(&made, 2000);
        let ends = |function: NcclName| -> BTreeSet<(u64, u64, u32)> {
            let of = (0..).zip(&kept).flat_map(|(own, of)| of.iter().map(move |it| (own, it)));
            let of = of.filter(|(_, it)| it.function == function);
            let way = |own, peer| if function == send { (own, peer) } else { (peer, own) };
            of.map(|(own, it)| (way(own, it.sequence).0, way(own, it.sequence).1, it.occurrence)).collect()
        };
        let (sent, received) = (ends(send), ends(receive));
        assert!((400..=1000).contains(&sent.len()), "{}", sent.len());
        assert!(sent.symmetric_difference(&received).count() <= 1);
    }
}
