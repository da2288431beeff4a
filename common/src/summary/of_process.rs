//! The summary of this process, from its figures.

use super::{
    Arrivals, Channel, GpuSource, Launches, NetworkEvents, NvLink, ProgressThreads, RankPlace, SCHEMA, Summary,
    SummaryCommunicator, SummaryOperations, SummaryProcess, Transfers, transfer_states,
};
use crate::base::notes;
use crate::conditions;
use crate::config::{self, Regression};
use crate::figures::Figures;
use crate::figures::introductions::Introductions;
use crate::figures::metric::{self, Fixed};
use crate::figures::missing::{self, Missing};
use crate::figures::timeline::RankLaunches;
use crate::figures::{board, metric::Owner};
use crate::launch::Untimed;
use crate::origin;
use crate::record::thread::ThreadCell;
use crate::sums::channel_fits::ChannelFits;
use crate::sums::enough::speaks_for_all;
use crate::sums::rate::Rate;
use crate::sums::run_sums::{OperationKey, OperationSum, Totals, hexadecimal};
use std::borrow::Cow;
use std::collections::BTreeMap;

impl Summary {
    /// Makes the summary of this process when nothing was recorded in it, with the reason.
    pub fn of_nothing(why: &str) -> Self {
        let mut process = process(&Totals::default());
        process.notes.push(why.to_owned());
        Self { processes: vec![process], ..Self::merge(vec![]) }
    }

    /// Makes the summary of this process from its collector's figures.
    pub(crate) fn of_process(figures: &Figures, introductions: &Introductions, regression: Regression) -> Self {
        let scale = figures.nanoseconds_per_tick / 1e3;
        let totals = &figures.totals;
        let transfers = totals.pairs.iter().map(|(&(rank, peer), pair)| {
            let rate = Rate::of(pair, regression, figures.nanoseconds_per_tick);
            let channels = totals.channel_services.of((rank, peer));
            let channel_fits = ChannelFits::of(channels, regression, figures.nanoseconds_per_tick);
            Transfers {
                comm: hexadecimal(rank.comm),
                rank: rank.rank,
                peer,
                transfers: pair.transfers,
                bytes: pair.bytes,
                sizes: rate.sizes,
                channels: totals.channels.range((rank, peer, 0)..=(rank, peer, u8::MAX)).count() as u64,
                active_us: rate.active_us,
                sustained_rate_mb_s: rate.sustained_mb_s,
                typical_rate_mb_s: rate.typical_mb_s,
                typical_error_mb_s: rate.typical_error_mb_s,
                mean_in_flight: rate.in_flight.map(|(mean, _)| mean),
                max_in_flight: rate.in_flight.map(|(_, max)| max),
                fit: rate.fit,
                channel_fits,
            }
        });
        let channels = totals.channels.iter().map(|(&(rank, peer, channel), sum)| Channel {
            comm: hexadecimal(rank.comm),
            rank: rank.rank,
            peer,
            channel,
            transfers: sum.transfers,
            bytes: sum.bytes,
            mean_size_bytes: sum.bytes as f64 / sum.transfers as f64,
            mean_time_us: sum.ticks as f64 / sum.transfers as f64 * scale,
        });
        let communicators = introductions.0.iter().map(|(&id, (introduction, ranks))| SummaryCommunicator {
            comm: hexadecimal(id),
            nranks: introduction.nranks,
            nnodes: introduction.nnodes,
            name: introduction.name.clone(),
            ranks: ranks.iter().map(|&rank| RankPlace { rank, process: 0 }).collect(),
        });
        let operations = totals.operations.iter().map(|(key, sum)| operations(key, sum, scale));
        let timeline = figures.timeline.as_ref();
        let arrivals = timeline.and_then(|it| Arrivals::of_timeline(it, figures.nanoseconds_per_tick));
        let launches = timeline.map(|it| it.launches(figures.nanoseconds_per_tick).iter().map(launches).collect());
        let mut summary = Self {
            schema: SCHEMA.into(),
            complete: !missing::is_cut(),
            processes: vec![SummaryProcess {
                series: figures.series.names(),
                progress_threads: ProgressThreads::of_process(figures.nanoseconds_per_tick),
                arrivals,
                ..process(totals)
            }],
            communicators: communicators.collect(),
            operations: operations.collect(),
            transfers: transfers.collect(),
            channels: channels.collect(),
            states: transfer_states::states(totals),
            operation_transfers: transfer_states::of_operations(totals, scale),
            launches: launches.unwrap_or_default(),
            ..Self::default()
        };
        summary.sort();
        summary
    }
}

fn launches(of_rank: &RankLaunches) -> Launches {
    let RankLaunches { rank, one_in, collectives, host_later, gpu_later, queued, queued_median } = *of_rank;
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    Launches {
        comm: hexadecimal(rank.comm),
        rank: rank.rank,
        one_in,
        operations: collectives,
        host_later,
        gpu_later,
        queued_us: microseconds(queued),
        queued_median_us: queued_median.map(microseconds),
    }
}

