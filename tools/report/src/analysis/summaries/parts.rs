//! The parts of a report from the sums of one job.

use super::job;
use super::sums::FunctionSums;
use crate::analysis::communicators::{CallSum, CallSums};
use crate::analysis::complete::{Incompleteness, MachineClocks};
use crate::analysis::dimension::Dimensions;
use crate::analysis::pairs::{LateRanks, Messages};
use crate::analysis::speed::{Forcing, MACHINES, Ran};
use crate::analysis::transfers::TransferSums;
use crate::answer::{
    Answers, ConditionMap, Conditions, Dimension, Input, Late, NcclChoices, Part, ProcessConditions, RankLateness,
    Report, SCHEMA, Series, Speed, SpeedRow, WatchFindings,
};
use crate::job::{DimensionRule, Job, Links};
use crate::stream::CallKind;
use common::summary::{Bandwidth, Lateness, Summary, Transfers};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Most notes of processes that a report has.
const MAX_NOTES: usize = 20;

/// Most ranks that the notes describe as late.
const MAX_LATE_RANKS: usize = 3;

/// What was gathered of all jobs together.
#[derive(Debug, Default)]
pub(super) struct GatheredOfAll {
    pub(super) inputs: Vec<Input>,
    /// Transfers of pairs that found no room.
    pub(super) left_out: u64,
    /// Processes whose summary was not written at their end.
    pub(super) cut: BTreeSet<u32>,
    /// Conditions over all the time of a process, by its number.
    pub(super) conditions: BTreeMap<u32, ProcessConditions>,
}

/// What was gathered of one job.
pub(super) struct GatheredParts<'a> {
    pub(super) summary: &'a Summary,
    pub(super) sums: &'a BTreeMap<String, FunctionSums>,
    pub(super) others: &'a FunctionSums,
    pub(super) transfers: &'a [Transfers],
    pub(super) by_state: &'a TransferSums,
    pub(super) of_all: &'a GatheredOfAll,
    pub(super) links: &'a Links,
}

/// Returns a part that single operations are needed for.
fn absent<T>(subject: &str) -> Part<T> {
    Part::Absent(format!(
        "{subject} need single operations; summaries of processes hold sums. Give recordings or tables instead."
    ))
}

