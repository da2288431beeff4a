//! Findings of a log as rows: a begin and its end are one, and so are those of several watchers.

use live::watch::{FindingChange, FindingExcess, FindingSince, FindingSubject, WatchFinding, WatchedProcess, cause_of};
use report::analysis::ranges::ranges;
use report::answer::ReportedFinding;
use std::collections::{BTreeSet, HashMap};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Most machines that a row names.
const HOSTS: usize = 4;

/// Kind of a job's end.
const JOB: &str = "job";

/// Job, kind, and the ranks with their processes, or else the cause.
type Subject = (Option<String>, &'static str, String);

/// A finding of a log.
#[derive(Debug)]
pub(super) struct LoggedFinding {
    time: OffsetDateTime,
    change: FindingChange,
    subject: Subject,
    row: ReportedFinding,
}

impl LoggedFinding {
    /// Takes a line's finding; `None` if its time is none.
    pub(super) fn of(finding: WatchFinding) -> Option<Self> {
        let time = OffsetDateTime::parse(&finding.time, &Rfc3339).ok()?;
        let WatchFinding { time: found, job, change, subject, text, .. } = finding;
        let kind = subject.kind();
        let row =
            ReportedFinding { kind: kind.into(), job: job.clone(), found: Some(found), lines: 1, ..row(&subject) };
        let of = match &subject {
            FindingSubject::Rank { rank, .. } => format!("{rank:?}"),
            FindingSubject::Node { host, .. } => host.clone(),
            FindingSubject::Link { from, to, .. } => format!("{from:?} {to:?}"),
            FindingSubject::Pause { ranks, .. } => format!("{ranks:?}"),
            FindingSubject::Hang { .. } | FindingSubject::Process => cause_of(&text).to_owned(),
            FindingSubject::Job { .. } => String::new(),
        };
        Some(Self { time, change, subject: (job, kind, of), row: ReportedFinding { text, ..row } })
    }

    /// Returns when it was found.
    pub(super) fn time(&self) -> OffsetDateTime {
        self.time
    }

    /// Returns the name of its job.
    pub(super) fn job(&self) -> Option<&str> {
        self.row.job.as_deref()
    }
}

/// Rows, from findings in the order of their times.
#[derive(Debug, Default)]
pub(super) struct JoinedFindings {
    rows: Vec<ReportedFinding>,
    /// Place of the newest row of a subject, with the ends of it so far.
    newest: HashMap<Subject, (usize, u64)>,
}

impl JoinedFindings {
    pub(super) fn add(&mut self, finding: LoggedFinding) {
        let LoggedFinding { change, subject, row, .. } = finding;
        let known = self.newest.get_mut(&subject).and_then(|(at, ends)| Some((self.rows.get_mut(*at)?, ends)));
        match (change, known) {
            // another watcher found it, too
            (FindingChange::Begins | FindingChange::Once, Some((old, _))) if is_same(old, &row) => old.lines += 1,
            (FindingChange::Over, Some((old, ends))) if old.lasts || *ends < old.lines - *ends => {
                old.until = old.until.take().or(row.found);
                (old.lasts, old.lines, *ends) = (false, old.lines + 1, *ends + 1);
            }
            _ => {
                let is_over = change == FindingChange::Over;
                let lasts = change == FindingChange::Begins;
                match subject.1 {
                    // a job of the same name is another run of it
                    JOB => self.newest.retain(|other, _| other.0 != subject.0),
                    _ if !is_over => drop(self.newest.remove(&(subject.0.clone(), JOB, String::new()))),
                    _ => {}
                }
                // of the two times, the log has the end alone
                let (found, until) = if is_over { (None, row.found) } else { (row.found, None) };
                self.newest.insert(subject, (self.rows.len(), u64::from(is_over)));
                self.rows.push(ReportedFinding { found, until, lasts, ..row });
            }
        }
    }

    pub(super) fn finish(self) -> Vec<ReportedFinding> {
        self.rows
    }
}

/// Returns whether two watchers mean the same: it still lasts, or has the same begin.
fn is_same(old: &ReportedFinding, new: &ReportedFinding) -> bool {
    let begin = |row: &ReportedFinding| (row.communicator.clone(), row.collective);
    old.lasts || old.kind == JOB || (old.collective.is_some() && begin(old) == begin(new))
}

fn row(subject: &FindingSubject) -> ReportedFinding {
    let of = |who: String, processes: &[&WatchedProcess]| ReportedFinding {
        who,
        hosts: hosts(processes),
        ..ReportedFinding::default()
    };
    match subject {
        FindingSubject::Rank { rank, excess } => with_excess(of(ranks(&[rank]), &[rank]), excess.as_ref()),
        FindingSubject::Node { host, ranks: all, excess } => {
            let all: Vec<&WatchedProcess> = all.iter().collect();
            with_excess(ReportedFinding { hosts: host.clone(), ..of(ranks(&all), &[]) }, excess.as_ref())
        }
        FindingSubject::Link { from, to, rate } => ReportedFinding {
            rate_gb_s: rate.as_ref().map(|it| it.rate / 1e9),
            usual_gb_s: rate.as_ref().map(|it| it.usual / 1e9),
            ..of(format!("rank {} to rank {}", from.rank, to.rank), &[from, to])
        },
        FindingSubject::Pause { ranks: all, seconds, since } => {
            let all: Vec<&WatchedProcess> = all.iter().collect();
            let row = ReportedFinding { excess_us: Some(seconds * 1e6), ..of(ranks(&all), &all) };
            with_since(row, since)
        }
        FindingSubject::Hang { .. } | FindingSubject::Process | FindingSubject::Job { .. } => {
            ReportedFinding::default()
        }
    }
}

fn with_excess(row: ReportedFinding, excess: Option<&FindingExcess>) -> ReportedFinding {
    let Some(excess) = excess else { return row };
    let row = ReportedFinding {
        excess_us: Some(excess.seconds * 1e6),
        window_us: Some(excess.window * 1e6),
        share: Some(excess.share),
        gain_at_most: Some(excess.gain_at_most),
        z: Some(excess.z),
        ..row
    };
    with_since(row, &excess.since)
}

fn with_since(row: ReportedFinding, since: &FindingSince) -> ReportedFinding {
    let known = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    ReportedFinding {
        since: known(&since.time),
        communicator: known(&since.communicator),
        collective: Some(since.number),
        ..row
    }
}

fn ranks(all: &[&WatchedProcess]) -> String {
    let noun = if all.len() == 1 { "rank" } else { "ranks" };
    let numbers: BTreeSet<i64> = all.iter().map(|process| process.rank).collect();
    format!("{noun} {}", ranges(numbers))
}

fn hosts(all: &[&WatchedProcess]) -> String {
    let hosts: BTreeSet<&str> = all.iter().filter_map(|process| process.host.as_deref()).collect();
    let named: Vec<&str> = hosts.iter().take(HOSTS).copied().collect();
    let more = hosts.len().saturating_sub(HOSTS);
    named.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}
