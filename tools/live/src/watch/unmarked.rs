//! Processes whose ranks cannot be compared, since they do not know their times on the GPU.

use crate::statuses::Observed;

/// Nanoseconds of a communicator, and collectives, after which it has marks if it ever has.
const YOUNG: u64 = 30_000_000_000;
const FEW: u64 = 64;

/// Says once how many they are.
#[derive(Debug, Default)]
pub(super) struct UnmarkedProcesses {
    /// How many they were at the last look.
    last: usize,
    is_said: bool,
}

impl UnmarkedProcesses {
    /// Takes a look, and returns the line if there are as many as at the last one: marks that are missing behind a gap
    /// come back.
    pub(super) fn take(&mut self, processes: &[Observed]) -> Option<String> {
        let mut unmarked = processes.iter().filter(|process| is_unmarked(process));
        let first = unmarked.next()?;
        let count = 1 + unmarked.count();
        if std::mem::replace(&mut self.last, count) != count || std::mem::replace(&mut self.is_said, true) {
            return None;
        }
        Some(format!(
            "ranks and links of {count} of {} processes are not compared, {} first: the times of all their operations \
             on the GPU are not known. Most jobs have them with NCCL_SCOREP_GPU_TIME=events in their environment \
             (docs/watch.md)",
            processes.len(),
            first.file
        ))
    }
}

/// Returns whether a process that has not ended records nothing, or has communicators that should have marks, and none
/// has.
fn is_unmarked(process: &Observed) -> bool {
    let status = &process.status;
    let mut old = status.communicators.iter().filter(|of| {
        let age = status.written.saturating_sub(of.opened);
        of.ended.is_none() && of.nranks > 1 && of.entered >= FEW && age >= YOUNG
    });
    let is_silent = status.off.is_some() || status.silent_since.is_some();
    let has_none = old.next().is_some_and(|first| first.stride == 0 && old.all(|of| of.stride == 0));
    status.over.is_none() && (is_silent || has_none)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statuses::Life;
    use common::status::{Status, StatusCommunicator};

    fn process(file: &str, entered: u64, stride: u64) -> Observed {
        let communicator = StatusCommunicator { nranks: 2, entered, stride, ..StatusCommunicator::default() };
        let status = Status { written: YOUNG, communicators: vec![communicator], ..Status::default() };
        Observed { file: file.into(), status, life: Life::Elsewhere, beats: true, moved: vec![true] }
    }

    #[test]
    fn processes_without_marks_are_named_once_they_stay_so() {
        let mut unmarked = UnmarkedProcesses::default();
        let look = [process("a", 1000, 1), process("b", 1000, 0), process("c", 10, 0)];
        assert_eq!(unmarked.take(&look[..1]), None);
        assert_eq!(unmarked.take(&look), None);
        let line = unmarked.take(&look).unwrap_or_default();
        assert!(line.starts_with("ranks and links of 1 of 3 processes are not compared, b first: "), "{line}");
        assert_eq!(unmarked.take(&look), None);
    }

    #[test]
    fn a_process_that_records_nothing_is_one_of_them() {
        let mut off = process("a", 1000, 1);
        assert!(!is_unmarked(&off));
        off.status.off = Some("NCCL is too old".into());
        assert!(is_unmarked(&off));
    }
}
