//! Whether a rank's collectives waited for their launch or for their GPU: those that are kept for the process' summary.

use super::Timeline;
use super::arrivals::arrival;
use super::entry::{LONG_LAUNCH, TimelineEntry};
use super::gpus::mappings;
#[cfg(feature = "otel")]
use super::launch_counts::{LaunchCounts, RankLaunchCounts};
use crate::clock::gpu_track::GpuMapping;
#[cfg(feature = "otel")]
use crate::config::Settings;
use crate::figures::arrivals::KnownTime;
use crate::operation::Later;
use crate::sums::run_sums::CommunicatorRank;

/// Launches and begins of a rank's collectives, as far as both are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct RankLaunches {
    /// Communicator and rank.
    pub(crate) rank: CommunicatorRank,
    /// One collective in this many was looked at.
    pub(crate) one_in: u32,
    /// Collectives that were looked at, each with a kernel of its own.
    pub(crate) collectives: u64,
    /// Those that began at once when the host had launched them.
    pub(crate) host_later: u64,
    /// Those that the host had launched while the GPU was still busy.
    pub(crate) gpu_later: u64,
    /// From the launch to the begin of the latter, sum and median, nanoseconds.
    pub(crate) queued: u64,
    pub(crate) queued_median: Option<u64>,
}

impl Timeline {
    /// Returns the launches of each rank of which some are known.
    pub(crate) fn launches(&self, nanoseconds_per_tick: f64) -> Vec<RankLaunches> {
        let Some(sample) = &self.sample else { return Vec::new() };
        let mappings = mappings(&self.ranks, nanoseconds_per_tick);
        let ranks = self.ranks.iter().zip(&mappings).enumerate();
        let launches = ranks.filter_map(|(place, (line, mappings))| {
            let (share, kept) = sample.of(place);
            // the operations of one kernel have one launch
            let alone = kept.iter().map(|kept| &kept.entry).filter(|entry| entry.alone);
            let nothing = RankLaunches::nothing(line.rank, share.one_in(), alone.clone().count() as u64);
            let begun = alone.filter_map(|entry| Begun::of(entry, mappings, nanoseconds_per_tick));
            Some(nothing.with(begun)).filter(|known| known.host_later + known.gpu_later > 0)
        });
        launches.collect()
    }
}

#[cfg(feature = "otel")]
impl Timeline {
    /// Has launches counted if an exporter is wanted.
    pub(super) fn with_launch_counts(self, settings: &Settings) -> Self {
        let is_wanted = settings.otel || settings.prom_dir.is_some();
        Self { launch_counts: is_wanted.then(Vec::new), ..self }
    }

    /// Adds an operation, if its launch is one to be counted.
    pub(super) fn count_launch(&mut self, entry: TimelineEntry) {
        let Some(ranks) = &mut self.launch_counts else { return };
        // the operations of one kernel have one launch
        if entry.peer >= 0 || !entry.alone || !entry.source.is_gpu() || entry.launched() == 0 {
            return;
        }
        let place = usize::from(entry.place);
        if ranks.len() <= place {
            ranks.resize_with(place + 1, RankLaunchCounts::default);
        }
        ranks.get_mut(place).into_iter().for_each(|rank| rank.add(entry));
    }

    /// Returns the counts so far of the ranks that have any.
    pub(crate) fn launch_counts(&mut self, nanoseconds_per_tick: f64) -> Vec<(CommunicatorRank, LaunchCounts)> {
        let Self { ranks, launch_counts, .. } = self;
        let is_needed = launch_counts.iter().flatten().any(RankLaunchCounts::is_waiting);
        let mappings = if is_needed { mappings(ranks, nanoseconds_per_tick) } else { vec![[None, None]; ranks.len()] };
        let counted = launch_counts.iter_mut().flatten();
        let counts = ranks.iter().zip(&mappings).zip(counted).map(|((line, mappings), counted)| {
            let begun = |entry: &TimelineEntry| Begun::of(entry, mappings, nanoseconds_per_tick);
            (line.rank, counted.count(|entry| begun(entry).map(|Begun { later, queued }| (later, queued))))
        });
        counts.filter(|(_, counts)| counts.host_later + counts.gpu_later > 0).collect()
    }
}

/// A collective whose launch and begin are known.
pub(super) struct Begun {
    pub(super) later: Later,
    /// From the launch to the begin, nanoseconds.
    pub(super) queued: u64,
}

impl Begun {
    pub(super) fn of(
        entry: &TimelineEntry,
        mappings: &[Option<GpuMapping>; 2],
        nanoseconds_per_tick: f64,
    ) -> Option<Self> {
        let launched = entry.launched();
        if launched == 0 {
            return None;
        }
        let arrival = arrival(entry, mappings, nanoseconds_per_tick);
        if arrival.known != KnownTime::Begin {
            return None;
        }
        let nanoseconds = |ticks: u64| (ticks as f64 * nanoseconds_per_tick) as u64;
        let [launched, start, ahead] = [launched, arrival.time, arrival.ahead].map(nanoseconds);
        let later = Later::of(launched, start, arrival.clock.map(nanoseconds), ahead)?;
        if later == Later::Host && entry.launched & LONG_LAUNCH != 0 {
            return None;
        }
        Some(Self { later, queued: start.saturating_sub(launched) })
    }
}

/// Returns when the host had launched the kernel of an operation that the GPU has timed, ticks; not of a long launch,
/// unless the kernel has waited for its GPU behind it.
pub(super) fn launched(
    entry: &TimelineEntry,
    mappings: &[Option<GpuMapping>; 2],
    nanoseconds_per_tick: f64,
) -> Option<u64> {
    let is_sure = entry.launched & LONG_LAUNCH == 0 || Begun::of(entry, mappings, nanoseconds_per_tick).is_some();
    Some(entry.launched()).filter(|&launched| launched > 0 && is_sure && entry.source.is_gpu())
}

impl RankLaunches {
    fn nothing(rank: CommunicatorRank, one_in: u32, collectives: u64) -> Self {
        Self { rank, one_in, collectives, host_later: 0, gpu_later: 0, queued: 0, queued_median: None }
    }

    fn with(self, begun: impl Iterator<Item = Begun>) -> Self {
        let (queued, at_once): (Vec<Begun>, Vec<Begun>) = begun.partition(|it| it.later == Later::Gpu);
        let mut queued: Vec<u64> = queued.iter().map(|it| it.queued).collect();
        let middle = queued.len() / 2;
        Self {
            host_later: at_once.len() as u64,
            gpu_later: queued.len() as u64,
            queued: queued.iter().sum(),
            queued_median: (!queued.is_empty()).then(|| *queued.select_nth_unstable(middle).1),
            ..self
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_that_of_the_calls_that_waited_for_the_gpu() {
        let rank = CommunicatorRank { comm: 7, rank: 3 };
        let none = RankLaunches::nothing(rank, 2, 6);
        assert_eq!(none.with(std::iter::empty()), none);
        let begun = [(Later::Host, 900), (Later::Gpu, 70_000), (Later::Gpu, 30_000), (Later::Gpu, 50_000)];
        let found = none.with(begun.into_iter().map(|(later, queued)| Begun { later, queued }));
        let wanted = RankLaunches { host_later: 1, gpu_later: 3, queued: 150_000, queued_median: Some(50_000), ..none };
        assert_eq!(found, wanted);
    }
}
