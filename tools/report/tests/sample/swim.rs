//! Two steps of the sample, call by call: [`LATE`] begins last of its tensor group; in the slowest step, rank 0 pauses.

use super::groups::{Groups, SampleCommunicator};
use super::scale::{CALLS, LATE, STEP_US};
use report::answer::{Stretch, Swim, SwimBar, SwimLane};
use std::collections::BTreeSet;

/// Most GPUs with lanes, and GPUs of a node.
const GPUS: usize = 64;
const NODE: usize = 8;
/// Own time before an operation of a tensor group, how much longer it is of [`LATE`], and a transfer, microseconds.
const GAP: f64 = 1_020.0;
const EXCESS: f64 = 43.0;
const TRANSFER: f64 = 120.0;
/// Operations of a tensor group.
const LAYERS: usize = 16;
/// The one that rank 0 pauses before, in the slowest step.
const PAUSE: (usize, f64) = (5, 0.3 * STEP_US);

/// An operation: the rank that begins last, its begin, and the common end.
#[derive(Debug, Clone, Copy)]
struct SampleOperation {
    last: usize,
    begin: f64,
    end: f64,
}

/// Makes the slowest step with the one of median length.
pub(super) fn of(groups: &Groups) -> Swim {
    let usual = Some(Box::new(step(groups, 12, 0.0)));
    Swim { usual, ..step(groups, 31, PAUSE.1) }
}

/// Returns the GPUs with lanes: the first node, the first ones of nodes, and others.
fn shown(ranks: usize) -> BTreeSet<usize> {
    let order = (0..NODE.min(ranks)).chain((0..ranks).step_by(NODE)).chain(0..ranks);
    let mut shown = BTreeSet::new();
    order.for_each(|gpu| {
        if shown.len() < GPUS {
            shown.insert(gpu);
        }
    });
    shown
}

fn noise(rank: usize, layer: usize) -> f64 {
    f64::from(((rank * 31 + layer) as u32).wrapping_mul(2_654_435_761)) / f64::from(u32::MAX)
}

fn step(groups: &Groups, number: u64, pause: f64) -> Swim {
    let late = LATE.min(groups.ranks - 1);
    let of_dimension = |dimension: &'static str| groups.list.iter().filter(move |group| group.dimension == dimension);
    let tensor: Vec<Vec<SampleOperation>> =
        of_dimension("TP").map(|group| layers(&group.members, late, pause)).collect();
    let size = of_dimension("TP").next().map_or(1, |group| group.members.len());
    let end = |rank: usize, layer: usize| tensor[rank / size][layer].end;
    let latest = |begin: &dyn Fn(usize) -> f64| (0..groups.ranks).map(begin).fold(0.0, f64::max);
    let first = latest(&|rank| end(rank, 7)) + 1_600.0;
    let second = [latest(&|rank| end(rank, LAYERS - 1)) + 60.0, 400.0];
    let data_end = second[0] + second[1];
    let world = data_end + 30.0 + 20.0;
    let lane = |gpu: usize, group: &SampleCommunicator| {
        let spans: Vec<[f64; 3]> = match group.dimension {
            "TP" => tensor[gpu / size]
                .iter()
                .enumerate()
                .map(|(layer, played)| {
                    let before = if layer == 0 { 0.0 } else { end(gpu, layer - 1) };
                    let own = (played.begin - before).min(GAP) * (0.9 + 0.09 * noise(gpu, layer));
                    [if gpu == played.last { played.begin } else { before + own }, played.begin, played.end]
                })
                .collect(),
            "DP" => vec![[end(gpu, 7), first - 1_600.0, first], [end(gpu, LAYERS - 1) + 60.0, second[0], data_end]],
            _ => vec![[data_end + if gpu == late { 30.0 } else { 10.0 * noise(gpu, 0) }, data_end + 30.0, world]],
        };
        let functions = group.functions.iter().flat_map(|&(name, bytes, of)| (0..of).map(move |_| (name, bytes)));
        let bar = |(place, ((function, bytes), [start, until, stop])): (usize, ((&str, u64), [f64; 3]))| SwimBar {
            function: function.to_owned(),
            sequence: Some(30 * group.calls + place as u64),
            bytes,
            enqueued_us: start - 50.0,
            enqueued_ns: 1_000_000_000 + (1e3 * (start - 50.0)) as u64,
            start_us: start,
            wait_until_us: Some(until),
            stop_us: stop,
            occurrence: (group.comm & 0xffff) * 1000 + place as u64,
        };
        let bars = functions.zip(spans).enumerate().map(bar).collect();
        SwimLane { gpu, comm: group.id(), dimension: group.dimension(), bars }
    };
    let gpus = shown(groups.ranks);
    let of_gpu = |gpu: usize| groups.list.iter().filter(move |group| group.members.contains(&gpu));
    let lanes = gpus.iter().flat_map(|&gpu| of_gpu(gpu).map(move |group| (gpu, group)));
    let ends = |of: &Vec<SampleOperation>| of[LAYERS - 1].end;
    let slowest = (0..tensor.len()).max_by(|a, b| ends(&tensor[*a]).total_cmp(&ends(&tensor[*b]))).unwrap_or(0);
    let mut path = vec![];
    let mut before = 0.0;
    let mut piece = |gpu: usize, function: Option<&str>, until_us: f64| {
        path.push(Stretch { gpu, function: function.map(str::to_owned), from_us: before, until_us });
        before = until_us;
    };
    for (layer, played) in tensor[slowest].iter().enumerate() {
        piece(played.last, None, played.begin);
        piece(played.last, Some(if layer < 8 { "AllGather" } else { "ReduceScatter" }), played.end);
    }
    let sum = if late / size == slowest { late } else { slowest * size };
    piece(sum, None, second[0]);
    piece(sum, Some("AllReduce"), data_end);
    piece(late, None, data_end + 30.0);
    piece(late, Some("AllReduce"), world);
    Swim {
        step: Some(number),
        length_us: world,
        lanes: lanes.map(|(gpu, group)| lane(gpu, group)).collect(),
        left_out: (groups.ranks - gpus.len()) as u64 * CALLS,
        path,
        usual: None,
    }
}

/// Plays the operations of a tensor group.
fn layers(members: &[usize], late: usize, pause: f64) -> Vec<SampleOperation> {
    let mut before = 0.0;
    let mut play = |layer: usize| {
        let is_paused = layer == PAUSE.0 && pause > 0.0 && members[0] == 0;
        let last = match members.contains(&late) {
            _ if is_paused => 0,
            true if layer % 5 < 4 => late,
            _ => members[layer % members.len()],
        };
        let own = GAP + if last == late { EXCESS } else { 0.0 } + if is_paused { pause } else { 0.0 };
        let begin = before + own;
        before = begin + TRANSFER;
        SampleOperation { last, begin, end: before }
    };
    (0..LAYERS).map(&mut play).collect()
}
