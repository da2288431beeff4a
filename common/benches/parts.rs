//! How long the parts take, each by itself: `make bench`. `benches/plugins.rs` measures them together, in callbacks.
//!
//! There is no collector's thread here: what it does is done between the measurements, or is what is measured.

#![expect(clippy::unwrap_used, reason = "a measurement that cannot go on should stop")]

use common::clock::CLOCK;
use common::communicator::FollowedCommunicator;
use common::config::{Regression, Settings};
use common::context::Contexts;
use common::course::Course;
use common::event::{Event, InitCommunicator, ProxyOp, StartedOperation, StateChange};
use common::figures::Figures;
use common::grace::Graces;
use common::handle::Handle;
use common::metric::Fixed;
use common::rate::FittedLine;
use common::recorder::Recorder;
use common::round;
use common::services::{Service, Services};
use common::thread::ThreadCell;
use common::window::WindowState;
use common::{board, grace, log};
use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use std::cell::RefCell;

/// Events of a measurement that fills a window: 100 blocks of slots.
const EVENTS: u64 = 6400;

/// What the GPU's clock shows more than that of the callbacks.
const GPU_BEGIN: u64 = 1 << 60;

fn main() {
    grace::prepare();
    log::set_verbosity(log::Verbosity::Off);
    divan::main();
}

/// A process with one communicator.
struct Run {
    recorder: &'static Recorder,
    context: u64,
    communicator: FollowedCommunicator,
    graces: Graces,
    figures: Figures,
}

impl Run {
    fn new() -> Self {
        // nobody listens, and nobody needs to know
        let recorder = Recorder::new(Settings::default()).unwrap();
        let introduction = InitCommunicator {
            id: 1,
            name: String::new(),
            nranks: 2,
            nnodes: 2,
            rank: 0,
            api_calls: false,
            kernel_events: true,
            introduced: true,
            timed: Default::default(),
        };
        let recorder: &'static Recorder = Box::leak(Box::new(recorder));
        let context = recorder.init(introduction.clone());
        let communicator = FollowedCommunicator::new(Handle::parse(context).unwrap(), &introduction);
        // the clock is the system's: a tick is a nanosecond
        let mut figures = Figures::default();
        figures.knows_tick = true;
        Self { recorder, context, communicator, graces: Graces::default(), figures }
    }

    /// An operation, which has stopped as NCCL's operations do, at once.
    fn operation(&self, sequence: u64) -> u64 {
        let operation = StartedOperation {
            function: Some(c"AllReduce".into()),
            count: 1024,
            datatype: Some(c"ncclFloat32".into()),
            sequence,
            peer: None,
            root: None,
            channels: 1,
            algorithm: Some(c"RING".into()),
            protocol: Some(c"LL".into()),
            identity: None,
            stream: 0,
        };
        let handle = self.recorder.start(self.context, 0, &Event::Coll(operation));
        self.recorder.stop(handle);
        handle
    }

    fn kernel(&self, operation: u64, stamp: u64) {
        let handle = self.recorder.start(self.context, operation, &Event::KernelCh { channel: 0, ptimer: Some(stamp) });
        self.recorder.state(handle, || StateChange::KernelChStop { ptimer: stamp + 500 });
        self.recorder.stop(handle);
    }

    fn proxy_op(&self, operation: u64) -> u64 {
        let pid = i64::from(std::process::id());
        let event = Event::ProxyOp(ProxyOp { pid, peer: 1, channel: 0, steps: 1, send: true });
        self.recorder.start(self.context, operation, &event)
    }

    fn step(&self, proxy: u64, step: i32) {
        let handle = self.recorder.start(self.context, proxy, &Event::ProxyStep { step });
        self.recorder.state(handle, || StateChange::SendWait { bytes: 4096 + (step as u64 % 8) * 1024 });
        self.recorder.stop(handle);
    }

    /// A window's worth of operations, with a kernel channel, a proxy operation and a step each.
    fn fill(&self) {
        for sequence in 0..EVENTS / 4 {
            let operation = self.operation(sequence);
            self.kernel(operation, GPU_BEGIN + CLOCK.now());
            let proxy = self.proxy_op(operation);
            self.step(proxy, 0);
            self.recorder.stop(proxy);
        }
    }

