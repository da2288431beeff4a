//! The calls of a share of the steps, in bounded memory.
//!
//! Steps are kept in blocks of neighbours, so that a step can be re-enacted after the one before it. When there are
//! too many calls, every second block is given up: which ones, a hash of the block's number says, so that no pattern of
//! the job decides. Each block is looked through for pauses before it is given up: no pause of a long job is lost.

use super::timed::{BETWEEN, Joins, NeighbouringCalls, TimedCall};
use crate::analysis::series::is_kept;
use crate::analysis::steps::InStep;
use crate::stream::{Call, CallKind, JudgedCall, Message};
use common::name::NcclName;
use rustc_hash::FxHasher;
use std::collections::BTreeMap;
use std::hash::Hasher;

/// Most calls that are kept, of all GPUs.
const MAX_CALLS: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };
/// Most steps in a block.
const MAX_BLOCK_STEPS: u64 = 16;
/// Least share of the room that a block leaves to others.
const MIN_BLOCKS: u64 = 4;

/// Names of the collectives whose ranks all wait for each other.
#[derive(Debug)]
struct AllWaitNames {
    together: [NcclName; 3],
    all_to_all: NcclName,
}

impl AllWaitNames {
    fn new() -> Self {
        let name = |text| NcclName::of(Some(text));
        Self { together: [c"AllReduce", c"AllGather", c"ReduceScatter"].map(name), all_to_all: name(c"AlltoAll") }
    }

    fn joins(&self, call: &Call) -> Joins {
        match call.kind {
            CallKind::AllToAll => Joins::AllToAll,
            CallKind::Exchange => Joins::Pairs,
            CallKind::Collective if self.together.contains(&call.function) => Joins::Together,
            CallKind::Collective if call.function == self.all_to_all => Joins::AllToAll,
            CallKind::Collective => Joins::Rooted,
        }
    }
}

/// Looks through the calls of a block that is given up.
pub(super) type GivenUp<'a> = &'a mut dyn FnMut(NeighbouringCalls);

/// The calls that are kept.
#[derive(Debug)]
pub(super) struct KeptCalls {
    /// By number of the block.
    blocks: BTreeMap<u64, NeighbouringCalls>,
    /// Steps in a block.
    length: u64,
    /// Last block of each GPU; all before the least of these are complete.
    reached: Vec<Option<u64>>,
    /// End of each GPU's last call, twice, and its shift.
    ends: Vec<Option<(i64, i64, i64)>>,
    /// CUDA streams of each GPU.
    streams: Vec<Vec<u64>>,
    count: usize,
    thinned: u32,
    names: AllWaitNames,
    /// Whether calls found no room although no step could be given up.
    pub(super) is_full: bool,
}

impl KeptCalls {
    /// Prepares to keep calls; `of_step` is the number of calls of all GPUs in a step, where it is known.
    pub(super) fn new(gpus: usize, of_step: Option<u64>) -> Self {
        let length = of_step
            .map_or(MAX_BLOCK_STEPS, |calls| MAX_CALLS as u64 / MIN_BLOCKS / calls.max(1))
            .clamp(2, MAX_BLOCK_STEPS);
        Self {
            blocks: BTreeMap::new(),
            length,
            reached: vec![None; gpus],
            ends: vec![None; gpus],
            streams: vec![vec![]; gpus],
            count: 0,
            thinned: 0,
            names: AllWaitNames::new(),
            is_full: false,
        }
    }

