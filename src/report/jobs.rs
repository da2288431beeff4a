//! The jobs that inputs are of: a directory may have the recordings of several, or of a job and its restart.
//!
//! Operations of several jobs never belong together, and a report of all would call it complete. So the person chooses
//! one. Processes are of one job as the summaries have it (`common::summary`): they share a communicator, or their
//! launcher gave them one name, different ranks and one time.

use common::summary::{Summary, SummaryJob, SummaryProcess};
use report::table::{OpenedTables, Tables};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A job as a person is told of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ToldJob {
    /// Its name by scheduler and launcher.
    pub(super) name: Option<String>,
    /// Number of its processes.
    pub(super) processes: u64,
    /// When its first process began.
    pub(super) started: Option<String>,
    /// The file of its first process.
    pub(super) first: Option<String>,
}

/// Returns the place of the job that was chosen by its number, which counts from 1.
///
/// # Errors
/// Several jobs and no choice, or a number that no job has; in words, with the jobs.
pub(super) fn chosen(jobs: &[ToldJob], choice: Option<usize>) -> Result<usize, String> {
    match choice {
        Some(number) if (1..=jobs.len()).contains(&number) => Ok(number - 1),
        None if jobs.len() == 1 => Ok(0),
        Some(number) if jobs.len() == 1 => Err(format!("--job {number}: the inputs are of one job")),
        _ => Err(refusal(jobs)),
    }
}

fn refusal(jobs: &[ToldJob]) -> String {
    let row = |(number, job): (usize, &ToldJob)| {
        let name = job.name.as_deref().unwrap_or("without a name");
        let noun = if job.processes == 1 { "process" } else { "processes" };
        let started = job.started.as_ref().map_or_else(String::new, |at| format!(", began {at}"));
        let first = job.first.as_ref().map_or_else(String::new, |file| format!(", first file {file}"));
        format!("  --job {}: {name}, {} {noun}{started}{first}", number + 1, job.processes)
    };
    let rows: Vec<String> = jobs.iter().enumerate().map(row).collect();
    format!(
        "the inputs are of {} jobs, and a report is of one:\n{}\nchoose one with --job, or name its files alone; for a \
         comparison, put the files of each job into a directory of its own",
        jobs.len(),
        rows.join("\n")
    )
}

/// Leaves the processes of one job in the tables. Returns the files of the others' processes beside them.
///
/// # Errors
/// As [`chosen`].
pub(super) fn one(opened: OpenedTables, choice: Option<usize>) -> Result<(OpenedTables, BTreeSet<String>), String> {
    let file = |place: u32| Some(opened.job.processes.get(place as usize)?.file.clone());
    let Some(jobs) = jobs(&opened) else { return Ok((opened, BTreeSet::new())) };
    let told: Vec<ToldJob> = jobs
        .iter()
        .map(|(job, started)| ToldJob {
            name: job.name.clone(),
            processes: job.processes.len() as u64,
            started: started.clone(),
            first: job.processes.first().copied().and_then(file),
        })
        .collect();
    let place = chosen(&told, choice)?;
    if jobs.len() == 1 {
        return Ok((opened, BTreeSet::new()));
    }
    let others: BTreeSet<u32> = jobs
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != place)
        .flat_map(|(_, (job, _))| &job.processes)
        .copied()
        .collect();
    let own = (0..opened.job.processes.len()).filter(|process| !others.contains(&(*process as u32)));
    let files: Vec<PathBuf> = own.filter_map(|process| opened.tables.file(process)).map(PathBuf::from).collect();
    let OpenedTables { job, tables, notes, .. } = Tables::open(&files);
    let mut all = vec![format!(
        "The inputs are of {} jobs: this report is of {}.",
        jobs.len(),
        told.get(place).and_then(|job| job.name.as_deref()).map_or_else(|| format!("job {}", place + 1), Into::into)
    )];
    all.extend(notes);
    let others = others.into_iter().filter_map(file).collect();
    let OpenedTables { inputs, left_out, .. } = opened;
    Ok((OpenedTables { job, tables, inputs, left_out, notes: all }, others))
}

/// Returns the jobs with the begin of each, in the order of their begins; `None` where the tables do not tell. A process
/// without a communicator says nothing of its job: it makes none.
fn jobs(opened: &OpenedTables) -> Option<Vec<(SummaryJob, Option<String>)>> {
    let processes = opened.job.processes.len();
    let part = |process: usize| {
        let Summary { processes, communicators, .. } = opened.tables.summary(process).ok().flatten()?;
        let light =
            |process: SummaryProcess| SummaryProcess { counters: BTreeMap::new(), series: BTreeMap::new(), ..process };
        let processes = processes.into_iter().map(light).collect();
        Some(Summary { processes, communicators, ..Summary::merge(vec![]) })
    };
    let parts: Vec<Summary> = (0..processes).map(part).collect::<Option<_>>()?;
    let begins: Vec<Option<String>> =
        parts.iter().map(|part| part.processes.first().and_then(|process| process.origin.started.clone())).collect();
    let members = opened.job.communicators.iter().flat_map(|one| &one.members);
    let busy: BTreeSet<usize> =
        members.filter_map(|member| opened.job.gpus.get(member.gpu)).map(|gpu| gpu.process).collect();
    let began = |job: &SummaryJob| job.processes.iter().filter_map(|&place| begins.get(place as usize)?.clone()).min();
    let merged = Summary::merge(parts);
    let mut jobs: Vec<_> = merged.jobs.into_iter().map(|job| (began(&job), job)).collect();
    jobs.retain(|(_, job)| job.processes.iter().any(|&place| busy.contains(&(place as usize))));
    jobs.sort_by(|(one, _), (other, _)| one.cmp(other));
    (!jobs.is_empty()).then(|| jobs.into_iter().map(|(began, job)| (job, began)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_jobs_are_refused_with_their_names_and_the_way_out() {
        let told = |name: Option<&str>, processes, first: &str| ToldJob {
            name: name.map(Into::into),
            processes,
            started: Some("2026-11-24T02:00:00Z".into()),
            first: Some(first.into()),
        };
        let jobs = [told(Some("slurm 7, step 0"), 8, "both/node000.4000.jsonl.gz"), told(None, 1, "both/x.jsonl.gz")];
        let refused = chosen(&jobs, None).unwrap_err();
        let lines: Vec<&str> = refused.lines().collect();
        assert_eq!(
            lines[1],
            "  --job 1: slurm 7, step 0, 8 processes, began 2026-11-24T02:00:00Z, first file \
             both/node000.4000.jsonl.gz"
        );
        assert!(lines[2].starts_with("  --job 2: without a name, 1 process, began "), "{refused}");
        assert!(lines[3].starts_with("choose one with --job"), "{refused}");
        assert_eq!(
            (chosen(&jobs, Some(2)), chosen(&jobs[..1], None), chosen(&jobs[..1], Some(1))),
            (Ok(1), Ok(0), Ok(0))
        );
        assert!(chosen(&jobs, Some(3)).unwrap_err().contains("--job 2: "));
        assert!(chosen(&jobs, Some(0)).is_err() && chosen(&jobs[..1], Some(2)).is_err());
    }
}
