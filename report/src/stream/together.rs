//! Which sends and receives of a rank are one exchange.

use crate::job::RankOperation;

/// Number of rows of a process after which nothing is added to an exchange any more. Threads of a process that enqueue
/// at one time mix their rows; a rank's own rows follow one another.
pub(crate) const MOST_BETWEEN: u64 = 32;

/// A fact that sends and receives of one exchange have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Together {
    /// Group of API calls, and CUDA stream.
    Group(u64, u64),
    /// The kernel, where no group is known.
    Kernel(u64),
    /// Nothing: it is alone.
    Alone,
}

impl Together {
    /// Returns the fact that a send or receive shares with others of its exchange.
    pub(crate) fn of(operation: &RankOperation) -> Self {
        match operation.group {
            Some(group) => Self::Group(group, operation.stream),
            None if operation.alone => Self::Alone,
            None => Self::Kernel(operation.kernel),
        }
    }

    /// Returns whether an operation that the host enqueued later may still be followed by one that belongs here.
    pub(crate) fn goes_on(self, operation: &RankOperation) -> bool {
        match self {
            Self::Group(group, _) => operation.group == Some(group),
            Self::Kernel(kernel) => operation.kernel == kernel,
            Self::Alone => false,
        }
    }
}
