//! The metrics that exporters show. Names, units and labels are those of Mosaic's metric reference, so that its
//! dashboards read them, plus a few of the library's own. Their meanings are the library's: docs/metrics.md.

use super::family::{Family, Histogram, LabelledPoint, Labels, Value};
use super::identity::ProcessIdentity;
use super::peer_labels::PeerLabels;
use crate::event::name::NcclName;
use crate::figures::board;
use crate::figures::metric::{self, Fixed};
use crate::figures::snapshot::{PairTransfers, ProcessSums};
use crate::figures::timeline::LaunchCounts;
use crate::nvlink;
use crate::operation::{TimeSource, bus_bytes};
use crate::sums::histograms::Buckets;
use crate::sums::run_sums::hexadecimal;
use crate::sums::run_sums::{ChannelSum, CommunicatorRank, Direction, OperationSum};
use std::collections::BTreeMap;

/// Nanoseconds in a microsecond.
const MICROSECOND: f64 = 1e3;
/// Bytes per second in a MB/s.
const MEGABYTE: f64 = 1e6;

/// Makes all families that have a point.
pub(crate) fn families(
    sums: &ProcessSums,
    identity: &ProcessIdentity,
    peers: &mut PeerLabels,
    failed: u64,
) -> Vec<Family> {
    let sent = sums.pairs.iter().map(|(pair, _)| *pair);
    peers.meet(sent.chain(sums.states.iter().map(|((rank, peer, _), _)| (*rank, *peer))));
    let view = FamilyView { sums, of_process: of_process(identity) };
    let mut made = view.operations();
    made.extend(view.bus());
    made.extend(view.launches());
    made.extend(view.pairs(peers));
    made.extend(view.channels(peers));
    let of_steps = |rank, peer, direction| view.of_steps(rank, peer, direction);
    made.extend(super::states::families(sums, peers, of_steps));
    made.extend(
        nvlink::reading().into_iter().flat_map(|of| super::nvlink::families(of, &sums.moved, &view.of_process)),
    );
    made.extend(sums.progress_threads.iter().flat_map(|sums| super::network::progress(sums, &view.of_process)));
    made.extend(super::network::events(&sums.network_events, &view.of_process));
    made.retain(|family| !family.points.is_empty());
    let untimed = [
        Fixed::UntimedGraph,
        Fixed::UntimedNoEvent,
        Fixed::UntimedCudaFailed,
        Fixed::UntimedNotChosen,
        Fixed::UntimedNotBelieved,
    ];
    let lost = [
        Fixed::Incomplete,
        Fixed::Dropped,
        Fixed::UnfinishedOps,
        Fixed::InvisibleOps,
        Fixed::SkippedOps,
        Fixed::ForeignProxyOps,
        Fixed::OutOfStep,
    ];
    made.extend(lost.into_iter().chain(untimed).filter_map(|counter| {
        let about = metric::counters().get(counter as usize)?;
        let value = Value::Sum(board::read(counter as usize));
        let points = vec![LabelledPoint { labels: view.of_process.clone(), value }];
        Some(Family {
            name: &about.name,
            unit: "count",
            meaning: about.description.to_string_lossy().into_owned(),
            points,
        })
    }));
    let points = vec![LabelledPoint { labels: view.of_process.clone(), value: Value::Sum(failed) }];
    made.push(Family {
        points,
        ..family("nccl_exports_failed", "count", "Exports that failed and whose moment is missing")
    });
    made
}

fn family(name: &'static str, unit: &'static str, meaning: &str) -> Family {
    Family::new(name, unit, meaning, vec![])
}

fn of_times(nanoseconds: &Buckets) -> Histogram {
    Histogram::of(nanoseconds, MICROSECOND)
}

/// Returns the labels that every point has.
fn of_process(identity: &ProcessIdentity) -> Labels {
    let told =
        [("local_rank", &identity.local_rank), ("gpu_uuid", &identity.gpu_uuid), ("gpu_pci_bus_id", &identity.gpu_bus)];
    let told = told.into_iter().filter_map(|(name, value)| Some((name, value.clone()?)));
    std::iter::once(("hostname", identity.host.clone())).chain(told).collect()
}

