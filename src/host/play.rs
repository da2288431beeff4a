//! Plays a capture. Each recorded thread has a thread of its own; the calls keep the recorded order, and the clock
//! shows their recorded times.

use super::functions::{LibraryFunctions, OperationFiles};
use super::kernels::CaptureKernels;
use super::nccl::Nccl;
use super::scorep::MetricPlugin;
use super::stage::{Stage, Turn};
use super::visits::{CounterReader, Visits};
use super::{HostError, clock, measurement};
use crate::capture::{CaptureSurvey, IntroducedCommunicator, KeptRecording};
use crate::trace::{ProcessTrace, TraceMember};
use common::metric::SERIES;
use common::series::{Of, SeriesName};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Number of calls between two waits for the collector, so that the recording memory suffices on the slowest machine.
const CALLS_AT_A_TIME: usize = 4096;

/// Score-P's region for the whole program. Score-P leaves it after it has announced the end of the measurement to the
/// plugins.
const PROGRAM: &str = "scorep-nccl replay";

/// Options of a playing.
pub(crate) struct PlayOptions<'a> {
    /// The library, whatever its file is called: hosts load it under names of its own.
    pub(crate) library: &'a Path,
    /// Whether to record the trace that Score-P would have written.
    pub(crate) trace: bool,
    /// File for the times at which ranks began their collectives.
    pub(crate) arrivals: Option<&'a Path>,
    /// Files for the operations; then there are no arrivals.
    pub(crate) operations: Option<&'a OperationFiles>,
    /// Version of the interface to speak, where it is given.
    pub(crate) interface: Option<u32>,
    /// Called now and then with the number of calls made so far.
    pub(crate) progress: &'a (dyn Fn(usize) + Sync),
}

/// What a playing has given.
pub(crate) struct PlayedCapture {
    /// Score-P's trace of the process. Without a trace in the plan, it has no events of threads and no series.
    pub(crate) trace: ProcessTrace,
    /// Whether figures were not exported as the settings ask.
    pub(crate) exports_failed: bool,
}

/// Stack of a playing thread, bytes. A callback needs little, and thousands of such stacks must fit into a limit of the
/// address space.
const STACK: usize = 256 << 10;

struct Player<'a> {
    survey: &'a CaptureSurvey,
    plan: &'a PlayOptions<'a>,
    library: &'a LibraryFunctions,
    /// Present where a trace is wanted.
    score_p: Option<CounterReader<'a>>,
    stage: Mutex<Stage>,
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

/// Plays the whole capture.
///
/// # Errors
/// When the library cannot be loaded, or gives an answer with which a host would not go on.
pub(crate) fn play(
    recording: &mut KeptRecording,
    name: &str,
    plan: &PlayOptions<'_>,
) -> Result<PlayedCapture, HostError> {
    let contents = recording.contents()?;
    let survey = &recording.survey;
    let [begin, end] = [survey.begin, survey.end].map(|t| survey.meta.mono0.saturating_add(t));
    clock::set(begin);
    // as in a measurement
    let text = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let asked = text("SCOREP_METRIC_NCCL_PLUGIN").unwrap_or_else(|| "default".into());
    let separator = text("SCOREP_METRIC_PLUGINS_SEP").unwrap_or_else(|| ",".into());
    let counter_tokens: Vec<String> = asked.split(&separator).map(str::to_owned).collect();
    let counters = MetricPlugin::load(plan.library, "nccl_plugin", &counter_tokens)?;
    let tokens = if plan.trace { series_tokens(survey, plan.interface) } else { Vec::new() };
    let series = MetricPlugin::load(plan.library, "nccl_series_plugin", &tokens)?;
    let main_ids = counters.add_counters()?;
    let library = LibraryFunctions::find(plan.library)?;
    library.stand_in_for_score_p(begin);
    plan.operations.map_or(Ok(()), |files| library.keep_operations(files))?;
    counters.begin();

    library.tell_process(&recording.path, survey);
    library.tell_missing(survey);
    let kernels = CaptureKernels::of(survey, library.kernel_events, library.kernel_anchor);
    let nccl = Nccl::new(plan.library, survey.meta.clone(), kernels, plan.interface);
    let player = Player {
        survey,
        plan,
        library: &library,
        score_p: plan.trace.then_some(CounterReader { counters: &counters, library: &library }),
        stage: Mutex::new(Stage::new(nccl, contents)),
        batons: survey.threads.iter().map(|&tid| (tid, Baton::default())).collect(),
    };
    has_room(survey.threads.len())?;
    let mut visits = player.run(main_ids, begin);
    if let Some(error) = player.lock().failed.take() {
        return Err(error);
    }
    clock::set(end);
    counters.end();
    if let Some(path) = plan.arrivals {
        library.write_arrivals(path);
    }
    plan.operations.map_or(Ok(()), |files| library.write_operations(files))?;
    if let Some(main) = visits.first_mut() {
        main.visit(end, false, PROGRAM);
    }
    let threads = visits.into_iter().filter(|visits| visits.is_known()).map(Visits::into_trace).collect();
    let members = survey.communicators.iter();
    let members = members
        .map(|&IntroducedCommunicator { comm, nnodes, nranks, rank, .. }| TraceMember { comm, rank, nranks, nnodes })
        .collect();
    let trace = ProcessTrace {
        name: name.into(),
        job: String::new(),
        node: String::new(),
        members,
        ticks_per_second: clock::TICKS_PER_SECOND,
        begin,
        end,
        counters: counters.metrics().to_vec(),
        threads,
        lanes: measurement::take(),
    };
    let exports_failed = library.exports_failed();
    series.finalize();
    counters.finalize();
    Ok(PlayedCapture { trace, exports_failed })
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
fn series_tokens(survey: &CaptureSurvey, interface: Option<u32>) -> Vec<String> {
    // up to v3 of the interface NCCL does not give the number of ranks, so communicators of one rank count, too
    let is_told = interface.unwrap_or(survey.meta.api) > 3;
    let made = survey.communicators.iter().filter(|made| made.nranks > 1 || !is_told).map(|made| made.ctx);
    let tokens_of = |(number, made): (u32, u32)| {
        let own = Of::Communicator(number);
        let peers = survey.sends.range((made, i32::MIN)..=(made, i32::MAX));
        let of_peers = peers.map(move |&(_, peer)| Of::Peer(number, peer));
        std::iter::once(own).chain(of_peers).flat_map(|of| SERIES.iter().map(move |series| SeriesName { series, of }))
    };
    let tokens = (0..).zip(made).flat_map(tokens_of);
    tokens
        .filter(|token| token.series.by_peer || !matches!(token.of, Of::Peer(..)))
        .map(|token| token.to_string())
        .collect()
}

impl Player<'_> {
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
            let mut own = Visits::new(self.score_p, main, Some(main_ids));
            own.visit(begin, true, PROGRAM);
            self.take_turns(main, &mut own);
            own.leave_all();
            let others = others.into_iter().filter_map(|thread| thread.join().ok());
            std::iter::once(own).chain(others).collect()
        })
    }

    fn play_thread(&self, tid: u32) -> Visits<'_> {
        let mut visits = Visits::new(self.score_p, tid, None);
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
                if let Err(error) = stage.nccl.call(&call) {
                    stage.failed = Some(error);
                    break;
                }
                visits.after(&call.what, time);
                stage.advance();
                if stage.made.is_multiple_of(CALLS_AT_A_TIME) {
                    self.library.flush();
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

    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
