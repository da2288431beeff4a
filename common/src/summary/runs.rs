//! Puts processes without a common communicator together as runs of a program. A batch script may start several runs
//! under one name.

use super::SummaryProcess;
use std::collections::BTreeSet;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// What the processes of a run tell about it.
#[derive(Debug, Clone, Default)]
pub(super) struct RunAbout<'a> {
    /// Places of its processes.
    pub(super) places: Vec<usize>,
    /// Names of the job by scheduler and launcher.
    names: BTreeSet<&'a str>,
    ranks: BTreeSet<u32>,
    /// Numbers of ranks, by the launcher.
    sizes: BTreeSet<u32>,
    /// Number of processes that do not know their rank or the number of ranks.
    unknown: usize,
    /// First begin and last end.
    span: Option<(OffsetDateTime, OffsetDateTime)>,
}

impl<'a> RunAbout<'a> {
    /// Adds a process.
    pub(super) fn add(&mut self, place: usize, process: &'a SummaryProcess) {
        let origin = &process.origin;
        self.places.push(place);
        self.names.extend(origin.job.as_deref());
        self.ranks.extend(origin.rank);
        self.sizes.extend(origin.ranks);
        self.unknown += usize::from(origin.rank.is_none() || origin.ranks.is_none());
        let time = |text: &Option<String>| OffsetDateTime::parse(text.as_deref()?, &Rfc3339).ok();
        if let Some(begin) = time(&origin.started) {
            // a wall clock may be set back meanwhile
            self.cover((begin, time(&origin.ended).unwrap_or(begin).max(begin)));
        }
    }

    fn cover(&mut self, (begin, end): (OffsetDateTime, OffsetDateTime)) {
        self.span = Some(self.span.map_or((begin, end), |span| (span.0.min(begin), span.1.max(end))));
    }

    /// Adds another part of the run.
    pub(super) fn join(&mut self, other: Self) {
        self.places.extend(other.places);
        self.names.extend(other.names);
        self.ranks.extend(other.ranks);
        self.sizes.extend(other.sizes);
        self.unknown += other.unknown;
        if let Some(span) = other.span {
            self.cover(span);
        }
    }

    /// Returns the run's begin, if it is known.
    pub(super) fn begin(&self) -> Option<OffsetDateTime> {
        self.span.map(|span| span.0)
    }

    /// Returns whether the two cannot be of one run.
    pub(super) fn is_other(&self, other: &Self) -> bool {
        let apart =
            |one: &BTreeSet<u32>, other: &BTreeSet<u32>| !one.is_empty() && !other.is_empty() && one.is_disjoint(other);
        let in_turn = self.span.zip(other.span).is_some_and(|(one, other)| one.1 < other.0 || other.1 < one.0);
        let named_otherwise = !self.names.is_empty() && !other.names.is_empty() && self.names.is_disjoint(&other.names);
        named_otherwise || apart(&self.sizes, &other.sizes) || !self.ranks.is_disjoint(&other.ranks) || in_turn
    }

    /// Returns whether the two are of one run: their jobs have the same name or, if neither has a name, they are
    /// different ranks of the same number of ranks.
    pub(super) fn is_one_with(&self, other: &Self) -> bool {
        let is_nameless = self.names.is_empty() && other.names.is_empty();
        let is_complementary = is_nameless && self.unknown + other.unknown == 0;
        !self.is_other(other) && (!self.names.is_disjoint(&other.names) || is_complementary)
    }
}

/// Returns whether no two of these can be of one run.
pub(super) fn are_all_others(runs: &[RunAbout<'_>]) -> bool {
    runs.iter().enumerate().all(|(place, run)| runs[place + 1..].iter().all(|other| run.is_other(other)))
}

/// Puts parts of one run together. A part that fits several runs stays by itself.
pub(super) fn together(mut parts: Vec<RunAbout<'_>>) -> Vec<RunAbout<'_>> {
    // in the order of their begins, so that each part meets the runs during which it began
    parts.sort_by_key(RunAbout::begin);
    let mut runs: Vec<RunAbout<'_>> = vec![];
    for part in parts {
        let mut fitting = runs.iter_mut().filter(|run| run.is_one_with(&part));
        match (fitting.next(), fitting.next()) {
            (Some(run), None) => run.join(part),
            _ => runs.push(part),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::Origin;
    use crate::summary::Summary;

    /// Returns a process with a job's name, (rank, number of ranks), and the hours of its begin and end.
    fn process(job: &str, rank: Option<(u32, u32)>, hours: [u32; 2]) -> SummaryProcess {
        let [started, ended] = hours.map(|hour| Some(format!("2026-11-23T{hour:02}:00:00.5Z")));
        let job = Some(job.to_owned()).filter(|job| !job.is_empty());
        let (rank, ranks) = rank.unzip();
        let origin = Origin { job, rank, ranks, started, ended, ..Origin::default() };
        SummaryProcess { origin, ..Summary::of_nothing("").processes.remove(0) }
    }

    /// Returns the places of processes without a common communicator, by run.
    fn runs(processes: &[SummaryProcess]) -> Vec<Vec<usize>> {
        let part = |(place, process)| {
            let mut part = RunAbout::default();
            part.add(place, process);
            part
        };
        let mut runs: Vec<Vec<usize>> =
            together(processes.iter().enumerate().map(part).collect()).into_iter().map(|run| run.places).collect();
        runs.iter_mut().for_each(|places| places.sort_unstable());
        runs.sort();
        runs
    }

    #[test]
    fn runs_of_one_name_are_told_apart_by_rank_and_by_time() {
        assert_eq!(runs(&[process("a", None, [1, 3]), process("a", None, [2, 4])]), [[0, 1]]);
        assert_eq!(runs(&[process("a", None, [1, 2]), process("a", None, [3, 4])]), [[0], [1]]);
        assert_eq!(runs(&[process("a", Some((0, 2)), [1, 2]), process("a", Some((0, 2)), [1, 2])]), [[0], [1]]);
        assert_eq!(runs(&[process("a", Some((0, 2)), [1, 2]), process("a", Some((1, 4)), [1, 2])]), [[0], [1]]);
        assert_eq!(runs(&[process("a", Some((0, 2)), [1, 2]), process("b", Some((1, 2)), [1, 2])]), [[0], [1]]);
        // the process in the middle ran at the same time as both others
        assert_eq!(
            runs(&[process("a", None, [1, 3]), process("a", None, [4, 6]), process("a", None, [2, 5])]),
            [[0, 1, 2]]
        );
    }

    #[test]
    fn nameless_processes_are_of_one_run_where_their_ranks_say_so() {
        assert_eq!(runs(&[process("", Some((0, 2)), [1, 2]), process("", Some((1, 2)), [1, 2])]), [[0, 1]]);
        assert_eq!(runs(&[process("", Some((0, 2)), [1, 2]), process("", None, [1, 2])]), [[0], [1]]);
        assert_eq!(runs(&[process("a", Some((0, 2)), [1, 2]), process("", Some((1, 2)), [1, 2])]), [[0], [1]]);
    }

    #[test]
    fn one_that_may_be_of_two_runs_stays_by_itself() {
        let [zero, one] = [0, 1].map(|rank| process("a", Some((rank, 2)), [1, 2]));
        assert_eq!(runs(&[zero.clone(), zero, one]), [vec![0], vec![1], vec![2]]);
    }
}
