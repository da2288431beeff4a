//! From inputs to a report.
//!
//! ```text
//! recordings ──► input::table::write ──────► tables ──┐
//! archives ────► archives::write ──────────► tables ──┼──► Tables::open ──► analysis::whole ──► Report
//! tables ─────────────────────────────────────────────┘
//! summaries alone ──────────────────────────────────────► analysis::summaries ────────────────► Report
//! ```

use super::archives::{self, Archived};
use super::inputs::InputKind;
use super::jobs::{self, ToldJob};
use super::request::{FinishedReport, ReportRequest, StepChoice, inputs, problem};
use super::tagged::{self, TaggedTables};
use super::traced::Traced;
use super::watched::CountedTables;
use super::{findings, nccl_logs, tables_child};
use input::kernels::{self, Profiled, Timed};
use input::otf2::SUMMARY;
use input::replay::ReplayError;
use input::table;
use present::csv::CsvFile;
use present::output::leftovers;
use present::output::progress::Progress;
use present::output::scratch::Scratch;
use present::parquet::ParquetFile;
use present::sentences;
use present::sheet::OperationSheet;
use report::analysis::choices::choices;
use report::analysis::dimension::rules;
use report::analysis::summaries;
use report::analysis::transfers::TransferSums;
use report::analysis::whole::{self, JobFacts, Onlooker, Pass};
use report::answer::{Part, Report};
use report::job::{Job, Kernels, Options, StepRegions, Unreadable};
use report::nccl_log::NcclLog;
use report::table::{OpenedTables, Tables, files_of};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Makes the report of the inputs. Writes the operations' tables and Perfetto's trace on the way.
///
/// # Errors
/// When no input can be read, or an output cannot be written; in words.
pub(super) fn make(request: &ReportRequest) -> Result<FinishedReport, String> {
    let profiles = request.facts.kernels.len() + request.facts.nsys.len();
    let found = request.inputs.found.len() + profiles + request.logs.len() + request.findings.len();
    let asked = found + request.inputs.left_out.len();
    let mut left_out = request.inputs.left_out.clone();
    let (log, bad) = nccl_logs::read(&request.logs);
    let log = (!request.logs.is_empty()).then(|| Rc::new(log));
    left_out.extend(bad);
    let summaries = request.inputs.of_kind(InputKind::Summary);
    let is_of_sums = summaries.len() == request.inputs.found.len();
    let experiments = experiments(request);
    let mut report = if is_of_sums {
        let mut report = of_summaries(request, summaries, &mut left_out)?;
        report.complete.notes.extend(experiments);
        report.choices = choices(log.as_deref(), None, (&report.pairs, &report.communicators));
        report
    } else {
        let mut notes = beside(summaries.len());
        notes.extend(experiments);
        of_operations(request, &mut left_out, log, notes)?
    };
    if let (Some((name, baseline)), Part::Known(speed)) = (&request.facts.baseline, &mut report.speed) {
        baseline.add_to(speed, name);
    }
    report.answers = sentences::answers(&report);
    Ok(FinishedReport { report, asked, left_out })
}

/// Returns the remark on summaries beside operations: the operations of their processes say more.
fn beside(summaries: usize) -> Vec<String> {
    match summaries {
        0 => vec![],
        1 => vec!["1 summary lies beside operations, and was not read.".into()],
        count => vec![format!("{count} summaries lie beside operations, and were not read.")],
    }
}

