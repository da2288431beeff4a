//! The collector thread: takes in what was recorded, works out the figures, answers questions. It never calls Score-P,
//! and no callback ever waits for it.

mod flush;
mod launch_report;
mod launches;
mod standings;

use crate::base::{log, own_thread, shortage, switch};
use crate::clock::CLOCK;
use crate::collect::communicator::FollowedCommunicator;
use crate::collect::course::{Course, Round};
use crate::collect::pulse;
use crate::collect::question::{self, Question};
use crate::collect::round;
use crate::collect::standstill;
use crate::conditions::absence;
use crate::event::{self, TimingOptions};
use crate::figures::Figures;
use crate::figures::introductions::Introductions;
use crate::figures::timeline::Timeline;
use crate::figures::{missing, timeline};
use crate::launch::lag::Pause;
use crate::launch::share::Watch;
use crate::launch::times::LaunchTimes;
use crate::record::context::switching::Switched;
use crate::record::grace::Graces;
use crate::record::news::News;
use crate::record::recorder::Recorder;
use crate::record::thread::ThreadCell;
use crate::status;
use crate::summary::Summary;
use launch_report::LaunchReport;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Once;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Number of unused blocks of recording memory that are committed ahead: 4 MiB, or five milliseconds of ten million
/// events a second.
const BLOCKS_AHEAD: u32 = 1024;
/// Time between two rounds while events arrive.
const ROUND: Duration = Duration::from_millis(10);
/// Number of events that a round should find: with many events, rounds follow one another more closely.
const PLENTY: u32 = 16_384;
/// Time between two rounds while nothing happens. The next operation ends it.
const SLEEP: Duration = Duration::from_secs(1);
/// Number of rounds without news after which the collector sleeps.
const IDLE_ROUNDS: u32 = 100;

/// Starts the collector thread.
///
/// # Errors
/// When the system refuses a thread.
pub(crate) fn spawn(recorder: &'static Recorder) -> io::Result<()> {
    // on the caller's thread: the program may change its environment while another thread reads it
    let in_one_queue = std::env::var("CUDA_DEVICE_MAX_CONNECTIONS").is_ok_and(|value| value.trim() == "1");
    own_thread::spawn("scorep-nccl", move || Collector::new(recorder, in_one_queue).run())
}

struct Collector {
    recorder: &'static Recorder,
    communicators: BTreeMap<u32, FollowedCommunicator>,
    introductions: Introductions,
    graces: Graces,
    figures: Figures,
    launches: LaunchTimes,
    share: Watch,
    pause: Pause,
    in_one_queue: bool,
    told_failure: bool,
    /// Reports of launches that have not been passed on.
    heard: Vec<LaunchReport>,
    /// Communicators that have ended, for the status file.
    past: VecDeque<status::StatusCommunicator>,
}

impl Collector {
    fn new(recorder: &'static Recorder, in_one_queue: bool) -> Self {
        let mut launches = LaunchTimes::default();
        if recorder.settings.status.is_some() {
            launches.follow_begins();
        }
        if recorder.settings.graph_events > 0 {
            launches.follow_graphs();
        }
        Self {
            recorder,
            communicators: BTreeMap::new(),
            introductions: Introductions::default(),
            graces: Graces::default(),
            figures: Figures::new(&recorder.settings),
            launches,
            share: Watch::default(),
            pause: Pause::default(),
            in_one_queue,
            told_failure: false,
            heard: Vec::new(),
            past: VecDeque::new(),
        }
    }

    fn run(mut self) {
        standstill::is_here();
        let mut idle = 0;
        let mut callbacks = 0;
        let mut begun = Instant::now();
        loop {
            if shortage::is_out_of_memory() {
                switch::tell_out_of_memory();
                own_thread::stop();
            }
            self.recorder.pool.commit_ahead(BLOCKS_AHEAD);
            let news = self.listen();
            let Round { events, .. } = self.round(false);
            let now = ThreadCell::all_callbacks();
            // one more round follows before the long sleep if a window has filled during this one
            let busy = news || now != callbacks || self.recorder.has_closed.load(Ordering::Relaxed);
            callbacks = now;
            idle = if busy { 0 } else { idle + 1 };
            // operations and launches under way end without waking the collector
            if idle < IDLE_ROUNDS
                || self.launches.are_awaited()
                || self.communicators.values().any(FollowedCommunicator::awaits)
            {
                // this many events arrived since the last round began
                let pause =
                    if events == 0 { ROUND } else { (begun.elapsed().saturating_mul(PLENTY) / events).min(ROUND) };
                begun = Instant::now();
                if events < PLENTY / 2 {
                    self.recorder.bell.wait(pause);
                    absence::slept(pause, begun.elapsed());
                }
            } else {
                self.recorder.asleep.store(true, Ordering::SeqCst);
                // events recorded before `asleep` was set woke nobody: this round takes them in now, not a second later
                self.round(false);
                let since = Instant::now();
                self.recorder.bell.wait(SLEEP);
                absence::slept(SLEEP, since.elapsed());
                self.recorder.asleep.store(false, Ordering::Relaxed);
            }
        }
    }

    /// Takes in the news and answers the questions. Returns whether there were any.
    fn listen(&mut self) -> bool {
        let mut heard = self.recorder.has_closed.swap(false, Ordering::Acquire);
        loop {
            // first, so that all news from before the question are taken in before the answer
            let question = question::next();
            while let Some(news) = self.recorder.news.pop() {
                heard = true;
                self.take_in(news);
            }
            let Some(question) = question else { return heard };
            heard = true;
            self.answer(question);
        }
    }

