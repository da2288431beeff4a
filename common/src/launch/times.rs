//! The collector's side of launches: asks whether their events have happened, and when.
//!
//! CUDA tells the time between two events, not when they happened. So each is placed behind the one before, on a clock that begins near the
//! system's real time: the GPU's own, whose stamps have another epoch (seen on H200s: no drift between the two within a microsecond).
//!
//! The first event happens as soon as the stream is free, which may be before the host has launched the kernel. No kernel begins before its
//! launch, so its begin is the later of the first event and the launch's end, brought to the events' clock by the smallest (event - time of
//! its record) that was seen of late: that of an event that waited for nothing. Against CUPTI's kernels that is 3 us early to 4.5 us late
//! for 95 % (docs/gpu-test.md).

use super::pool::Launches;
use super::{KernelId, KernelTime, Launch, News, Source, Untimed};
use crate::cuda::Event;
use crate::handle::Handle;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Nanoseconds after which the smallest difference is looked for anew; that of up to twice as long is used.
const RECENT: f64 = 2e9;
/// Between two events with a kernel between them lie at least so many nanoseconds: less means that the kernel was launched elsewhere.
const LEAST: u64 = 3_000;

/// The event that the next ones are placed behind, of a context.
#[derive(Debug)]
struct Reference {
    /// Its launch, which nobody else may use meanwhile.
    launch: Box<Launch>,
    event: Event,
    /// When it happened, nanoseconds of the events' clock.
    time: u64,
}

/// When an event was about to be recorded, ticks, and when it happened, nanoseconds of the events' clock.
#[derive(Debug, Clone, Copy)]
struct Pair {
    ticks: u64,
    time: u64,
}

impl Pair {
    /// Nanoseconds of the events' clock at a time in ticks, if the event waited for nothing.
    fn at(self, ticks: u64, scale: f64) -> u64 {
        let after = ticks.wrapping_sub(self.ticks) as i64;
        self.time.saturating_add_signed((after as f64 * scale) as i64)
    }
}

/// Where the host's clock lies on the events' clock: of late, the least that events have taken to happen.
#[derive(Debug, Default)]
struct Least {
    since: u64,
    current: Option<Pair>,
    previous: Option<Pair>,
}

impl Least {
    fn observe(&mut self, pair: Pair, scale: f64) {
        let age = pair.ticks.saturating_sub(self.since) as f64 * scale;
        match self.current {
            Some(best) if age < RECENT => {
                if pair.time < best.at(pair.ticks, scale) {
                    self.current = Some(pair);
                }
            }
            best => {
                self.previous = best.filter(|_| age < 2.0 * RECENT);
                (self.since, self.current) = (pair.ticks, Some(pair));
            }
        }
    }

    fn at(&self, ticks: u64, scale: f64) -> Option<u64> {
        self.current.into_iter().chain(self.previous).map(|pair| pair.at(ticks, scale)).min()
    }
}

/// What became of a launch.
#[derive(Debug, Clone, Copy)]
pub struct Outcome {
    /// What it launched.
    pub kernel: KernelId,
    /// Number under which a recording knows it.
    pub number: u64,
    /// When the two events happened, nanoseconds of the events' clock; of a launch that a recording does not know.
    pub events: Option<(u64, u64)>,
    /// When the kernel ran.
    pub time: Result<KernelTime, Untimed>,
}

/// Launches whose times are to come.
#[derive(Debug, Default)]
pub struct Times {
    /// By pool and stream, in the order of their launches: in a stream they happen one after the other.
    under_way: FxHashMap<(usize, usize), VecDeque<Box<Launch>>>,
    references: FxHashMap<usize, Reference>,
    /// In the order in which they were learnt.
    recorded: VecDeque<Box<Launch>>,
    /// Of each communicator, which knows one GPU.
    hosts: FxHashMap<u64, Least>,
}

impl Times {
    /// Whether any is to come.
    pub fn are_awaited(&self) -> bool {
        self.under_way.values().any(|queue| !queue.is_empty()) || !self.recorded.is_empty()
    }

    /// A launch whose times are to come.
    pub fn await_launch(&mut self, launch: Box<Launch>) {
        match launch.source {
            Source::Events { pool, .. } => self.under_way.entry((pool, launch.stream)).or_default().push_back(launch),
            Source::Recording(_) => self.recorded.push_back(launch),
        }
    }

