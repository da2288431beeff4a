//! The arrivals of a process in its summary: when its ranks began their collectives, on which clock. Whoever reads the
//! summaries of all processes compares them ([`crate::lateness`]).

use crate::base::visible::visible;
use crate::clock::{CLOCK, ClockSource};
use crate::figures::arrivals;
use crate::figures::missing::Missing;
use crate::figures::timeline::Timeline;
use crate::origin;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// Begins and durations of collectives of a process' ranks, as many as there is room for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrivals {
    /// The clock of the times. Processes with the same one read one clock; without one, nobody else reads it.
    pub clock: Option<String>,
    /// Length of its tick, nanoseconds.
    pub nanoseconds_per_tick: f64,
    /// What it showed when the figures were taken: at `ended` of the process.
    pub ticks: u64,
    /// Number of collectives.
    pub collectives: u64,
    /// The collectives, in the form of [`arrivals::Arrivals::encode`], as text (Base64 of RFC 4648).
    pub encoded: String,
}

impl Arrivals {
    /// Makes the summary's arrivals of this process from those kept for it. They take at most `bytes` bytes of text, or
    /// as many as the ranks alone need. If the GPU has timed none, there are the ranks alone: they are members.
    pub fn of_process(mut kept: arrivals::Arrivals, nanoseconds_per_tick: f64, bytes: usize) -> Self {
        if !kept.are_timed() {
            kept.ranks.iter_mut().for_each(|rank| rank.arrivals.clear());
        }
        // four characters stand for three bytes
        let encoded = kept.fit(usize::MAX, bytes / 4 * 3);
        Self {
            clock: clock(),
            nanoseconds_per_tick,
            ticks: CLOCK.now(),
            collectives: kept.count() as u64,
            encoded: BASE64_STANDARD.encode(encoded),
        }
    }

    /// Makes them of what a timeline keeps for the summary.
    pub(super) fn of_timeline(timeline: &Timeline, nanoseconds_per_tick: f64) -> Option<Self> {
        let is_complete = Missing::of_threads().dropped == 0;
        let (kept, bytes) = timeline.sampled(is_complete, nanoseconds_per_tick)?;
        Some(Self::of_process(kept, nanoseconds_per_tick, bytes))
    }

    /// Returns the collectives; `None` if they are of another version, or damaged.
    pub fn decode(&self) -> Option<arrivals::Arrivals> {
        arrivals::Arrivals::decode(&BASE64_STANDARD.decode(&self.encoded).ok()?)
    }
}

/// The variables that tell clocks apart.
struct ClockVariables {
    /// NCCL_HOSTID.
    host_id: Option<String>,
    /// SCOREP_TIMER.
    timer: Option<String>,
}

static SET: OnceLock<ClockVariables> = OnceLock::new();

/// Reads the variables that tell clocks apart, once, on NCCL's thread: the program may change its environment later
/// while another thread reads it.
pub(crate) fn read_clock_variables() {
    SET.get_or_init(|| {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let [host_id, timer] =
            ["NCCL_HOSTID", "SCOREP_TIMER"].map(|name| Some(visible(&set(name)?.to_string_lossy()).to_string()));
        ClockVariables { host_id, timer }
    });
}

/// Returns the name of the clock that this process reads: the machine's, or that of NCCL's host id, and the source of
/// the times. A replay reads the recorded machine's clock.
fn clock() -> Option<String> {
    let (_, process) = origin::of_figures();
    if origin::is_recorded() {
        return process.boot.map(|boot| format!("{boot} recording"));
    }
    let ClockVariables { host_id, timer } = SET.get()?;
    let node = host_id.as_ref().or(process.boot.as_ref())?;
    let source = match CLOCK.source() {
        ClockSource::System => "system".into(),
        ClockSource::Counter => "counter".into(),
        ClockSource::ScoreP => timer.as_ref().map_or("score-p".into(), |timer| format!("score-p {timer}")),
    };
    Some(format!("{node} {source}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::name::NcclName;
    use crate::figures::arrivals::{Arrival, Collective, KnownTime, RankArrivals};
    use crate::sums::run_sums::CommunicatorRank;

    fn kept(known: KnownTime) -> arrivals::Arrivals {
        let collective = |sequence: u64| {
            let arrival = Arrival { time: sequence * 1_000_000, length: 5, known, ..Arrival::default() };
            Collective { function: NcclName::of(Some(c"AllReduce")), sequence, order: sequence as u32, arrival }
        };
        let rank = RankArrivals::new(CommunicatorRank { comm: 1, rank: 0 }, (0..1000).map(collective).collect());
        arrivals::Arrivals { ranks: vec![rank], ..arrivals::Arrivals::default() }
    }

    #[test]
    fn they_are_as_long_as_they_may_be_and_read_back() {
        let whole = Arrivals::of_process(kept(KnownTime::Begin), 0.5, 1 << 20);
        assert_eq!((whole.decode(), whole.collectives), (Some(kept(KnownTime::Begin)), 1000));
        let part = Arrivals::of_process(kept(KnownTime::Begin), 0.5, 4096);
        assert!((1000..=4096).contains(&part.encoded.len()), "{}", part.encoded.len());
        assert_eq!(part.decode().unwrap().count() as u64, part.collectives);
        let text = serde_json::to_string(&part).unwrap();
        assert_eq!(serde_json::from_str::<Arrivals>(&text).unwrap(), part);
    }

    #[test]
    fn without_times_and_without_sense_there_are_none() {
        let untimed = Arrivals::of_process(kept(KnownTime::Nothing), 1.0, 1 << 20).decode().unwrap();
        assert_eq!((untimed.count(), untimed.ranks.len()), (0, 1));
        let whole = Arrivals::of_process(kept(KnownTime::Begin), 1.0, 1 << 20);
        for encoded in ["", "A", "????", "AAAA"] {
            assert_eq!(Arrivals { encoded: encoded.into(), ..whole.clone() }.decode(), None, "{encoded}");
        }
    }
}