    fn take_in(&mut self, news: News) {
        match news {
            News::Opened { id, communicator } => {
                self.begin_timeline();
                self.tell_of_graphs();
                self.figures.wants_gpu_times |=
                    communicator.kernel_events || communicator.timed.launches || self.may_switch(&communicator);
                let mut opened = FollowedCommunicator::new(id, &communicator);
                if self.may_switch(&communicator) {
                    opened.may_switch(Switched::of(communicator.timed.mask));
                }
                opened.show(self.figures.series.open(communicator.nranks));
                self.figures.progress.iter_mut().for_each(|progress| progress.open(id.index(), CLOCK.now()));
                if let Some(standing) = self.standing_of(id, &communicator) {
                    opened.stand(standing);
                }
                self.communicators.insert(id.index(), opened);
                if communicator.introduced {
                    self.introductions.add(&communicator);
                }
            }
            News::Told { index, id, name, rank } => self.tell(index, id, name, rank),
            News::Ended { id, time } => {
                let communicator = self.communicators.get_mut(&id.index());
                if let Some(communicator) = communicator.filter(|communicator| communicator.id() == id) {
                    communicator.end(time);
                }
            }
        }
    }

    /// Answers a question. Whoever asked may no longer wait.
    fn answer(&mut self, question: Question) {
        match question {
            Question::Flush { last, done } => self.flush(last, done),
            Question::Close { pool, generation, done } => {
                self.close_launches(pool, generation);
                done.give(());
            }
            Question::Summary { answer } => {
                let regression = self.recorder.settings.regression;
                self.communicators.values().for_each(|communicator| communicator.give_track(&mut self.figures));
                answer.give(Summary::of_process(&self.figures, &self.introductions, regression));
            }
            Question::Status { answer } => answer.give(self.status()),
            #[cfg(feature = "otel")]
            Question::Sums { answer } => {
                self.communicators.values().for_each(|communicator| communicator.give_track(&mut self.figures));
                answer.give(crate::figures::snapshot::ProcessSums::of(&mut self.figures, &self.introductions));
            }
            Question::Timeline { answer } => {
                let scale = self.figures.nanoseconds_per_tick;
                answer.give(self.figures.timeline.as_mut().map(|timeline| {
                    timeline.nanoseconds_per_tick = scale;
                    timeline.take()
                }));
            }
            Question::Series { series, answer } => {
                let (store, scale) = (&self.figures.series, self.figures.nanoseconds_per_tick);
                answer.give((store.name_of(series.of), store.points(series, scale)));
            }
        }
    }

    /// Begins the timeline with the first communicator, if the timeline is wanted.
    fn begin_timeline(&mut self) {
        if !self.communicators.is_empty() || self.figures.timeline.is_some() {
            return;
        }
        if let Some(obstacle) = timeline::obstacle() {
            static TOLD: Once = Once::new();
            TOLD.call_once(|| log::warn(obstacle));
        }
        self.figures.timeline = Timeline::wanted(&self.recorder.settings);
    }

    /// Introduces a communicator from its first operation. Such an introduction never has the numbers of ranks and
    /// nodes.
    fn tell(&mut self, index: u32, id: u64, name: String, rank: i32) {
        if let Some(communicator) = self.communicators.get_mut(&index) {
            communicator.tell(id, rank);
            if let Some(standing) = communicator.standing_mut() {
                standing.tell(&name, rank);
            }
            let introduction = event::InitCommunicator {
                id,
                name,
                nranks: 0,
                nnodes: 0,
                rank,
                api_calls: false,
                kernel_events: false,
                introduced: true,
                timed: TimingOptions::default(),
            };
            self.introductions.add(&introduction);
        }
    }

    /// Takes in once what was recorded.
    fn round(&mut self, hasty: bool) -> Round {
        pulse::beat();
        let now = CLOCK.now();
        self.know_scale();
        self.look_at_launches();
        let most_ticks = self.figures.ticks(self.recorder.settings.window_seconds);
        let Self { recorder, communicators, graces, figures, .. } = self;
        let in_turn =
            communicators.values_mut().inspect(|communicator| communicator.close_old_window(recorder, now, most_ticks));
        let round = round::follow(in_turn, Course { recorder, now, hasty }, graces, figures);
        self.figures.progress.iter_mut().for_each(|progress| progress.pass(now));
        self.settle_replays();
        self.keep_past();
        let Self { communicators, launches, .. } = self;
        communicators.retain(|_, communicator| {
            if communicator.is_over() {
                launches.forget(communicator.id());
            }
            !communicator.is_over()
        });
        self.introductions.forget(self.figures.totals.take_handed_over());
        self.figures.update_board();
        self.pause_stamps();
        missing::tell_of_full_recording();
        round
    }

    /// Takes over the nanoseconds of a tick, which become more exact over time.
    fn know_scale(&mut self) {
        if let Some(scale) = CLOCK.nanoseconds_per_tick() {
            self.figures.nanoseconds_per_tick = scale;
            self.figures.knows_tick = true;
            self.recorder.know_tick(scale);
            self.figures.series.set_stretch(self.recorder.window_ticks());
        }
    }
}
