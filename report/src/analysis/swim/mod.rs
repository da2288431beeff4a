//! One step in detail.
//!
//! The step is known before the stream: the user's choice, or the slowest one of the survey. So its calls alone are
//! kept.

use super::dimension::Dimensions;
use super::steps::Event;
use crate::answer::{Part, Swim, SwimBar, SwimLane};
use crate::job::Job;
use crate::stream::Judged;
use std::collections::BTreeMap;

/// Most GPUs: the first ones, since neighbours have most communicators in common.
const GPUS: usize = 64;
/// Most calls of all of them.
const CALLS: usize = 20_000;

/// A call, with times on the common clock in nanoseconds.
#[derive(Debug)]
struct Kept {
    bar: SwimBar,
    enqueued: i64,
    start: i64,
    wait_until: Option<i64>,
    stop: i64,
}

/// The calls of one step.
#[derive(Debug)]
pub(crate) struct Chosen {
    /// The step, counted from 0 with the warm-up; `None` if there is none to show.
    step: Option<u64>,
    /// Calls of each GPU that are kept, by GPU.
    kept: Vec<usize>,
    most_of_gpu: usize,
    lanes: BTreeMap<(usize, usize), Vec<Kept>>,
    left_out: u64,
    /// First begin of the step on a GPU.
    begin: Option<i64>,
}

impl Chosen {
    /// Chooses a step, counted from 0 with the warm-up.
    pub(crate) fn new(gpus: usize, step: Option<u64>) -> Self {
        let most_of_gpu = CALLS / gpus.clamp(1, GPUS);
        Self { step, kept: vec![0; gpus], most_of_gpu, lanes: BTreeMap::new(), left_out: 0, begin: None }
    }

    pub(crate) fn event(&mut self, event: Event) {
        if let Event::Begin(step, at) = event
            && self.step == Some(step)
        {
            self.begin = Some(self.begin.map_or(at, |begin| begin.min(at)));
        }
    }

    /// Takes in a call of a step, counted with the warm-up. A call without a GPU time is a point at its enqueue.
    pub(crate) fn call(&mut self, judged: &Judged, step: Option<u64>) {
        if step.is_none() || step != self.step {
            return;
        }
        let (part, call) = (&judged.part, judged.call());
        let Some(kept) = self.kept.get_mut(call.gpu).filter(|kept| call.gpu < GPUS && **kept < self.most_of_gpu) else {
            self.left_out += 1;
            return;
        };
        *kept += 1;
        let [start, stop] = part.span.unwrap_or([call.enqueued; 2]);
        let bar = SwimBar {
            function: call.function.text(),
            sequence: call.sequence.map(|(sequence, _)| sequence),
            bytes: call.bytes,
            occurrence: judged.occurrence,
            enqueued_ns: call.enqueued_own,
            ..SwimBar::default()
        };
        let wait_until = part.wait.map(|wait| start.saturating_add(wait).min(stop));
        let kept = Kept { bar, enqueued: call.enqueued, start, wait_until, stop };
        self.lanes.entry((call.gpu, call.communicator)).or_default().push(kept);
    }

    /// Makes the answer. `length_us` is the step's length, `warm_up` the number of steps that are not counted.
    pub(crate) fn answer(
        self,
        job: &Job,
        dimensions: &Dimensions,
        warm_up: Option<u64>,
        length_us: Option<f64>,
    ) -> Part<Swim> {
        let Some(begin) = self.begin.filter(|_| !self.lanes.is_empty()) else {
            let number = self.step.zip(warm_up).map(|(step, warm_up)| step.saturating_sub(warm_up));
            return Part::Absent(match number {
                Some(step) => format!("there is no step {step}"),
                None => "there are no operations".into(),
            });
        };
        let us = |time: i64| (time - begin) as f64 / 1e3;
        let last = self.lanes.values().flatten().map(|kept| kept.stop).max().unwrap_or(begin);
        let lane = |((gpu, communicator), mut calls): ((usize, usize), Vec<Kept>)| {
            calls.sort_by_key(|call| call.start);
            let bar = |kept: Kept| SwimBar {
                enqueued_us: us(kept.enqueued),
                start_us: us(kept.start),
                wait_until_us: kept.wait_until.map(us),
                stop_us: us(kept.stop),
                ..kept.bar
            };
            SwimLane {
                gpu,
                comm: job.communicators.get(communicator).map(|of| format!("{:016x}", of.comm)).unwrap_or_default(),
                dimension: dimensions.at(communicator).name,
                bars: calls.into_iter().map(bar).collect(),
            }
        };
        Part::Known(Swim {
            step: self.step.zip(warm_up).map(|(step, warm_up)| step.saturating_sub(warm_up)),
            length_us: length_us.unwrap_or_else(|| us(last)),
            lanes: self.lanes.into_iter().map(lane).collect(),
            left_out: self.left_out,
        })
    }
}
