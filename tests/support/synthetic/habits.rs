//! What NCCL does in one run, and how often. Each run has few of the odd habits, so that one does not hide another.

use fastrand::Rng;

/// Sizes of the transfers between two ranks.
#[derive(Clone, Copy)]
pub(super) enum Sizes {
    /// No bytes.
    None,
    One,
    Two,
    Many,
    /// Many, and times exactly on a line.
    Line,
}

/// When a child comes that is late.
#[derive(Clone, Copy)]
pub(super) enum Late {
    /// None is.
    Never,
    /// After that many nanoseconds in which nothing happens.
    Silence(u64),
    /// After that many callbacks.
    Callbacks(usize),
    /// After its communicator's end and that many callbacks.
    End(usize),
}

/// The habits of a run. Numbers are chances out of 100 where nothing else is said.
pub(super) struct Habits {
    pub(super) processes: u32,
    /// Version of the profiler interface.
    pub(super) api: u32,
    /// Communicators at a time of a process.
    pub(super) communicators: u32,
    /// User threads.
    pub(super) users: u32,
    /// Calls of a communicator.
    pub(super) calls: usize,
    pub(super) sizes: Sizes,
    pub(super) late: Late,
    /// Of the children.
    pub(super) late_ones: u32,
    /// That a communicator is destroyed and made again.
    pub(super) again: u32,
    /// That a communicator is never destroyed.
    pub(super) endless: u32,
    pub(super) p2p: u32,
    pub(super) kernels: u32,
    /// Fewer or more kernel channels than channels.
    pub(super) odd_kernels: u32,
    pub(super) proxies: u32,
    pub(super) to_oneself: u32,
    /// Calls that become no operation.
    pub(super) invisible: u32,
    /// Calls that are captured and replayed.
    pub(super) graphs: u32,
    /// Whether NCCL tells of kernels (Group).
    pub(super) groups: bool,
    /// Operations that are in one kernel with the one before.
    pub(super) together: u32,
    /// Launches whose kernels have a time by events.
    pub(super) events: u32,
    /// Collectives whose stamps are not their kernel's time.
    pub(super) other_algorithms: u32,
    pub(super) noise: u32,
    /// Missing states and stops, in a thousand.
    pub(super) missing: u32,
    /// States and stops of what has stopped, in a thousand.
    pub(super) repeated: u32,
    /// Missing and unknown names.
    pub(super) nameless: u32,
    /// Steps of a receive that are started again.
    pub(super) restarts: u32,
    /// Operations of other processes.
    pub(super) foreign: u32,
    /// The first time, nanoseconds.
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