/// The families of collectives, or of sends and receives.
struct OfKind {
    comm_type: &'static str,
    bytes: Family,
    time: Family,
    /// Only collectives have this family.
    count: Option<Family>,
    /// Number, size and time of the transfers. Each operation with transfers has one value in each.
    sends: [Family; 3],
}

impl OfKind {
    fn collectives() -> Self {
        Self {
            comm_type: "COLLECTIVE",
            bytes: family("nccl_profiler_collective_bytes", "bytes", "Bytes of the collective operations"),
            time: family("nccl_profiler_collective_time", "us", "Times of the collective operations"),
            count: Some(family(
                "nccl_profiler_collective_count",
                "count",
                "Collective operations, a value of 1 for each",
            )),
            sends: Self::of_sends([
                "nccl_profiler_collective_num_transfers",
                "nccl_profiler_collective_transfer_size",
                "nccl_profiler_collective_transfer_time",
            ]),
        }
    }

    fn p2p() -> Self {
        Self {
            comm_type: "P2P",
            bytes: family("nccl_profiler_p2p_bytes", "bytes", "Bytes of each send and receive"),
            time: family("nccl_profiler_p2p_time", "us", "Times of the sends and receives"),
            count: None,
            sends: Self::of_sends([
                "nccl_profiler_p2p_num_transfers",
                "nccl_profiler_p2p_transfer_size",
                "nccl_profiler_p2p_transfer_time",
            ]),
        }
    }

    fn of_sends([number, size, time]: [&'static str; 3]) -> [Family; 3] {
        [
            family(number, "count", "Transfers over the network of each operation that has any"),
            family(size, "bytes", "Mean size of the transfers of each operation"),
            family(time, "us", "Mean time of the transfers of each operation"),
        ]
    }

    /// Adds the sums of a rank's operations of one function.
    fn add(&mut self, labels: &Labels, sum: &OperationSum) {
        let Some(spread) = &sum.spread else { return };
        let point = |value| LabelledPoint { labels: labels.clone(), value };
        match &mut self.count {
            Some(count) => {
                let ones = Histogram { sum: sum.count as f64, bounds: vec![1.0], counts: vec![sum.count, 0] };
                count.points.push(point(Value::Histogram(ones)));
                self.bytes.points.push(point(Value::Sum(sum.bytes)));
            }
            None => self.bytes.points.push(point(Value::Histogram(Histogram::of(&spread.sizes, 1.0)))),
        }
        let sends = &spread.sends;
        let values = [Histogram::of(&sends.numbers, 1.0), Histogram::of(&sends.sizes, 1.0), of_times(&sends.times)];
        for (into, value) in self.sends.iter_mut().zip(values).filter(|(_, value)| value.count() > 0) {
            into.points.push(point(Value::Histogram(value)));
        }
        let times = TimeSource::ALL.into_iter().zip(spread.times.iter().map(of_times));
        for (source, value) in times.filter(|(_, value)| value.count() > 0) {
            let labels = labels.iter().cloned().chain([("timing", source.name().to_owned())]).collect();
            self.time.points.push(LabelledPoint { labels, value: Value::Histogram(value) });
        }
    }

    fn families(self) -> impl Iterator<Item = Family> {
        let Self { bytes, time, count, sends, .. } = self;
        [bytes, time].into_iter().chain(count).chain(sends)
    }
}

struct FamilyView<'a> {
    sums: &'a ProcessSums,
    of_process: Labels,
}

