//! Plays a capture. Each recorded thread has a thread of its own; the calls keep the recorded order, and the clock
//! shows their recorded times.

use super::measurement::KeptMeasurement;
use super::nccl::Nccl;
use super::stage::{Listener, Stage, Turn};
use super::visits::{self, Visits};
use super::{HostError, clock, flush};
use crate::trace::{Metric, ProcessTrace, TraceMember};
use common::metric::SERIES;
use common::origin::{self, Origin};
use common::series::{Of, SeriesName};
use common::timeline::{self, OperationKeeper, Timeline};
use common::{missing, process};
use nccl_plugin::release::{Release, learn_types};
use recording::{KeptRecording, RecordingSurvey};
use scorep_substrate::replayed;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Number of calls between two waits for the collector, so that the recording memory suffices on the slowest machine.
const CALLS_AT_A_TIME: usize = 4096;

/// Score-P's region for the whole program. Score-P leaves it after it has announced the end of the measurement to the
/// plugins.
const PROGRAM: &str = "scorep-nccl replay";

/// Options of a playing.
pub(crate) struct PlayOptions<'a> {
    /// Whether to record the trace that Score-P would have written.
    pub(crate) trace: bool,
    /// File for the times at which ranks began their collectives.
    pub(crate) arrivals: Option<&'a Path>,
    /// The keeper of the operations, where they are wanted; then there are no arrivals.
    pub(crate) operations: Option<Arc<dyn OperationKeeper>>,
    /// Version of the interface to speak, where it is given.
    pub(crate) interface: Option<u32>,
    /// Called now and then with the number of calls made so far.
    pub(crate) progress: &'a (dyn Fn(usize) + Sync),
}

/// What a playing has given.
pub(crate) struct PlayedCapture {
    /// Score-P's trace of the process. Without a trace in the plan, it has no events of threads and no series.
    pub(crate) trace: ProcessTrace,
    /// The timeline with the clocks for the operations' times, where operations are wanted.
    pub(crate) timeline: Option<Timeline>,
    /// Whether figures were not exported as the settings ask.
    pub(crate) exports_failed: bool,
}

/// Stack of a playing thread, bytes. A callback needs little, and thousands of such stacks must fit into a limit of the
/// address space.
const STACK: usize = 256 << 10;

struct Player<'a> {
    survey: &'a RecordingSurvey,
    plan: &'a PlayOptions<'a>,
    /// Present where a trace is wanted.
    counters: Option<&'a [Metric]>,
    stage: Mutex<Stage<'a>>,
    /// By recorded thread.
    batons: BTreeMap<u32, Baton>,
}

/// The right of one thread to make the next calls. Whoever gives it has let the stage go before, and waits for its own.
#[derive(Default)]
struct Baton {
    is_here: Mutex<bool>,
    given: Condvar,
}

impl Baton {
    fn give(&self) {
        *self.is_here.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.given.notify_one();
    }

    fn wait(&self) {
        let is_here = self.is_here.lock().unwrap_or_else(PoisonError::into_inner);
        let given = self.given.wait_while(is_here, |is_here| !*is_here);
        *given.unwrap_or_else(PoisonError::into_inner) = false;
    }
}

/// Plays the whole capture, and gives `listen` its contents.
///
/// # Errors
/// When the capture has changed, a thread cannot be started, or a file cannot be written.
pub(crate) fn play(
    recording: &mut KeptRecording,
    name: &str,
    plan: &PlayOptions<'_>,
    listen: &mut Listener<'_>,
) -> Result<PlayedCapture, HostError> {
    let contents = recording.contents()?;
    let survey = &recording.survey;
    let [begin, end] = [survey.begin, survey.end].map(|t| survey.meta.mono0.saturating_add(t));
    clock::set(begin);
    let measurement = KeptMeasurement::begun(begin);
    replayed::prepare(clock::read, measurement);
    let counters = shown_counters();
    if plan.trace {
        series_of(survey, plan.interface).into_iter().for_each(replayed::ask_for_series);
    }
    let main_ids = visits::numbers(&counters);
    if let Some(keeper) = &plan.operations {
        timeline::keep_with(keeper.clone());
    }
    replayed::begin();

    describe_process(&recording.path, survey);
    let player = Player {
        survey,
        plan,
        counters: plan.trace.then_some(&counters),
        stage: Mutex::new(Stage::new(Nccl::new(survey, plan.interface), contents, listen)),
        batons: survey.threads.iter().map(|&tid| (tid, Baton::default())).collect(),
    };
    has_room(survey.threads.len())?;
    let mut visits = player.run(main_ids, begin);
    if let Some(error) = player.lock().failed.take() {
        return Err(error);
    }
    clock::set(end);
    replayed::end();
    if let Some((path, arrivals)) = plan.arrivals.zip(replayed::take_arrivals()) {
        let written = std::fs::write(path, arrivals.encode());
        written.map_err(|source| HostError::Unwritten { path: path.into(), source })?;
    }
    if let Some(main) = visits.first_mut() {
        main.visit(end, false, PROGRAM);
    }
    let threads = visits.into_iter().filter(|visits| visits.is_known()).map(Visits::into_trace).collect();
    let members = survey.communicators.iter();
    let members = members
        .map(|(_, it)| TraceMember { comm: it.comm, rank: it.rank, nranks: it.nranks, nnodes: it.nnodes })
        .collect();
    drop(player);
    let trace = ProcessTrace {
        name: name.into(),
        job: String::new(),
        node: String::new(),
        members,
        ticks_per_second: clock::TICKS_PER_SECOND,
        begin,
        end,
        counters,
        threads,
        lanes: measurement.take(),
    };
    Ok(PlayedCapture { trace, timeline: replayed::take_timeline(), exports_failed: process::exports_failed() })
}