impl GatheredParts<'_> {
    pub(super) fn report(&self, rules: &[DimensionRule]) -> Report {
        let job = job::assemble(self.summary, &self.of_all.cut);
        let dimensions = Dimensions::find(&job, rules, &[]).by_communicator();
        let mut calls = CallSums::new(&job);
        let sums = self.sums.iter().map(|(comm, sums)| (job.place(comm), sums));
        for (place, sums) in sums.chain(std::iter::once((None, self.others))) {
            let (operations, untimed, bytes) = sums.totals();
            calls.add(place, CallSum { operations, bytes, untimed, without_begin: 0 });
        }
        let clocks = self.summary.clocks.map_or_else(MachineClocks::default, |clocks| MachineClocks {
            nodes: clocks.nodes.into(),
            error: Some((clocks.error_us * 1e3).round() as u64),
        });
        let mut complete = Incompleteness::default().finish(&job, self.of_all.inputs.clone(), &clocks, calls.whole());
        complete.notes.extend(self.notes());
        let messages = Messages::with_left_out(self.of_all.left_out);
        Report {
            schema: SCHEMA.into(),
            answers: Answers::default(),
            gpus: job.gpus.iter().map(|gpu| gpu.name.clone()).collect(),
            nodes: job.node_names(),
            nccl: job.releases(),
            complete,
            steps: absent("Steps"),
            budget: absent("Budgets"),
            phases: absent("Phase windows"),
            stragglers: absent("Costs of ranks"),
            conditions: self.conditions(&job),
            findings: Part::Absent(WatchFindings::NO_LOG.into()),
            late: self.late(&job),
            speed: self.speed(&job, &dimensions),
            pairs: messages.finish(&job, &dimensions, self.transfers, &LateRanks::default()),
            transfers: self.by_state.clone().finish(&job),
            communicators: calls.finish(&job, &dimensions, &|_, _| None, None),
            tags: absent("Tags"),
            choices: Part::Absent(NcclChoices::NO_LOG.into()),
            unfinished: absent("Last operations"),
            swim: absent("Swim lanes"),
            series: Series::default(),
        }
    }

    /// Returns notes of the job and of its processes, each once.
    fn notes(&self) -> Vec<String> {
        let mut of_processes: BTreeMap<&str, u64> = BTreeMap::new();
        for note in self.summary.processes.iter().flat_map(|process| &process.notes) {
            *of_processes.entry(note).or_default() += 1;
        }
        let left_out = of_processes.len().saturating_sub(MAX_NOTES);
        let matched = match self.summary.lateness.is_empty() && self.summary.bandwidth.is_empty() {
            true => "their operations are not matched over ranks",
            false => {
                "operations are matched over ranks for the lateness and the bus bandwidths by it, and for nothing else"
            }
        };
        let mut notes = vec![format!("Summaries hold sums: {matched}.")];
        notes.extend(self.latest());
        notes.extend(self.summary.notes.iter().cloned());
        notes.extend(of_processes.into_iter().take(MAX_NOTES).map(|(note, count)| match count {
            1 => format!("1 process says: {note}"),
            count => format!("{count} processes say: {note}"),
        }));
        if left_out > 0 {
            notes.push(format!("{left_out} more notes of processes are in their summaries."));
        }
        notes
    }

    /// Describes the ranks that were last most often, with the likely error of their lateness.
    fn latest(&self) -> Vec<String> {
        let mut rows: Vec<&Lateness> = self.summary.lateness.iter().filter(|row| row.last > 0).collect();
        rows.sort_by_key(|row| (Reverse(row.last), &row.comm, row.rank));
        let us = |us: f64| if us < 1e3 { format!("{us:.1} us") } else { format!("{:.2} ms", us / 1e3) };
        let describe = |row: &&Lateness| {
            let Lateness { comm, rank, last, operations, one_in, .. } = row;
            let of = if *one_in > 1 { format!(", one in {one_in}") } else { String::new() };
            let times = row.mean_us.zip(row.p99_us).map(|(mean, most)| {
                format!(": {} behind the first rank on average, at most {} in 99 of 100", us(mean), us(most))
            });
            format!(
                "Rank {rank} of communicator {comm} was last in {last} of {operations} compared operations{of}{}. The \
                 likely error of a lateness is {}.",
                times.unwrap_or_default(),
                us(row.estimated_error_us)
            )
        };
        rows.iter().take(MAX_LATE_RANKS).map(describe).collect()
    }

    /// Returns the conditions over all the time of each process. Their course over time is not placed: summaries of
    /// several hosts have no common clock.
    fn conditions(&self, job: &Job) -> Part<Conditions> {
        let of_places: Vec<Option<&ProcessConditions>> = job::in_order(self.summary)
            .into_iter()
            .map(|process| self.of_all.conditions.get(&process.process))
            .collect();
        let processes = of_places.iter().flatten().count() as u64;
        if processes == 0 {
            return Part::Absent(Conditions::NOT_IN_INPUTS.into());
        }
        let row = |process: usize| of_places.get(process).copied().flatten().copied().unwrap_or_default();
        let rows = job.gpus.iter().map(|gpu| row(gpu.process)).collect();
        let map = ConditionMap { gpus_in_row: 1, ..ConditionMap::default() };
        Part::Known(Conditions { of_steps: false, processes, rows, map })
    }

    fn late(&self, job: &Job) -> Part<Late> {
        let rows = &self.summary.lateness;
        if rows.is_empty() {
            return Part::Absent(
                "The summaries have no GPU-timed collective that all ranks of a communicator have in common. \
                 Recordings and the trace of a job say more."
                    .into(),
            );
        }
        let row = |row: &Lateness| RankLateness {
            gpu: u64::from_str_radix(&row.comm, 16).ok().and_then(|comm| job.gpu(comm, row.rank)),
            comm: row.comm.clone(),
            rank: row.rank,
            operations: row.operations,
            mean_us: row.mean_us,
            p99_us: row.p99_us,
            error_us: row.estimated_error_us,
            last: row.last,
            one_in: row.one_in,
        };
        // each rank of a communicator has the same operations
        let mut operations: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for row in rows {
            let most = operations.entry(&row.comm).or_default();
            *most = (most.0.max(row.operations), most.1.max(row.resolved));
        }
        Part::Known(Late {
            compared: operations.values().map(|(compared, _)| *compared).fold(0, u64::saturating_add),
            resolved: operations.values().map(|(_, resolved)| *resolved).fold(0, u64::saturating_add),
            lateness: rows.iter().map(row).collect(),
            ..Late::default()
        })
    }

    fn speed(&self, job: &Job, dimensions: &[Dimension]) -> Part<Speed> {
        let placed = |comm: &str, row: SpeedRow| {
            let place = job.place(comm);
            let found = place.and_then(|place| job.communicators.get(place));
            let (nranks, nnodes) = found.map_or((0, 0), |found| (found.nranks, job.nodes_of(found)));
            let dimension = place.and_then(|place| dimensions.get(place)).map(|dimension| dimension.name.clone());
            let dimension = dimension.unwrap_or_else(|| "unknown".into());
            SpeedRow { comm: comm.to_owned(), nranks, nnodes, dimension, ..row }
        };
        let links = self.links.clone().with_machines(job);
        let mut rows: Vec<SpeedRow> = vec![];
        for (comm, sums) in self.sums {
            let nranks = job.communicator_named(comm).map_or(0, |found| found.nranks);
            rows.extend(sums.rows(nranks).map(|row| placed(comm, row)));
        }
        rows.extend(self.others.rows(0).map(|row| placed("0000000000000000", row)));
        rows.extend(self.summary.bandwidth.iter().map(|row| placed(&row.comm, Self::of_bandwidth(&links, row))));
        let forcing: Vec<Forcing> = job.communicators.iter().map(|of| Forcing::new(job, of)).collect();
        for row in &mut rows {
            let forcing = job.place(&row.comm).and_then(|place| forcing.get(place));
            row.forced = forcing.and_then(|of| of.of_row(row, Ran::default()));
        }
        if rows.is_empty() {
            return Part::Absent("There is no operation.".into());
        }
        rows.sort_by(|one, other| {
            let key = |row: &SpeedRow| (row.function.clone(), row.comm.clone(), row.from_bytes, row.to_bytes);
            key(one).cmp(&key(other))
        });
        let link = rows.iter().any(|row| row.utilisation.is_some()).then(|| MACHINES.into());
        Part::Known(Speed { rows, link, of_sums: true, ..Speed::default() })
    }

    /// Returns a row of the job summary's bus bandwidths, which are by the least time over the ranks.
    fn of_bandwidth(links: &Links, row: &Bandwidth) -> SpeedRow {
        let link = u64::from_str_radix(&row.comm, 16).ok().and_then(|comm| links.rate(comm, CallKind::Collective));
        SpeedRow {
            function: row.func.clone(),
            from_bytes: row.from_bytes,
            to_bytes: row.from_bytes.saturating_add(row.from_bytes.saturating_sub(1)),
            count: row.count,
            compared: row.operations,
            busbw: row.busbw_gb_s,
            utilisation: row.busbw_gb_s.zip(link).filter(|(_, link)| *link > 0.0).map(|(busbw, link)| busbw / link),
            ..SpeedRow::default()
        }
    }
}