    /// Closes the window and takes it in, as the collector does.
    fn take_in(&mut self) {
        let (context, _) = self.recorder.contexts.find(self.context).unwrap();
        let window = context.filling();
        self.communicator.close_old_window(self.recorder, CLOCK.now(), 0);
        for _ in 0..1000 {
            let course = Course { recorder: self.recorder, now: CLOCK.now(), hasty: false };
            round::follow(std::iter::once(&mut self.communicator), course, &mut self.graces, &mut self.figures);
            if matches!(context.window(window).state(), WindowState::Ready | WindowState::Filling) {
                return;
            }
        }
        unreachable!("the window stays {:?}", context.window(window).state());
    }
}

/// Measures what fills a window, which is taken in before each measurement.
fn recording(bencher: Bencher<'_, '_>, record: impl Fn(&mut Run)) {
    let run = RefCell::new(Run::new());
    bencher
        .counter(ItemsCount::new(EVENTS))
        .with_inputs(|| run.borrow_mut().take_in())
        .bench_local_values(|()| record(&mut run.borrow_mut()));
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn record_operations(bencher: Bencher<'_, '_>) {
    recording(bencher, |run| (0..EVENTS).for_each(|sequence| _ = run.operation(sequence)));
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn record_kernel_channels(bencher: Bencher<'_, '_>) {
    recording(bencher, |run| {
        // what the stamps say is of no account here, and reading the clock for them would be measured
        let (operation, first) = (run.operation(0), GPU_BEGIN + CLOCK.now());
        (1..EVENTS).for_each(|number| run.kernel(operation, first + number * 1000));
    });
}

#[divan::bench(sample_count = 200, sample_size = 1)]
fn record_steps(bencher: Bencher<'_, '_>) {
    recording(bencher, |run| {
        let operation = run.operation(0);
        let proxy = run.proxy_op(operation);
        (2..EVENTS as i32).for_each(|step| run.step(proxy, step));
        run.recorder.stop(proxy);
    });
}

/// A window's worth of events, from the slots to the figures.
#[divan::bench(sample_count = 50, sample_size = 1)]
fn aggregate_a_window(bencher: Bencher<'_, '_>) {
    let run = RefCell::new(Run::new());
    bencher
        .counter(ItemsCount::new(EVENTS))
        .with_inputs(|| run.borrow_mut().fill())
        .bench_local_values(|()| run.borrow_mut().take_in());
}

#[divan::bench]
fn check_a_living_handle(bencher: Bencher<'_, '_>) {
    let run = Run::new();
    let proxy = run.proxy_op(run.operation(0));
    bencher.bench_local(|| run.recorder.state(black_box(proxy), || StateChange::Other));
}

#[divan::bench]
fn check_a_stopped_handle(bencher: Bencher<'_, '_>) {
    let run = Run::new();
    let operation = run.operation(0);
    bencher.bench_local(|| run.recorder.state(black_box(operation), || StateChange::Other));
}

/// One window closes, the next one opens, and the first is ready again.
#[divan::bench]
fn rotate_windows(bencher: Bencher<'_, '_>) {
    let contexts = Contexts::new().unwrap();
    let id = contexts.open(false, 1).unwrap();
    let (context, _) = contexts.find(id.raw()).unwrap();
    bencher.bench_local(|| {
        let window = context.filling();
        assert!(context.rotate(window, black_box(2)), "no window is ready");
        context.window(window).change(WindowState::Closing, WindowState::Processing);
        context.window(window).change(WindowState::Processing, WindowState::Ready);
    });
}

fn services_of(transfers: u64) -> Services {
    let mut services = Services::default();
    for number in 0..transfers {
        services.add(Service { bytes: black_box(4096 + number % 64 * 512), ticks: 10_000 + number * 7, in_flight: 1 });
    }
    services
}

#[divan::bench]
fn take_in_a_thousand_services(bencher: Bencher<'_, '_>) {
    bencher.counter(ItemsCount::new(1000_u64)).bench_local(|| services_of(1000));
}

#[divan::bench]
fn line_of_a_fit(bencher: Bencher<'_, '_>) {
    let services = services_of(1000);
    bencher.bench_local(|| FittedLine::of(black_box(&services), Regression::Median, 1.0));
}

#[divan::bench]
fn read_a_counter_of_the_process(bencher: Bencher<'_, '_>) {
    bencher.bench_local(|| board::read(black_box(Fixed::Ops as usize)));
}

#[divan::bench]
fn read_a_counter_of_a_thread(bencher: Bencher<'_, '_>) {
    let (cell, _) = ThreadCell::current().unwrap();
    bencher.bench_local(|| black_box(cell).enqueued_ops.get());
}