/// Returns the counters that a measurement would show, by Score-P's own variables.
fn shown_counters() -> Vec<Metric> {
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let asked = text("SCOREP_METRIC_NCCL_PLUGIN").unwrap_or_else(|| "default".into());
    let separator = text("SCOREP_METRIC_PLUGINS_SEP").unwrap_or_else(|| ",".into());
    let metric = |metric: replayed::Metric<'_>| Metric {
        name: metric.name.into(),
        description: metric.description.to_string_lossy().into(),
        unit: metric.unit.to_string_lossy().into(),
        mode: metric.mode,
        value_type: metric.value_type,
        base: metric.base,
        exponent: metric.exponent,
    };
    asked.split(&separator).flat_map(replayed::show).map(metric).collect()
}

/// Names the recorded process to the library, and the part of it that the capture lacks.
fn describe_process(path: &Path, survey: &RecordingSurvey) {
    let process = Origin { file: Some(path.display().to_string()), ..survey.meta.origin.clone() };
    origin::replay(survey.meta.pid.cast_unsigned(), process.known().as_bytes());
    learn_types(origin::of_figures().1.releases().map(Release));
    if !survey.is_complete {
        missing::cut();
    }
    missing::lack(survey.meta.dropped);
}

/// Checks that the stacks of this many threads fit into the address space. The check comes before the first thread
/// starts, because a thread without room for its thread-locals ends the process.
fn has_room(threads: usize) -> Result<(), HostError> {
    let bytes = threads.saturating_mul(STACK + STACK / 4);
    let refused = |_| HostError::Thread(std::io::ErrorKind::OutOfMemory.into());
    Vec::<u8>::new().try_reserve_exact(bytes).map_err(refused)
}

/// Returns the series to ask for: those of each communicator, and the series by peer for each rank that proxy
/// operations send to.
fn series_of(survey: &RecordingSurvey, interface: Option<u32>) -> Vec<SeriesName> {
    // up to v3 of the interface NCCL does not give the number of ranks, so communicators of one rank count, too
    let is_told = interface.unwrap_or(survey.meta.api) > 3;
    let made = survey.communicators.iter().filter(|(_, made)| made.nranks > 1 || !is_told).map(|(ctx, _)| *ctx);
    let names_of = |(number, made): (u32, u32)| {
        let own = Of::Communicator(number);
        let peers = survey.sends.range((made, i32::MIN)..=(made, i32::MAX));
        let of_peers = peers.map(move |&(_, peer)| Of::Peer(number, peer));
        std::iter::once(own).chain(of_peers).flat_map(|of| SERIES.iter().map(move |series| SeriesName { series, of }))
    };
    let names = (0..).zip(made).flat_map(names_of);
    names.filter(|name| name.series.by_peer || !matches!(name.of, Of::Peer(..))).collect()
}

impl<'a> Player<'a> {
    /// Plays on as many threads as were recorded. The thread with the first call is the main thread, and its visits
    /// come first.
    fn run(&self, main_ids: Vec<i32>, begin: u64) -> Vec<Visits<'_>> {
        let main = self.survey.main;
        std::thread::scope(|scope| {
            let mut others = Vec::new();
            for &tid in self.batons.keys().filter(|&&tid| tid != main) {
                match std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || self.play_thread(tid)) {
                    Ok(thread) => others.push(thread),
                    Err(error) => {
                        self.lock().failed = Some(HostError::Thread(error));
                        self.wake_all();
                        break;
                    }
                }
            }
            let mut own = Visits::new(self.counters, main, Some(main_ids));
            own.visit(begin, true, PROGRAM);
            self.take_turns(main, &mut own);
            own.leave_all();
            let others = others.into_iter().filter_map(|thread| thread.join().ok());
            std::iter::once(own).chain(others).collect()
        })
    }

    fn play_thread(&self, tid: u32) -> Visits<'_> {
        let mut visits = Visits::new(self.counters, tid, None);
        self.take_turns(tid, &mut visits);
        visits.leave_all();
        visits
    }

    /// Makes the calls of one thread, each when its turn comes.
    fn take_turns(&self, tid: u32, visits: &mut Visits<'_>) {
        let Some(baton) = self.batons.get(&tid) else { return };
        loop {
            let mut stage = self.lock();
            if stage.is_over() {
                return;
            }
            if stage.is_of_another(tid) {
                drop(stage);
                baton.wait();
                continue;
            }
            while let Some(Turn { call, passed }) = stage.take(tid) {
                let shown = |t| self.survey.meta.mono0.saturating_add(t);
                if let Some(t) = passed {
                    clock::set(shown(t));
                }
                let time = shown(call.t);
                clock::set(time);
                visits.before(&call.what, time);
                stage.make(&call);
                visits.after(&call.what, time);
                stage.advance();
                if stage.made.is_multiple_of(CALLS_AT_A_TIME) {
                    flush();
                    (self.plan.progress)(stage.made);
                }
            }
            let next = stage.next_thread();
            let of_next = next.and_then(|tid| self.batons.get(&tid));
            if let (Some(tid), None) = (next, of_next) {
                stage.failed = Some(HostError::Changed { tid });
            }
            drop(stage);
            match of_next {
                Some(next) => next.give(),
                None => return self.wake_all(),
            }
            baton.wait();
        }
    }

    /// Wakes all threads at the end, when no call is left to wait for.
    fn wake_all(&self) {
        self.batons.values().for_each(Baton::give);
    }

    fn lock(&self) -> MutexGuard<'_, Stage<'a>> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
