//! The habits of a run: what NCCL does, and how often. Each run has few odd habits, so that one does not hide another.

use fastrand::Rng;

/// Sizes of the transfers between two ranks.
#[derive(Clone, Copy)]
pub(super) enum Sizes {
    /// No bytes.
    None,
    One,
    Two,
    Many,
    /// Many sizes, with times exactly on a line.
    Line,
}

/// When late children come.
#[derive(Clone, Copy)]
pub(super) enum Late {
    /// There are no late children.
    Never,
    /// After this many nanoseconds in which nothing happens.
    Silence(u64),
    /// After this many callbacks.
    Callbacks(usize),
    /// After the end of their communicator and this many callbacks.
    End(usize),
}

/// The habits of a run. Numbers are chances in percent unless a field says otherwise.
pub(super) struct Habits {
    pub(super) processes: u32,
    /// Version of the profiler interface.
    pub(super) api: u32,
    /// Number of communicators of a process at a time.
    pub(super) communicators: u32,
    /// Number of user threads.
    pub(super) users: u32,
    /// Greatest number of groups of calls in a communicator.
    pub(super) calls: usize,
    pub(super) sizes: Sizes,
    pub(super) late: Late,
    /// Late children.
    pub(super) late_ones: u32,
    /// A communicator is destroyed and created again.
    pub(super) again: u32,
    /// A communicator is never destroyed.
    pub(super) endless: u32,
    pub(super) p2p: u32,
    pub(super) kernels: u32,
    /// An operation has fewer or more kernel channels than channels.
    pub(super) odd_kernels: u32,
    pub(super) proxies: u32,
    pub(super) to_oneself: u32,
    /// A call becomes no operation.
    pub(super) invisible: u32,
    /// A call is captured and replayed.
    pub(super) graphs: u32,
    /// Whether NCCL reports kernels (Group).
    pub(super) groups: bool,
    /// An operation shares the kernel of the operation before.
    pub(super) together: u32,
    /// A launch's kernel has a time from events.
    pub(super) events: u32,
    /// The stamps of a collective are not its kernel's time.
    pub(super) other_algorithms: u32,
    pub(super) noise: u32,
    /// Missing states and stops, in a thousand.
    pub(super) missing: u32,
    /// States and stops of a stopped event, in a thousand.
    pub(super) repeated: u32,
    /// Missing and unknown names.
    pub(super) nameless: u32,
    /// A step of a receive is started again.
    pub(super) restarts: u32,
    /// An operation belongs to another process.
    pub(super) foreign: u32,
    /// Time of the first callback, nanoseconds.
    pub(super) first: u64,
}

impl Habits {
    pub(super) fn new(late: bool, rng: &mut Rng) -> Self {
        let mut sometimes = |odds: u32, chance: u32| if rng.u32(0..100) < odds { chance } else { 0 };
        let (odd_kernels, to_oneself, invisible) = (sometimes(30, 30), sometimes(40, 20), sometimes(30, 4));
        let (graphs, noise, missing) = (sometimes(30, 30), sometimes(70, 40), sometimes(25, 30));
        let (repeated, nameless, restarts) = (sometimes(25, 30), sometimes(25, 20), sometimes(25, 30));
        let (foreign, again, endless) = (sometimes(25, 20), sometimes(50, 60), sometimes(30, 40));
        let (together, events, other_algorithms) = (sometimes(60, 60), sometimes(60, 90), sometimes(50, 40));
        let groups = rng.u32(0..100) < 80;
        let late = match rng.u32(0..3) {
            _ if !late => Late::Never,
            0 => Late::Silence(rng.u64(100_000_000..5_000_000_000)),
            1 => Late::Callbacks(rng.usize(500..4000)),
            _ => Late::End(rng.usize(1..1000)),
        };
        Self {
            processes: rng.u32(1..5),
            api: rng.u32(4..8),
            communicators: rng.u32(1..4),
            users: rng.u32(1..4),
            calls: rng.usize(1..20),
            sizes: *rng.choice(&[Sizes::None, Sizes::One, Sizes::Two, Sizes::Many, Sizes::Line]).unwrap(),
            late,
            late_ones: rng.u32(2..30),
            again,
            endless,
            p2p: *rng.choice(&[0, 30, 100]).unwrap(),
            kernels: *rng.choice(&[0, 90, 100, 100]).unwrap(),
            odd_kernels,
            proxies: *rng.choice(&[0, 50, 100]).unwrap(),
            to_oneself,
            invisible,
            graphs,
            groups,
            together,
            events,
            other_algorithms,
            noise,
            missing,
            repeated,
            nameless,
            restarts,
            foreign,
            first: *rng.choice(&[0, 5_000_000, 1 << 40, 1 << 52]).unwrap(),
        }
    }
}
