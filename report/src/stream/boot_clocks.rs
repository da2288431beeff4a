//! The processes' clocks by the machines' time of day.

use crate::job::Process;
use common::clock_tree::{ClockOffset, ParentLink};

/// Largest difference between the times of day at boot, nanoseconds, by which processes of one host still count as of
/// one boot. The system slews the time of day between them.
const ONE_BOOT: i128 = 1_000_000_000;
/// Largest assumed difference between two machines' times of day, nanoseconds: a day.
const TIME_OF_DAY: u64 = 86_400_000_000_000;
/// The same where no time of day is known: a century.
const UNKNOWN: u64 = 36_525 * TIME_OF_DAY;

/// The links of processes to the process whose machine booted first, so that no time lies before 0.
#[derive(Debug)]
pub(crate) struct BootClocks {
    /// Links by place in the clock tree.
    pub(crate) links: Vec<Option<ParentLink>>,
    /// The process that has the tree's first place; process 0 has this process' place.
    root: usize,
    /// Number of clocks.
    pub(crate) clocks: usize,
}

impl BootClocks {
    /// Relates the clocks of these processes.
    pub(crate) fn of(processes: &[Process]) -> Self {
        // without a time of day the clock is taken for that of the first boot
        let known: Vec<Option<i128>> = processes.iter().map(boot).collect();
        let root = (0..processes.len()).min_by_key(|&it| known[it].unwrap_or(i128::MAX)).unwrap_or(0);
        let mut boots = Self { links: Vec::new(), root, clocks: 0 };
        // clocks found so far: a process that reads each, and its place
        let mut clocks: Vec<usize> = Vec::new();
        for own in 0..processes.len() {
            let process = boots.swapped(own);
            let first = clocks.iter().copied().find(|&other| {
                let other = boots.swapped(other);
                is_one([&processes[other], &processes[process]], [known[other], known[process]])
            });
            let (parent, parents, error) = match (first, known[process].zip(known[root])) {
                (Some(first), _) => (first, 0, 0),
                (None, Some((boot, first))) => (0, u64::try_from(boot - first).unwrap_or(0), TIME_OF_DAY),
                (None, None) => (0, 0, UNKNOWN),
            };
            if first.is_none() {
                clocks.push(own);
            }
            let link = |parent| ParentLink { parent, begin: None, end: ClockOffset { own: 0, parents, error } };
            boots.links.push(u32::try_from(parent).ok().map(link));
        }
        boots.clocks = clocks.len();
        boots
    }

    /// Returns the place of a process in the clock tree, and the process of a place.
    pub(crate) fn swapped(&self, process: usize) -> usize {
        match process {
            0 => self.root,
            _ if process == self.root => 0,
            _ => process,
        }
    }
}

/// Returns the time of day at which the clock of a process showed 0.
fn boot(process: &Process) -> Option<i128> {
    (process.real0 > 0).then(|| i128::from(process.real0) - i128::from(process.mono0))
}

/// Returns whether two processes read one clock: they ran under one boot of one machine.
fn is_one([one, other]: [&Process; 2], boots: [Option<i128>; 2]) -> bool {
    match (&one.boot, &other.boot) {
        (Some(one), Some(other)) => one == other,
        _ => {
            let near = matches!(boots, [Some(one), Some(other)] if (one - other).abs() < ONE_BOOT);
            near && one.host == other.host
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(boot: Option<&str>, host: &str, real0: u64, mono0: u64) -> Process {
        let boot = boot.map(str::to_owned);
        Process { boot, host: Some(host.into()), real0, mono0, ..Process::default() }
    }

    #[test]
    fn processes_of_one_boot_read_one_clock() {
        let second = 1_000_000_000;
        let processes = [
            process(Some("b"), "m", 100 * second, 50 * second),
            process(Some("b"), "m", 101 * second, 51 * second),
            process(Some("a"), "n", 100 * second, 90 * second),
            process(None, "n", 103 * second, 93 * second - 5),
            process(None, "o", 0, 7),
        ];
        let boots = BootClocks::of(&processes);
        assert_eq!(boots.clocks, 3);
        // process 2 booted first: it and process 0 change places
        let links: Vec<_> =
            boots.links.iter().flatten().map(|link| (link.parent, link.end.parents, link.end.error)).collect();
        assert_eq!(links, [(0, 0, TIME_OF_DAY), (0, 40 * second, TIME_OF_DAY), (1, 0, 0), (0, 0, 0), (0, 0, UNKNOWN)]);
        assert_eq!([0, 1, 2, 3].map(|process| boots.swapped(process)), [2, 1, 0, 3]);
    }
}
