//! The summary file that already exists when this process first writes its own.

use crate::base::files;
use crate::origin::Origin;
use serde::Deserialize;
use std::io::BufReader;
use std::path::Path;

/// The fate of a summary that was there before this process began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fate {
    /// It is replaced silently: there is none, or a program was started again by hand, as expected.
    Replaced,
    /// It is replaced with a warning. It is the summary of the job named here or, with `None`, of a run that names no
    /// job.
    ReplacedAloud(Option<String>),
    /// It stays: it belongs to the same job, or may belong to it.
    Stays,
}

/// The part of a summary that says whose it is.
#[derive(Deserialize)]
struct SummaryHead {
    processes: Vec<ProcessHead>,
}

#[derive(Deserialize)]
struct ProcessHead {
    job: Option<String>,
}

impl Fate {
    /// Decides the fate of the file at a place, for a process of this origin.
    pub(super) fn of(place: &Path, own: &Origin) -> Self {
        let Ok(file) = files::open(place, false) else { return Self::Replaced };
        let found: Option<SummaryHead> = serde_json::from_reader(BufReader::new(file)).ok();
        Self::of_found(found.map(|found| found.processes), own)
    }

    fn of_found(found: Option<Vec<ProcessHead>>, own: &Origin) -> Self {
        let is_summary = found.is_some();
        // the job of a gathered summary is that of its first process with a job
        let job = found.into_iter().flatten().find_map(|process| process.job);
        match (&own.job, job) {
            (Some(own), Some(job)) if *own != job => Self::ReplacedAloud(Some(job)),
            (Some(_), _) => Self::Stays,
            (None, Some(job)) => Self::ReplacedAloud(Some(job)),
            // a launcher that names no job may start one program after another
            (None, None) if is_summary && own.rank.is_some() => Self::ReplacedAloud(None),
            (None, None) => Self::Replaced,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_of_the_same_job_stays_and_another_job_s_gives_way_with_a_word() {
        let of = |found: Option<Option<&str>>, job: Option<&str>, rank| {
            let own = Origin { job: job.map(str::to_owned), rank, ..Origin::default() };
            Fate::of_found(found.map(|job| vec![ProcessHead { job: job.map(str::to_owned) }]), &own)
        };
        let aloud = |job: &str| Fate::ReplacedAloud(Some(job.to_owned()));
        assert_eq!(of(Some(Some("a")), Some("a"), Some(0)), Fate::Stays);
        assert_eq!(of(Some(Some("a")), Some("b"), None), aloud("a"));
        assert_eq!(of(Some(Some("a")), None, None), aloud("a"));
        // it is not known whose summary it is
        assert_eq!(of(Some(None), Some("a"), None), Fate::Stays);
        assert_eq!(of(None, Some("a"), None), Fate::Stays);
        assert_eq!(of(Some(None), None, Some(3)), Fate::ReplacedAloud(None));
        assert_eq!(of(Some(None), None, None), Fate::Replaced);
        assert_eq!(of(None, None, Some(3)), Fate::Replaced);
        assert_eq!(
            Fate::of(Path::new("/nowhere/all.json"), &Origin { job: Some("a".into()), ..Origin::default() }),
            Fate::Replaced
        );
    }
}