    /// Gives `each` what has become of launches; `now` reads the events' clock in ticks, of which one is worth `scale` nanoseconds.
    pub fn look(&mut self, launches: &Launches, now: impl Fn() -> u64, scale: f64, mut each: impl FnMut(Outcome)) {
        self.look_at_recorded(now(), scale, &mut each);
        if self.under_way.is_empty() {
            return;
        }
        let Some(driver) = launches.driver() else { return };
        if let Some(calls) = driver.calls() {
            let Self { under_way, references, hosts, .. } = self;
            for (&(pool, _), queue) in under_way.iter_mut() {
                while let Some(Source::Events { first, last, .. }) = queue.front().map(|launch| launch.source) {
                    let Some(lasted) = calls.elapsed(first, last) else { break };
                    let learnt = now();
                    let place =
                        |reference: &Reference| Some(reference.time.saturating_add_signed(calls.elapsed(reference.event, last)?));
                    let stopped = match references.get(&pool) {
                        Some(reference) => place(reference),
                        None => Some(real_time()),
                    };
                    let (Some(stopped), Some(launch)) = (stopped, queue.pop_front()) else { break };
                    let events = (stopped.saturating_sub(lasted.max(0).cast_unsigned()), stopped);
                    if let Some(kernel) = launch.kernel {
                        let time = begin(hosts.entry(kernel.context.raw()).or_default(), &launch, events, learnt, scale);
                        each(Outcome { kernel, number: launch.number, events: Some(events), time });
                    }
                    let reference = Reference { launch, event: last, time: stopped };
                    if let Some(before) = references.insert(pool, reference) {
                        launches.give_back(before.launch);
                    }
                }
            }
            under_way.retain(|_, queue| !queue.is_empty());
        }
        if driver.is_over() {
            let cause = if driver.failure().is_some() { Untimed::CudaFailed } else { Untimed::NotBelieved };
            self.give_up(cause, &mut each);
        }
    }

    fn look_at_recorded(&mut self, now: u64, scale: f64, each: &mut impl FnMut(Outcome)) {
        let learnt = |launch: &Launch| match launch.source {
            Source::Recording(times) => times.learnt,
            Source::Events { .. } => 0,
        };
        self.recorded.make_contiguous().sort_by_key(|launch| learnt(launch));
        while self.recorded.front().is_some_and(|launch| learnt(launch) <= now) {
            let Some(launch) = self.recorded.pop_front() else { break };
            if let (Source::Recording(times), Some(kernel)) = (launch.source, launch.kernel) {
                let host = self.hosts.entry(kernel.context.raw()).or_default();
                let time = begin(host, &launch, (times.first, times.last), times.learnt, scale);
                each(Outcome { kernel, number: 0, events: None, time });
            }
        }
    }

    /// No time is to come any more.
    fn give_up(&mut self, cause: Untimed, each: &mut impl FnMut(Outcome)) {
        let left = self.under_way.drain().flat_map(|(_, queue)| queue).chain(self.recorded.drain(..));
        for kernel in left.filter_map(|launch| launch.kernel) {
            each(Outcome { kernel, number: 0, events: None, time: Err(cause) });
        }
    }

    /// A communicator has ended.
    pub fn forget(&mut self, context: Handle) {
        self.hosts.remove(&context.raw());
    }
}

/// When the kernel between two events ran.
fn begin(host: &mut Least, launch: &Launch, (first, last): (u64, u64), learnt: u64, scale: f64) -> Result<KernelTime, Untimed> {
    let &Launch { before, after, .. } = launch;
    host.observe(Pair { ticks: before, time: first }, scale);
    if last.saturating_sub(first) < LEAST {
        return Err(Untimed::NotBelieved);
    }
    let launched = host.at(after, scale).unwrap_or(first);
    Ok(KernelTime { start: first.max(launched).min(last), stop: last, first, before, learnt })
}

/// The system's real time, nanoseconds.
fn real_time() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(1 << 60, |since| since.as_nanos() as u64)
}

/// Takes what came of launches from those that told, for the communicators: `launched` and `untimed` hear of each kernel before its time.
pub fn take_news(
    launches: &Launches,
    times: &mut Times,
    mut launched: impl FnMut(KernelId, bool),
    mut untimed: impl FnMut(KernelId, Untimed, bool),
) {
    for news in launches.heard() {
        match news {
            News::Launched(launch) => {
                if let Some(kernel) = launch.kernel {
                    launched(kernel, launch.stamps);
                }
                times.await_launch(launch);
            }
            News::Untimed { kernel, cause, stamps } => untimed(kernel, cause, stamps),
        }
    }
}
