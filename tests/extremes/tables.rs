//! Tables of a job of two processes, with one number of the first process' table set: of a column, or of the footer.

use crate::extremes::Case;
use crate::support::tool;
use common::conditions::ConditionRow;
use report::job::{OperationTables, Process, RankOperation};
use report::table::{About, COLUMNS, Form, MadeCommunicator, TableWriter, Tables};
use std::fs;
use std::path::PathBuf;

/// The row whose columns are set.
const ROW: usize = 3;
const NAMES: [&str; 2] = ["process=0/operations.parquet", "process=1/operations.parquet"];

/// Values of columns and of numbers in the footer, as far as their types have them.
const VALUES: [i128; 8] = [0, -1, i32::MAX as i128, 1 << 31, 1 << 53, (1 << 63) - 1, 1 << 63, u64::MAX as i128];

/// A job's tables as they are.
struct Job {
    abouts: [About; 2],
    rows: [Vec<RankOperation>; 2],
}

/// Sets a number of the footer; `None` where its type has no such value.
type Set = fn(&mut About, i128) -> Option<()>;

/// The numbers of the footer.
const FOOTER: [(&str, Set); 19] = [
    ("process.rank", |it, to| put(&mut it.process.rank, to.try_into().ok().map(Some))),
    ("process.ranks", |it, to| put(&mut it.process.ranks, to.try_into().ok().map(Some))),
    ("process.real0", |it, to| put(&mut it.process.real0, to.try_into().ok())),
    ("process.mono0", |it, to| put(&mut it.process.mono0, to.try_into().ok())),
    ("process.span[0]", |it, to| put(&mut it.process.span[0], to.try_into().ok())),
    ("process.span[1]", |it, to| put(&mut it.process.span[1], to.try_into().ok())),
    ("process.dropped", |it, to| put(&mut it.process.dropped, to.try_into().ok())),
    ("process.unfinished", |it, to| put(&mut it.process.unfinished, to.try_into().ok())),
    ("process.invisible", |it, to| put(&mut it.process.invisible, to.try_into().ok())),
    ("communicators.nranks", |it, to| put(&mut it.communicators[0].nranks, to.try_into().ok())),
    ("communicators.nnodes", |it, to| put(&mut it.communicators[0].nnodes, to.try_into().ok())),
    ("communicators.rank", |it, to| put(&mut it.communicators[0].rank, to.try_into().ok())),
    ("communicators.made", |it, to| put(&mut it.communicators[0].made, to.try_into().ok())),
    ("conditions.until", |it, to| put(&mut it.conditions[0].until, to.try_into().ok())),
    ("conditions.length_us", |it, to| put(&mut it.conditions[0].length_us, to.try_into().ok())),
    ("conditions.waiting_us", |it, to| put(&mut it.conditions[0].host.waiting_us, to.try_into().ok().map(Some))),
    ("conditions.threads", |it, to| put(&mut it.conditions[0].host.threads, Some(Some(to as f64)))),
    ("conditions.processors", |it, to| put(&mut it.conditions[0].host.processors, to.try_into().ok().map(Some))),
    ("conditions.mhz", |it, to| put(&mut it.conditions[0].host.mhz, Some(Some(to as f64)))),
];

fn put<T>(field: &mut T, value: Option<T>) -> Option<()> {
    *field = value?;
    Some(())
}

impl Job {
    fn of_run(run: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        tool::succeed(tool::tool().arg("table").arg(tool::run(run)).arg("--to").arg(directory.path()));
        let opened = Tables::open(&[directory.path().to_path_buf()]);
        let about = |place: usize| {
            let process = Process { id: place.to_string(), ..opened.job.processes[place].clone() };
            let of = |it: &report::job::Communicator| {
                let member = it.members.iter().find(|member| opened.job.gpus[member.gpu].process == place)?;
                let (comm, name) = (format!("{:016x}", it.comm), it.name.clone());
                Some(MadeCommunicator {
                    comm,
                    name,
                    nranks: it.nranks,
                    nnodes: it.nnodes,
                    rank: member.rank,
                    made: member.made,
                })
            };
            let communicators = opened.job.communicators.iter().filter_map(of).collect();
            let until = process.span[1];
            let conditions = vec![ConditionRow { until, length_us: 1_000_000, ..ConditionRow::default() }];
            About { process, communicators, summary: opened.tables.summary(place).unwrap(), conditions }
        };
        let rows = |place: usize| opened.tables.operations(place).unwrap().map(Result::unwrap).collect::<Vec<_>>();
        Self { abouts: [0, 1].map(about), rows: [0, 1].map(rows) }
    }

    /// Returns the file of a process.
    fn file(about: &About, rows: &[RankOperation]) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = TableWriter::create(directory.path(), &about.process.id).unwrap();
        rows.iter().for_each(|row| writer.push(row).unwrap());
        let path: PathBuf = writer.finish(about).unwrap();
        fs::read(path).unwrap()
    }
}

pub(crate) fn cases() -> Vec<Case> {
    let Job { abouts, rows } = Job::of_run("nvlink2_graph");
    let other = Job::file(&abouts[1], &rows[1]);
    let case =
        |what: String, file: Vec<u8>| Case { what, file: (NAMES[0], file), beside: Some((NAMES[1], other.clone())) };
    let mut cases = Vec::new();
    for column in COLUMNS.iter().filter(|column| !matches!(column.form, Form::Flag)) {
        for value in VALUES.iter().filter_map(|&value| i64::try_from(value).ok()) {
            let mut rows = rows[0].clone();
            if (column.set)(&mut rows[ROW], value).is_some() {
                cases.push(case(format!("{} = {value}", column.name), Job::file(&abouts[0], &rows)));
            }
        }
    }
    for (name, set) in FOOTER {
        for value in VALUES {
            let mut about = abouts[0].clone();
            if set(&mut about, value).is_some() {
                cases.push(case(format!("{name} = {value}"), Job::file(&about, &rows[0])));
            }
        }
    }
    cases
}