/// Returns the remark on what was read of experiments of Score-P.
fn experiments(request: &ReportRequest) -> Option<String> {
    let is_traced = |anchor: &PathBuf| anchor.with_file_name(SUMMARY).is_file();
    let traced = request.inputs.of_kind(InputKind::Archive).iter().filter(|anchor| is_traced(anchor)).count();
    let summaries = request.inputs.of_kind(InputKind::Summary);
    let untraced = summaries.iter().filter(|path| path.ends_with(SUMMARY)).count();
    match (traced, untraced) {
        (0, 0) => None,
        (0, _) => Some(
            "The experiments of Score-P have no trace: their summaries were read. SCOREP_ENABLE_TRACING=true writes one."
                .into(),
        ),
        _ => Some("Of experiments of Score-P with a trace, the trace was read, and not the figures of the summary.".into()),
    }
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Makes the report of summaries of processes.
fn of_summaries(
    request: &ReportRequest,
    paths: Vec<PathBuf>,
    left_out: &mut Vec<Unreadable>,
) -> Result<Report, String> {
    tagged::refuse(request.tag)?;
    let options = options(request)?;
    let mut progress = Progress::new("reading", "summaries", paths.len() as u64);
    let paths = paths.into_iter().inspect(|_| progress.add(1));
    let (mut jobs, bad) = summaries::report(paths, &options.dimensions, &options.links);
    left_out.extend(bad);
    if jobs.is_empty() {
        return Err(lines(left_out));
    }
    let told = |job: &summaries::JobReport| ToldJob {
        name: job.name.clone(),
        processes: job.report.gpus.len() as u64,
        ..ToldJob::default()
    };
    let told: Vec<ToldJob> = jobs.iter().map(told).collect();
    let summaries::JobReport { name, mut report } = jobs.swap_remove(jobs::chosen(&told, request.job)?);
    findings::add(&mut report, &request.findings, &name.into_iter().collect(), left_out);
    report.complete.inputs.extend(request.inputs.left_out.iter().map(problem));
    if let Part::Known(speed) = &mut report.speed {
        speed.link = request.facts.link.clone().or(speed.link.take());
    }
    Ok(report)
}

/// Returns the causes, a line each.
pub(super) fn lines(left_out: &[Unreadable]) -> String {
    left_out.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Makes the report of recordings, tables and archives.
fn of_operations(
    request: &ReportRequest,
    left_out: &mut Vec<Unreadable>,
    log: Option<Rc<NcclLog>>,
    mut notes: Vec<String>,
) -> Result<Report, String> {
    table::raise_limit();
    let (tables, recordings, anchors) = (
        request.inputs.of_kind(InputKind::Table),
        request.inputs.of_kind(InputKind::Recording),
        request.inputs.of_kind(InputKind::Archive),
    );
    // removed at the end, and on signals
    let needs_scratch = !recordings.is_empty() || !anchors.is_empty();
    let scratch = needs_scratch.then(scratch).transpose()?;
    let mut archived = Archived::default();
    if let Some(scratch) = &scratch {
        if !recordings.is_empty() {
            let (lacking, bad) = write_tables(&recordings, scratch.path())?;
            notes.extend(lacking);
            left_out.extend(bad);
        }
        let region = match &request.facts.step {
            StepChoice::Region(name) => Some(name.as_str()),
            _ => None,
        };
        let bad = archives::write(&anchors, scratch.path(), region, &mut archived);
        left_out.extend(bad);
    }
    let mut places = tables.clone();
    // it is empty where no recording and no archive could be read
    let made = scratch.iter().filter(|scratch| scratch.path().read_dir().is_ok_and(|mut made| made.next().is_some()));
    places.extend(made.map(|scratch| scratch.path().to_path_buf()));
    let files: Vec<PathBuf> = tables.iter().filter_map(|path| files_of(path).ok()).flatten().collect();
    let opened = Tables::open_without(&places, &tables_child::deadly(&files));
    let (OpenedTables { job, tables: opened, inputs: of_tables, left_out: bad, notes: of_job }, others) =
        jobs::one(opened, request.job)?;
    left_out.extend(bad);
    if job.processes.is_empty() {
        return Err(lines(left_out));
    }
    notes.extend(of_job);
    notes.append(&mut archived.notes);
    let regions = regions(request, &job, &archived)?;
    let (mut profiled, bad) = kernels::read(&request.facts.kernels, &job.processes);
    left_out.extend(bad);
    let (bad, of_nsys) = kernels::nsys::read(&request.facts.nsys, &job.processes, &opened, &mut profiled);
    left_out.extend(bad);
    notes.extend(of_nsys);
    let Profiled { computation, nccl, .. } = profiled;
    let timed = Timed::of(&opened, nccl);
    notes.extend(timed.notes());
    let (over_network, by_state) = transfers(request.tag.map_or(job.processes.len(), |_| 0), &opened);
    let tagged = TaggedTables::new(&timed, request.tag);
    let facts = JobFacts {
        options: options(request)?,
        kernels: all_kernels(computation, &job, archived),
        regions,
        link: request.facts.link.clone(),
        inputs: inputs(request, &of_tables, left_out, &others),
        transfers: over_network,
        by_state,
        log,
        notes,
        between_unknown: tagged.between_unknown(),
    };
    let mut report = stream(request, (&job, &CountedTables::new(&tagged, opened.rows())), facts, left_out)?;
    report.complete.notes.extend(tagged.note());
    findings::add(&mut report, &request.findings, &findings::job_names(&job, &opened), left_out);
    Ok(report)
}

/// Reads the tables, and writes the operations' tables and Perfetto's trace. Adds damaged tables to `left_out`.
fn stream(
    request: &ReportRequest,
    (job, watched): (&Job, &CountedTables<'_>),
    facts: JobFacts,
    left_out: &mut Vec<Unreadable>,
) -> Result<Report, String> {
    // a signal removes what is incomplete
    let as_csv = request
        .csv
        .as_deref()
        .map(|to| leftovers::make(|| OperationSheet::<CsvFile>::create(to).map_err(io::Error::other)));
    let mut as_csv = as_csv.transpose().map_err(words)?;
    let to_parquet = |to| leftovers::make(|| OperationSheet::<ParquetFile>::create(to).map_err(io::Error::other));
    let mut as_parquet = request.parquet.as_deref().map(to_parquet).transpose().map_err(words)?;
    let mut trace = request.perfetto.as_deref().map(Traced::begin).transpose()?;
    let mut onlookers: Vec<&mut dyn Onlooker> = Vec::new();
    onlookers.extend(as_csv.as_mut().map(|it| it as &mut dyn Onlooker));
    onlookers.extend(as_parquet.as_mut().map(|it| it as &mut dyn Onlooker));
    onlookers.extend(trace.as_mut().map(|it| &mut it.trace as &mut dyn Onlooker));
    let mut watch = |pass: Pass| watched.begin(pass);
    let mut report = whole::report(job, watched, facts, &mut onlookers, &mut watch).map_err(words)?;
    drop(onlookers);
    let damaged = watched.damaged();
    report.complete.inputs.extend(damaged.iter().map(problem));
    left_out.extend(damaged);
    let finish = || {
        as_csv.map(|operations| operations.finish()).transpose()?;
        as_parquet.map(|operations| operations.finish()).transpose()
    };
    leftovers::undisturbed(finish).map_err(words)?;
    trace.map(Traced::end).transpose()?;
    Ok(report)
}

fn scratch() -> Result<Scratch, String> {
    Scratch::new().map_err(|error| format!("{}: {error}", std::env::temp_dir().display()))
}

/// Writes the tables of recordings. Returns a remark on recordings that lack callbacks, and those that are left out.
fn write_tables(recordings: &[PathBuf], directory: &Path) -> Result<(Option<String>, Vec<Unreadable>), String> {
    let written = table::write(recordings, directory, None).map_err(words)?;
    Ok((written.lacking, written.left_out.iter().map(ReplayError::unreadable).collect()))
}

/// Returns the user's facts as the analysis takes them.
///
/// # Errors
/// File, line and cause of the file of dimensions.
fn options(request: &ReportRequest) -> Result<Options, String> {
    let read = |(file, text): &(String, String)| rules(file, text);
    let dimensions = request.facts.dimensions.as_ref().map(read).transpose().map_err(words)?.unwrap_or_default();
    Ok(Options { links: request.facts.links.clone(), dimensions, top: request.top, step: request.shown_step })
}

/// Returns the user's steps on the clocks of the processes; `None` where steps are found by repetition.
///
/// # Errors
/// No process has a region of the user's name.
fn regions(request: &ReportRequest, job: &Job, archived: &Archived) -> Result<Option<StepRegions>, String> {
    match &request.facts.step {
        StepChoice::Found => Ok(None),
        StepChoice::Times(times) => times.regions(&job.processes).map(Some).map_err(words),
        StepChoice::Region(name) => {
            let of = |id: &str| archived.regions.get(id).cloned().unwrap_or_default();
            let by_process: Vec<_> = job.processes.iter().map(|process| of(&process.id)).collect();
            if by_process.iter().all(Vec::is_empty) {
                return Err(format!(
                    "--step {name}: no archive has a region of this name; `otf2-print -G traces.otf2` lists the regions"
                ));
            }
            Ok(Some(StepRegions { name: name.clone(), is_file: false, by_process }))
        }
    }
}

/// Returns the kernels of the computation of profiles and of archives; `None` if there are none.
fn all_kernels(mut kernels: Kernels, job: &Job, mut archived: Archived) -> Option<Kernels> {
    for (process, own) in job.processes.iter().zip(&mut kernels.by_process) {
        if let Some(more) = archived.kernels.remove(&process.id) {
            own.extend(more);
            input::archive::spans::unite(own);
        }
    }
    kernels.by_process.iter().any(|own| !own.is_empty()).then_some(kernels)
}

/// Returns the transfers over the network by the summaries of the first processes: by pair of ranks, and by state.
fn transfers(processes: usize, tables: &Tables) -> (Vec<common::summary::Transfers>, TransferSums) {
    let (mut pairs, mut by_state) = (vec![], TransferSums::default());
    for summary in (0..processes).filter_map(|process| tables.summary(process).ok().flatten()) {
        by_state.add(&summary.states, &summary.operation_transfers);
        pairs.extend(summary.transfers);
    }
    (pairs, by_state)
}
