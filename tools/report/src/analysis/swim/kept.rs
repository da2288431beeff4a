//! The calls of one step, of all GPUs, as small as they may be: which of them are shown is decided at the end.

use super::path::{self, PathCall};
use crate::answer::{Stretch, SwimBar};
use crate::stream::JudgedCall;
use common::name::NcclName;

/// Most calls of all GPUs, some 40 MB.
const MAX_CALLS_KEPT: usize = 400_000;

/// A call, with times on the common clock in nanoseconds.
#[derive(Debug)]
struct SwimCall {
    communicator: u32,
    function: NcclName,
    sequence: Option<u64>,
    bytes: u64,
    occurrence: u64,
    enqueued: i64,
    enqueued_own: u64,
    /// Begin and end on the GPU; `None` where they are unknown.
    span: Option<[i64; 2]>,
    wait: Option<i64>,
}

/// The calls of one step.
#[derive(Debug)]
pub(super) struct StepCalls {
    /// Its number, counted from 0 with the warm-up.
    pub(super) number: u64,
    /// First begin of the step on a GPU.
    begin: Option<i64>,
    /// Sum of its lengths over GPUs in nanoseconds, and their number.
    length: (i64, u32),
    most_of_gpu: usize,
    /// By GPU, in the order of hosts.
    calls: Vec<Vec<SwimCall>>,
    left_out: u64,
}

impl StepCalls {
    pub(super) fn new(number: u64, gpus: usize) -> Self {
        let calls = (0..gpus).map(|_| vec![]).collect();
        Self { number, begin: None, length: (0, 0), most_of_gpu: MAX_CALLS_KEPT / gpus.max(1), calls, left_out: 0 }
    }

    pub(super) fn begin(&mut self, at: i64) {
        self.begin = Some(self.begin.map_or(at, |begin| begin.min(at)));
    }

    /// Takes in the length of the step on a GPU, nanoseconds.
    pub(super) fn end(&mut self, length: i64) {
        self.length = (self.length.0.saturating_add(length), self.length.1 + 1);
    }

    pub(super) fn call(&mut self, judged: &JudgedCall) {
        let (part, call) = (&judged.part, judged.call());
        let Some(kept) = self.calls.get_mut(call.gpu).filter(|kept| kept.len() < self.most_of_gpu) else {
            self.left_out += 1;
            return;
        };
        kept.push(SwimCall {
            communicator: call.communicator as u32,
            function: call.function,
            sequence: call.sequence.map(|(sequence, _)| sequence),
            bytes: call.bytes,
            occurrence: judged.occurrence,
            enqueued: call.enqueued,
            enqueued_own: call.enqueued_own,
            span: part.span,
            wait: part.wait,
        });
    }

    /// Returns whether the step has calls.
    pub(super) fn is_there(&self) -> bool {
        self.begin.is_some() && self.calls.iter().any(|calls| !calls.is_empty())
    }

    /// Returns the number of calls of these GPUs that find room, and of all calls that do not.
    pub(super) fn room(&self, gpus: &[usize], most: usize) -> (usize, u64) {
        let most_of_gpu = most / gpus.len().max(1);
        let shown: usize = gpus.iter().filter_map(|gpu| self.calls.get(*gpu)).map(|it| it.len().min(most_of_gpu)).sum();
        let all: usize = self.calls.iter().map(Vec::len).sum();
        (most_of_gpu, self.left_out + (all - shown) as u64)
    }

    /// Returns the step's mean length over GPUs; where that is unknown, up to its last end. Microseconds.
    pub(super) fn length_us(&self) -> f64 {
        let last = || self.calls.iter().flatten().filter_map(|kept| kept.span).map(|[_, stop]| stop).max();
        match self.length {
            (_, 0) => last().map_or(0.0, |last| self.us(last)),
            (sum, gpus) => sum as f64 / 1e3 / f64::from(gpus),
        }
    }

    /// Returns a GPU's first calls with the places of their communicators. A call without a GPU time is a point at its
    /// enqueue.
    pub(super) fn bars(&self, gpu: usize, most: usize) -> impl Iterator<Item = (usize, SwimBar)> {
        self.calls.get(gpu).into_iter().flatten().take(most).map(|kept| {
            let [start, stop] = kept.span.unwrap_or([kept.enqueued; 2]);
            let bar = SwimBar {
                function: kept.function.text(),
                sequence: kept.sequence,
                bytes: kept.bytes,
                enqueued_us: self.us(kept.enqueued),
                enqueued_ns: kept.enqueued_own,
                start_us: self.us(start),
                wait_until_us: kept.wait.map(|wait| self.us(start.saturating_add(wait).min(stop))),
                stop_us: self.us(stop),
                occurrence: kept.occurrence,
            };
            (kept.communicator as usize, bar)
        })
    }

    /// Returns the critical path; nothing if calls found no room, since it may lead through these.
    pub(super) fn path(&self) -> Vec<Stretch> {
        let Some(begin) = self.begin.filter(|_| self.left_out == 0) else { return vec![] };
        let of_gpu = |(gpu, calls): (usize, &Vec<SwimCall>)| {
            let timed = calls.iter().enumerate();
            let calls = timed.filter_map(|(place, kept)| Some((place, kept.span?, kept.occurrence)));
            calls.map(|(place, span, occurrence)| PathCall { gpu, place, span, occurrence }).collect::<Vec<_>>()
        };
        let calls = self.calls.iter().enumerate().flat_map(of_gpu).collect();
        let function = |call: &PathCall| Some(self.calls.get(call.gpu)?.get(call.place)?.function.text());
        let stretch = |piece: path::Piece| Stretch {
            gpu: piece.gpu,
            function: piece.call.as_ref().and_then(function),
            from_us: self.us(piece.span[0]),
            until_us: self.us(piece.span[1]),
        };
        path::critical(calls, begin).into_iter().map(stretch).collect()
    }

    fn us(&self, time: i64) -> f64 {
        (time - self.begin.unwrap_or(time)) as f64 / 1e3
    }
}