impl FamilyView<'_> {
    fn labels(&self, comm: u64, others: impl IntoIterator<Item = (&'static str, String)>) -> Labels {
        let nranks = self.sums.communicators.get(&comm).map(|nranks| ("comm_nranks", nranks.to_string()));
        let first = [("communicator", hexadecimal(comm))];
        first.into_iter().chain(nranks).chain(others).chain(self.of_process.iter().cloned()).collect()
    }

    /// Returns the labels of a rank's operations of one function.
    fn of_operations(&self, rank: CommunicatorRank, comm_type: &str, function: NcclName) -> Labels {
        let rank_text = rank.rank.to_string();
        let labels = [("comm_type", comm_type.into()), ("operation", function.text()), ("rank", rank_text)];
        self.labels(rank.comm, labels)
    }

    /// Makes the families of collectives and of sends and receives. Sends and receives are summed over the peers.
    fn operations(&self) -> Vec<Family> {
        let mut sums: BTreeMap<(CommunicatorRank, bool, NcclName), OperationSum> = BTreeMap::new();
        for ((rank, is_coll, function, _), sum) in &self.sums.operations {
            sums.entry((*rank, *is_coll, *function)).or_default().merge(sum);
        }
        let [mut collectives, mut p2p] = [OfKind::collectives(), OfKind::p2p()];
        for ((rank, is_coll, function), sum) in &sums {
            let kind = if *is_coll { &mut collectives } else { &mut p2p };
            kind.add(&self.of_operations(*rank, kind.comm_type, *function), sum);
        }
        collectives.families().chain(p2p.families()).collect()
    }

    /// Makes the families whose quotient is the effective bus bandwidth. Both are of the operations that the GPU has
    /// timed. Communicators that are summed up have no one number of ranks, so they are in neither.
    fn bus(&self) -> Vec<Family> {
        let [bytes_name, time_name] = ["nccl_profiler_collective_bus_bytes", "nccl_profiler_collective_bus_time"];
        let mut bytes = family(bytes_name, "bytes", "Bytes of the GPU-timed collectives times their bus factor");
        let mut time = family(time_name, "us", "Kernels' times of the GPU-timed collectives with a bus factor");
        for ((rank, is_coll, function, _), sum) in &self.sums.operations {
            let nranks = self.sums.communicators.get(&rank.comm).filter(|_| *is_coll && sum.gpu_timed > 0);
            let Some(moved) = nranks.and_then(|&nranks| bus_bytes(*function, sum.gpu_timed_bytes, nranks)) else {
                continue;
            };
            let labels = self.of_operations(*rank, "COLLECTIVE", *function);
            bytes.points.push(LabelledPoint { labels: labels.clone(), value: Value::Sum(moved as u64) });
            time.points.push(LabelledPoint { labels, value: Value::Sum(sum.kernel_time / 1000) });
        }
        vec![bytes, time]
    }

    /// Makes the families of collectives that waited for their launch by the host, or for their GPU.
    fn launches(&self) -> Vec<Family> {
        let mut sums: BTreeMap<CommunicatorRank, LaunchCounts> = BTreeMap::new();
        for (rank, counts) in &self.sums.launches {
            sums.entry(*rank).or_default().merge(counts);
        }
        let mut launches = family(
            "nccl_profiler_collective_launches",
            "count",
            "Collectives looked at, by what they waited for: their launch by the host, or their GPU",
        );
        let mut queued = family(
            "nccl_profiler_collective_queued_time",
            "us",
            "Times from launch to begin of the collectives looked at that waited for their GPU",
        );
        for (rank, LaunchCounts { host_later, gpu_later, queued: nanoseconds }) in sums {
            let of_rank = [("comm_type", "COLLECTIVE".into()), ("rank", rank.rank.to_string())];
            let labels = self.labels(rank.comm, of_rank);
            for (later, count) in [("host", host_later), ("gpu", gpu_later)] {
                let labels = labels.iter().cloned().chain([("later", later.to_owned())]).collect();
                launches.points.push(LabelledPoint { labels, value: Value::Sum(count) });
            }
            queued.points.push(LabelledPoint { labels, value: Value::Sum(nanoseconds / 1000) });
        }
        vec![launches, queued]
    }

    fn of_transfers(&self, rank: CommunicatorRank, peer: Option<i32>, channel: Option<u8>) -> Labels {
        let peer = peer.map_or_else(|| "other".into(), |peer| peer.to_string());
        let others = [("source_rank", rank.rank.to_string()), ("dest_rank", peer)];
        let channel = channel.map(|channel| ("channel", channel.to_string()));
        self.labels(rank.comm, others.into_iter().chain(channel))
    }

    /// Returns the labels of a rank's transfers with a peer, which of receives is the source.
    fn of_steps(&self, rank: CommunicatorRank, peer: Option<i32>, direction: Direction) -> Labels {
        let mut labels = self.of_transfers(rank, peer, None);
        if direction == Direction::Receive {
            for (name, _) in &mut labels {
                *name = match *name {
                    "source_rank" => "dest_rank",
                    "dest_rank" => "source_rank",
                    other => other,
                };
            }
        }
        labels
    }

    fn pairs(&self, peers: &PeerLabels) -> Vec<Family> {
        let mut sums: BTreeMap<(CommunicatorRank, Option<i32>), PairTransfers> = BTreeMap::new();
        for ((rank, peer), pair) in &self.sums.pairs {
            sums.entry((*rank, peers.label(*rank, *peer))).or_default().merge(pair);
        }
        let mut bytes = family("nccl_profiler_rank_bytes", "bytes", "Bytes sent over the network from rank to rank");
        let mut latency =
            family("nccl_profiler_rank_latency", "us", "Latency from rank to rank, of each window with a fit");
        let mut rate = family("nccl_profiler_rank_rate", "MB/s", "Transfer rate from rank to rank, of each window");
        for ((rank, peer), pair) in &sums {
            let labels = self.of_transfers(*rank, *peer, None);
            bytes.points.push(LabelledPoint { labels: labels.clone(), value: Value::Sum(pair.bytes) });
            let Some(windows) = &pair.windows else { continue };
            let rates = Histogram::of(&windows.rates, MEGABYTE);
            let latencies = of_times(&windows.latencies);
            for (into, value) in [(&mut rate, rates), (&mut latency, latencies)] {
                if value.count() > 0 {
                    into.points.push(LabelledPoint { labels: labels.clone(), value: Value::Histogram(value) });
                }
            }
        }
        vec![bytes, latency, rate]
    }

    fn channels(&self, peers: &PeerLabels) -> Vec<Family> {
        let mut sums: BTreeMap<(CommunicatorRank, Option<i32>, u8), ChannelSum> = BTreeMap::new();
        for ((rank, peer, channel), sum) in &self.sums.channels {
            sums.entry((*rank, peers.label(*rank, *peer), *channel)).or_default().merge(sum);
        }
        let mut size =
            family("nccl_profiler_transfer_size", "bytes", "Sizes of the transfers over the network by channel");
        let mut time =
            family("nccl_profiler_transfer_time", "us", "Times of the transfers over the network by channel");
        let mut latency =
            family("nccl_profiler_transfer_latency", "us", "Latency by channel, of each window with a fit");
        for ((rank, peer, channel), sum) in &sums {
            let Some(spread) = &sum.spread else { continue };
            let labels = self.of_transfers(*rank, *peer, Some(*channel));
            let sizes = Histogram::of(&spread.sizes, 1.0);
            let times = of_times(&spread.times);
            size.points.push(LabelledPoint { labels: labels.clone(), value: Value::Histogram(sizes) });
            let latencies = of_times(&spread.latencies);
            if latencies.count() > 0 {
                latency.points.push(LabelledPoint { labels: labels.clone(), value: Value::Histogram(latencies) });
            }
            time.points.push(LabelledPoint { labels, value: Value::Histogram(times) });
        }
        vec![size, time, latency]
    }
}

impl PairTransfers {
    fn merge(&mut self, other: &Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        crate::sums::histograms::merge(&mut self.windows, &other.windows, crate::sums::histograms::OfWindows::merge);
    }
}

impl LaunchCounts {
    fn merge(&mut self, other: &Self) {
        self.host_later = self.host_later.saturating_add(other.host_later);
        self.gpu_later = self.gpu_later.saturating_add(other.gpu_later);
        self.queued = self.queued.saturating_add(other.queued);
    }
}
