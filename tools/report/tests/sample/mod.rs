//! A report with all parts, for tests of the outputs: invented figures of a job of any number of ranks.
//!
//! The job has 57 steps of 20 ms behind 3 steps of warm-up, eight GPUs a node and links of 400 Gbit/s. Its ranks form
//! groups of tensor parallelism among neighbours, and groups of data parallelism across these. The rank
//! [`scale::LATE`] is late in each step. One pair of neighbours is slow, and one communicator is not over. Equal
//! numbers of ranks give equal reports.

mod answers;
mod conditions;
mod findings;
mod groups;
mod network;
pub(crate) mod scale;
mod stragglers;
mod swim;
mod tags;
mod time;
mod transfers;

use groups::Groups;
use report::answer::{Complete, GpuBudget, Input, Part, Report, SCHEMA, Series};
use scale::{CALLS, STEP_US, STEPS};

/// Makes the report of a job of this many ranks, at least 1.
pub(crate) fn sample(ranks: usize) -> Report {
    let groups = Groups::of(ranks.max(1));
    Report {
        series: series(&groups),
        nccl: vec!["2.28.9".to_owned()],
        schema: SCHEMA.to_owned(),
        answers: answers::of(&groups),
        nodes: (0..groups.ranks).map(|rank| format!("node{:02}", groups.node(rank))).collect(),
        gpus: (0..groups.ranks).map(|rank| format!("rank {rank}")).collect(),
        complete: complete(&groups),
        steps: Part::Known(time::steps(&groups)),
        budget: Part::Known(time::budget(&groups)),
        phases: Part::Known(time::phases(&groups)),
        stragglers: Part::Known(stragglers::of(&groups)),
        conditions: Part::Known(conditions::of(&groups)),
        findings: Part::Known(findings::of(&groups)),
        late: Part::Known(time::late(&groups)),
        speed: Part::Known(network::speed(&groups)),
        pairs: Part::Known(network::pairs(&groups)),
        transfers: Part::Known(transfers::of(&groups)),
        communicators: Part::Known(groups.communicators()),
        tags: Part::Known(tags::of(&groups)),
        choices: Part::Known(network::choices(&groups)),
        unfinished: Part::Known(groups.unfinished()),
        swim: Part::Known(swim::of(&groups)),
    }
}

/// Lengths and waits of all steps, and no transfers.
fn series(groups: &Groups) -> Series {
    let lengths = time::steps(groups).lengths_us;
    let outside = |gpu: &GpuBudget| [(gpu.computing_ns + gpu.idle_ns) as f32 / 1e3 / STEPS as f32, 20.0];
    Series {
        of_steps: true,
        rows: Vec::new(),
        lengths_us: lengths.iter().map(|us| *us as f32).collect(),
        waits_us: lengths.iter().map(|us| (*us - 0.96 * STEP_US) as f32).collect(),
        outside_us: time::budget(groups).gpus.iter().map(outside).collect(),
    }
}

fn complete(groups: &Groups) -> Complete {
    let ranks = groups.ranks as u64;
    let input = |rank: usize| Input {
        path: format!("node{:02}.{}.jsonl.gz", groups.node(rank), 1000 + rank),
        kind: "recording".to_owned(),
        processes: 1,
        problem: None,
    };
    let occurrences: u64 = groups.list.iter().map(|group| group.calls * (STEPS + 3)).sum();
    Complete {
        inputs: (0..groups.ranks).map(input).collect(),
        ranks_here: ranks,
        ranks: Some(ranks),
        communicators: Vec::new(),
        operations: ranks * CALLS * (STEPS + 3),
        matched: occurrences - 1,
        unmatched: 1,
        compared: occurrences - 1,
        unfinished: 1,
        nodes: groups.node(groups.ranks - 1) as u64 + 1,
        clock_error_us: Some(12.0),
        wait_error_us: Some(4.0),
        notes: vec!["The first 3 steps are warm-up.".to_owned()],
        ..Complete::default()
    }
}