    /// Adds the next call of a GPU with its place in a step, which counts from 0 after the warm-up.
    pub(super) fn add(&mut self, judged: &JudgedCall, at: InStep, given_up: GivenUp<'_>) {
        let call = judged.call();
        let Some(reached) = self.reached.get_mut(call.gpu) else { return };
        let known = judged.part.span.zip(call.time).map(|([common, _], time)| {
            let [begin, end] = [time.start, time.stop].map(|time| i64::try_from(time).unwrap_or(i64::MAX));
            (begin, end.max(begin), common.saturating_sub(begin))
        });
        let Some((begin, end, shift)) = known.or(self.ends[call.gpu]) else { return };
        self.ends[call.gpu] = Some((end, end, shift));
        let block = at.step / self.length;
        if reached.is_none_or(|reached| reached < block) {
            *reached = Some(block);
            self.give_up(given_up);
        }
        if self.count >= 4 * MAX_CALLS {
            self.is_full = true;
            return;
        }
        let streams = &mut self.streams[call.gpu];
        let stream = streams.iter().position(|&known| known == call.stream).unwrap_or_else(|| {
            streams.push(call.stream);
            streams.len() - 1
        });
        let joins = self.names.joins(call);
        let others = || call.messages.iter().filter(|message| message.peer != call.rank);
        let mut messages: Vec<u64> = match joins {
            Joins::Pairs => others().map(|message| number(call, message)).collect(),
            _ => vec![],
        };
        messages.sort_unstable();
        messages.dedup();
        let timed = TimedCall {
            begin,
            end,
            shift,
            lead: u32::try_from(begin.saturating_sub_unsigned(call.enqueued_own).max(0)).unwrap_or(u32::MAX),
            occurrence: judged.occurrence as u32,
            step: u32::try_from(at.step).unwrap_or(u32::MAX),
            place: at.place.unwrap_or(BETWEEN),
            token: at.token,
            communicator: u32::try_from(call.communicator).unwrap_or(u32::MAX),
            stream: u16::try_from(stream).unwrap_or(u16::MAX),
            joins,
            is_compared: judged.part.wait.is_some(),
            likely: judged.part.likely,
            is_timed: known.is_some(),
            sends: others().any(|it| it.is_send),
            bytes: call.bytes,
            is_one_way: others().all(|it| it.is_send) || others().all(|it| !it.is_send),
            messages: messages.into_boxed_slice(),
        };
        let gpus = self.reached.len();
        self.blocks.entry(block).or_insert_with(|| vec![vec![]; gpus])[call.gpu].push(timed);
        self.count += 1;
    }

    /// Gives up complete blocks, if there are too many calls.
    fn give_up(&mut self, given_up: GivenUp<'_>) {
        // no rank waits for a GPU without calls
        let complete = self.reached.iter().flatten().min().copied().unwrap_or(0);
        while self.count > MAX_CALLS && self.thinned < 63 && self.blocks.range(..complete).next().is_some() {
            self.thinned += 1;
            let thinned = self.thinned;
            self.drop_blocks(complete, |block| !is_kept(block, thinned), given_up);
        }
        let thinned = self.thinned;
        self.drop_blocks(complete, |block| !is_kept(block, thinned), given_up);
    }

    fn drop_blocks(&mut self, complete: u64, is_given_up: impl Fn(u64) -> bool, given_up: GivenUp<'_>) {
        let gone: Vec<u64> =
            self.blocks.range(..complete).map(|(&block, _)| block).filter(|&it| is_given_up(it)).collect();
        for block in gone {
            if let Some(calls) = self.blocks.remove(&block) {
                self.count -= calls.iter().map(Vec::len).sum::<usize>();
                given_up(calls);
            }
        }
    }

    /// Returns the stretches of steps that follow one another.
    pub(super) fn into_stretches(self) -> Vec<NeighbouringCalls> {
        let mut stretches: Vec<(u64, Vec<NeighbouringCalls>)> = vec![];
        for (block, calls) in self.blocks {
            match stretches.last_mut() {
                Some((last, stretch)) if *last + 1 == block => {
                    *last = block;
                    stretch.push(calls);
                }
                _ => stretches.push((block, vec![calls])),
            }
        }
        stretches.into_iter().map(|(_, blocks)| joined(blocks)).collect()
    }
}

/// Joins blocks that follow one another, GPU by GPU, each of which is in memory once.
fn joined(mut blocks: Vec<NeighbouringCalls>) -> NeighbouringCalls {
    let gpus = blocks.iter().map(Vec::len).max().unwrap_or(0);
    let of_gpu = |gpu: usize| {
        let mut of: Vec<Vec<TimedCall>> =
            blocks.iter_mut().filter_map(|it| it.get_mut(gpu)).map(std::mem::take).collect();
        if let [one] = &mut of[..] {
            return std::mem::take(one);
        }
        let mut all = Vec::with_capacity(of.iter().map(Vec::len).sum());
        of.into_iter().for_each(|calls| all.extend(calls));
        all
    };
    (0..gpus).map(of_gpu).collect()
}

/// Returns the number of a message: the same at its send and at its receive.
fn number(call: &Call, message: &Message) -> u64 {
    let [from, to] = if message.is_send { [call.rank, message.peer] } else { [message.peer, call.rank] };
    let mut hasher = FxHasher::default();
    hasher.write_usize(call.communicator);
    hasher.write_u64(u64::from(from.cast_unsigned()) << 32 | u64::from(to.cast_unsigned()));
    hasher.write_u64(message.number);
    hasher.finish()
}