fn operations(&(rank, is_coll, function, peer): &OperationKey, sum: &OperationSum, scale: f64) -> SummaryOperations {
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1e3;
    SummaryOperations {
        comm: hexadecimal(rank.comm),
        rank: rank.rank,
        kind: if is_coll { "Coll" } else { "P2p" }.into(),
        func: function.text(),
        peer,
        count: sum.count,
        bytes: sum.bytes,
        gpu_timed: sum.gpu_timed,
        event_timed: sum.event_timed,
        time_us: microseconds(sum.time),
        kernel_time_us: microseconds(sum.kernel_time),
        kernel_once_us: microseconds(sum.kernel_once),
        min_us: sum.min.map(microseconds),
        max_us: sum.max.filter(|_| speaks_for_all(sum.gpu_timed, sum.count)).map(microseconds),
        proxy_timed: sum.proxy_timed,
        proxy_time_us: sum.proxy_ticks as f64 * scale,
        enqueue_timed: sum.enqueue_timed,
        enqueue_time_us: sum.enqueue_ticks as f64 * scale,
    }
}

fn process(totals: &Totals) -> SummaryProcess {
    // at a process' end, threads may count on behind the collector's last look: one reading serves fields and counters
    let missing = Missing::of_threads();
    missing.show(totals);
    let [enqueued_ops, enqueued_bytes, api_time] = ThreadCell::of_all_threads();
    let of_threads =
        [(Fixed::EnqueuedOps, enqueued_ops), (Fixed::EnqueuedBytes, enqueued_bytes), (Fixed::ApiTime, api_time)];
    let mut counters: BTreeMap<Cow<'static, str>, u64> = metric::counters()
        .iter()
        .enumerate()
        .filter(|(_, counter)| counter.owner == Owner::Process)
        .map(|(place, counter)| (counter.name.as_str().into(), board::read(place)))
        .collect();
    counters
        .extend(of_threads.map(|(counter, value)| (metric::counters()[counter as usize].name.as_str().into(), value)));
    let (pid, origin) = origin::of_figures();
    SummaryProcess {
        process: 0,
        pid,
        origin,
        gpu_source: gpu_source(totals),
        callbacks: ThreadCell::all_callbacks(),
        events: ThreadCell::all_events(),
        windows: totals.windows,
        dropped: missing.dropped,
        unfinished: totals.unfinished,
        invisible: totals.invisible,
        out_of_step: totals.out_of_step,
        untimed: Untimed::ALL
            .into_iter()
            .zip(totals.untimed)
            .map(|(cause, count)| (cause.name().to_owned(), count))
            .collect(),
        ignored_handles: ThreadCell::total(|cell| cell.ignored.get()),
        foreign_proxy_ops: missing.foreign_proxy_ops,
        skipped: missing.skipped,
        skipped_children: ThreadCell::total(|cell| cell.skipped_children.get()),
        unknown_events: missing.unknown_events,
        orphans: totals.orphans + missing.parentless,
        incomplete: missing.sum(totals),
        others: totals.others,
        peak_memory_bytes: peak_memory(),
        counters,
        series: BTreeMap::new(),
        nvlink: nvlink(totals, &missing),
        progress_threads: None,
        network_events: NetworkEvents::of_process(),
        notes: notes(totals),
        arrivals: None,
        conditions: conditions::rows(),
    }
}

/// Returns the bytes over NVLink beside those of NCCL's operations, if they were counted.
fn nvlink(totals: &Totals, missing: &Missing) -> Option<NvLink> {
    let lacking = missing.sum(totals) - totals.untimed.iter().sum::<u64>();
    let is_whole = lacking == 0 && !leaves_operations_out(config::settings().mask);
    Some(NvLink::of(crate::nvlink::reading()?, totals.moved.as_ref()?, is_whole))
}

/// Returns whether a mask of the user's lacks event types that operations come by. Every preset has them.
fn leaves_operations_out(mask: Option<u64>) -> bool {
    // ncclProfileColl, ncclProfileP2p, ncclProfileCeColl
    const OPERATIONS: u64 = 1 << 1 | 1 << 2 | 1 << 12;
    mask.is_some_and(|mask| mask & OPERATIONS != OPERATIONS)
}

fn gpu_source(totals: &Totals) -> Option<GpuSource> {
    let any = |is: fn(&OperationSum) -> bool| totals.operations.values().any(is);
    match (any(|sum| sum.gpu_timed > sum.event_timed), any(|sum| sum.event_timed > 0)) {
        (true, false) => Some(GpuSource::Stamps),
        (false, true) => Some(GpuSource::Events),
        (true, true) => Some(GpuSource::Both),
        (false, false) => None,
    }
}

fn notes(totals: &Totals) -> Vec<String> {
    let others = totals.others;
    let of_others = (others > 0).then(|| format!("{others} communicators that ended are summed up as \"others\""));
    notes::all().into_iter().chain(of_others).collect()
}

/// Returns this program's peak memory. The value of getrusage would include the program that this process ran before
/// `exec`.
fn peak_memory() -> u64 {
    // of the calling thread: a main thread that has ended shows no memory
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let kibibytes =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kibibytes.unwrap_or(0).saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_counters_are_of_one_moment() {
        // no collector has shown these on the board
        let mut totals = Totals::default();
        totals.unfinished = 1 << 40;
        let process = process(&totals);
        assert_eq!(process.counters["nccl_incomplete"], process.incomplete);
    }

    #[test]
    fn a_mask_may_leave_operations_out() {
        let masks = [None, Some(0x1f46), Some(0x1006), Some(0x46), Some(0x1004), Some(0x1002)];
        assert_eq!(masks.map(leaves_operations_out), [false, false, false, true, true, true]);
    }
}
