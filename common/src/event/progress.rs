//! The states of a thread that progresses NCCL's proxy operations (a progress thread).

/// A state of a progress thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressState {
    /// A pass over its proxy operations has moved at least one of them on.
    Active,
    /// A pass has moved none on: the thread polls, or has no proxy operation.
    Idle,
    /// It has no proxy operation, and waits without taking processor time.
    Asleep,
    /// It takes over new proxy operations.
    Appending,
}

impl ProgressState {
    /// All states, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Active, Self::Idle, Self::Asleep, Self::Appending];

    /// Returns its word in figures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Idle => "idle",
            Self::Asleep => "asleep",
            Self::Appending => "appending",
        }
    }
}

/// A change of a progress thread's state, as NCCL reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgressChange {
    /// A pass has moved no proxy operation on, for the first time since one did.
    Idle,
    /// A pass has moved a proxy operation on, for the first time since none did.
    Active,
    /// The thread falls asleep.
    Sleep,
    /// The thread wakes up.
    Wakeup,
    /// The thread begins to take over proxy operations.
    Append,
    /// The thread has taken over this number of proxy operations.
    AppendEnd {
        /// Number of proxy operations.
        operations: u32,
    },
}
