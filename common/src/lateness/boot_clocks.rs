//! The clocks of processes by the boots of their machines, before any operation joins them.

use crate::lateness::clock_tree::{ClockOffset, ParentLink};

/// Largest difference between the times of day at boot, nanoseconds, by which processes of one host still count as of
/// one boot. The system slews the time of day between them.
const ONE_BOOT: i128 = 1_000_000_000;
/// Largest assumed difference between two machines' times of day, nanoseconds: a day.
const TIME_OF_DAY: u64 = 86_400_000_000_000;
/// The same where no time of day is known: a century.
const UNKNOWN: u64 = 36_525 * TIME_OF_DAY;

/// What a process tells of its machine and the machine's boot.
#[derive(Debug, Clone, Copy, Default)]
pub struct Boot<'a> {
    /// The kernel's random number of the boot, where it is known.
    pub id: Option<&'a str>,
    /// Name of the machine, where it is known.
    pub host: Option<&'a str>,
    /// Time of day at which the process' clock showed 0, nanoseconds since 1970, where it is known.
    pub time: Option<i128>,
}

impl Boot<'_> {
    /// Returns the time of day at which a clock showed 0 that showed `mono0` at `real0`, both nanoseconds; `None` where
    /// that is 0, which stands for an unknown time.
    pub fn time_of(real0: u64, mono0: u64) -> Option<i128> {
        (real0 > 0).then(|| i128::from(real0) - i128::from(mono0))
    }

    /// Returns whether both processes read one clock: they ran under one boot of one machine.
    pub fn is_clock_of(&self, other: &Self) -> bool {
        match (self.id, other.id) {
            (Some(one), Some(other)) => one == other,
            _ => self.host == other.host && self.is_near(other),
        }
    }

    /// Returns whether both processes ran on one machine: by the boot's number, else by the host, else by the time of
    /// day at boot.
    pub fn is_machine_of(&self, other: &Self) -> bool {
        match ((self.id, other.id), (self.host, other.host)) {
            ((Some(one), Some(other)), _) | (_, (Some(one), Some(other))) => one == other,
            (_, (None, None)) => self.is_near(other),
            _ => false,
        }
    }

    fn is_near(&self, other: &Self) -> bool {
        matches!((self.time, other.time), (Some(one), Some(other)) if (one - other).abs() < ONE_BOOT)
    }
}

/// The links of processes to the process whose machine booted first, so that no time lies before 0.
#[derive(Debug)]
pub struct BootClocks {
    /// Links by place in the clock tree.
    pub links: Vec<Option<ParentLink>>,
    /// Number of clocks.
    pub count: usize,
    /// The process that has the tree's first place; process 0 has this process' place.
    root: usize,
    /// Clocks by place.
    clocks: Vec<usize>,
}

impl BootClocks {
    /// Relates the clocks of these processes.
    pub fn of(processes: &[Boot<'_>]) -> Self {
        // without a time of day the clock is taken for that of the first boot
        let time = |process: usize| processes.get(process).and_then(|it| it.time);
        let root = (0..processes.len()).min_by_key(|&it| time(it).unwrap_or(i128::MAX)).unwrap_or(0);
        let mut boots = Self { links: Vec::new(), count: 0, root, clocks: Vec::new() };
        // of each clock: the first place that reads it, and what that process tells
        let mut found: Vec<(usize, Boot<'_>)> = Vec::new();
        for place in 0..processes.len() {
            let process = boots.swapped(place);
            let own = processes.get(process).copied().unwrap_or_default();
            let known = found.iter().position(|(_, other)| other.is_clock_of(&own));
            let clock = known.unwrap_or(found.len());
            let first = known.and_then(|clock| found.get(clock));
            let (parent, parents, error) = match (first, time(process).zip(time(root))) {
                (Some(&(first, _)), _) => (first, 0, 0),
                (None, Some((boot, first))) => (0, u64::try_from(boot - first).unwrap_or(0), TIME_OF_DAY),
                (None, None) => (0, 0, UNKNOWN),
            };
            if known.is_none() {
                found.push((place, own));
            }
            boots.clocks.push(clock);
            let link = |parent| ParentLink { parent, begin: None, end: ClockOffset { own: 0, parents, error } };
            boots.links.push(u32::try_from(parent).ok().map(link));
        }
        boots.count = found.len();
        boots
    }

    /// Returns the place of a process in the clock tree, and the process of a place.
    pub fn swapped(&self, process: usize) -> usize {
        match process {
            0 => self.root,
            _ if process == self.root => 0,
            _ => process,
        }
    }

    /// Makes a list by process a list by place.
    pub fn by_place<T>(&self, mut items: Vec<T>) -> Vec<T> {
        if self.root < items.len() {
            items.swap(0, self.root);
        }
        items
    }

    /// Returns the number of the clock that each process reads, by process.
    pub fn clocks(&self) -> Vec<usize> {
        self.by_place(self.clocks.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i128 = 1_000_000_000;

    fn process<'a>(id: Option<&'a str>, host: &'a str, time: Option<i128>) -> Boot<'a> {
        Boot { id, host: Some(host), time }
    }

    #[test]
    fn processes_of_one_boot_read_one_clock() {
        let boots = BootClocks::of(&[
            process(Some("b"), "m", Some(50 * SECOND)),
            process(Some("b"), "m", Some(50 * SECOND)),
            process(Some("a"), "n", Some(10 * SECOND)),
            process(None, "n", Some(10 * SECOND + 5)),
            process(None, "o", None),
        ]);
        assert_eq!(boots.count, 3);
        // process 2 booted first: it and process 0 change places
        let links: Vec<_> =
            boots.links.iter().flatten().map(|link| (link.parent, link.end.parents, link.end.error)).collect();
        let apart = u64::try_from(40 * SECOND).unwrap_or_default();
        assert_eq!(links, [(0, 0, TIME_OF_DAY), (0, apart, TIME_OF_DAY), (1, 0, 0), (0, 0, 0), (0, 0, UNKNOWN)]);
        assert_eq!([0, 1, 2, 3].map(|process| boots.swapped(process)), [2, 1, 0, 3]);
        assert_eq!(boots.by_place(vec!["0", "1", "2", "3", "4"]), ["2", "1", "0", "3", "4"]);
        assert_eq!(boots.clocks(), [1, 1, 0, 0, 2]);
    }

    #[test]
    fn machines_are_known_by_boot_then_host_then_time() {
        let at = |seconds: i128| Boot { time: Some(seconds * SECOND), ..Boot::default() };
        let is_machine = |one: Boot<'_>, other: Boot<'_>| (one.is_machine_of(&other), one.is_clock_of(&other));
        assert_eq!(is_machine(process(Some("a"), "m", None), process(Some("a"), "n", None)), (true, true));
        assert_eq!(is_machine(process(Some("a"), "m", None), process(Some("b"), "m", None)), (false, false));
        assert_eq!(is_machine(process(Some("a"), "m", None), process(None, "m", None)), (true, false));
        assert_eq!(is_machine(process(None, "m", None), process(None, "n", None)), (false, false));
        assert_eq!(is_machine(process(None, "m", Some(SECOND)), process(None, "m", Some(9 * SECOND))), (true, false));
        assert_eq!(is_machine(at(1), at(1)), (true, true));
        assert_eq!(is_machine(at(1), at(2)), (false, false));
        assert_eq!(is_machine(at(1), process(None, "m", Some(SECOND))), (false, false));
        assert_eq!(is_machine(Boot::default(), Boot::default()), (false, false));
    }
}
