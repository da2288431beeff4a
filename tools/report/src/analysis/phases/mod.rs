//! Windows between phases of communication.
//!
//! A phase is consecutive calls of one dimension in the order of a GPU's host, from the first begin to the last end.
//! A call without a GPU time that is of another dimension ends the phase, and no window is next to it.

mod histogram;

use super::dimension::Dimensions;
use crate::answer::{Part, PhaseWindow, Phases};
use crate::stream::JudgedCall;
use histogram::Histogram;
use std::collections::BTreeMap;

/// A phase of a GPU.
#[derive(Debug, Clone, Copy)]
struct Phase {
    dimension: usize,
    start: i64,
    stop: i64,
    /// Whether it counts: it begins in a step after the warm-up.
    is_counted: bool,
}

/// The phases of all GPUs on their way.
#[derive(Debug)]
pub(crate) struct JobPhases {
    /// The last phase and the present one.
    gpus: Vec<[Option<Phase>; 2]>,
    by_dimensions: BTreeMap<(usize, usize), Histogram>,
}

impl JobPhases {
    pub(crate) fn new(gpus: usize) -> Self {
        Self { gpus: vec![[None; 2]; gpus], by_dimensions: BTreeMap::new() }
    }

    /// Takes in the next call of a GPU. It counts if it is in a step after the warm-up.
    pub(crate) fn call(&mut self, judged: &JudgedCall, dimension: usize, is_counted: bool) {
        let gpu = judged.call().gpu;
        let Some([_, present]) = self.gpus.get_mut(gpu) else { return };
        let next = judged.part.span.map(|[start, stop]| Phase { dimension, start, stop, is_counted });
        match (present, next) {
            (Some(present), Some(next)) if present.dimension == dimension => {
                present.start = present.start.min(next.start);
                present.stop = present.stop.max(next.stop);
            }
            (Some(present), None) if present.dimension == dimension => {}
            (_, next) => self.change(gpu, next),
        }
    }

    /// Ends the present phase and begins the next.
    fn change(&mut self, gpu: usize, next: Option<Phase>) {
        let Some([last, present]) = self.gpus.get_mut(gpu) else { return };
        if let (Some(last), Some(present)) = (&last, &present)
            && present.is_counted
        {
            let window = self.by_dimensions.entry((last.dimension, present.dimension)).or_default();
            window.add(present.start.saturating_sub(last.stop));
        }
        (*last, *present) = (*present, next);
    }

    pub(crate) fn answer(&mut self, dimensions: &Dimensions) -> Part<Phases> {
        for gpu in 0..self.gpus.len() {
            self.change(gpu, None);
        }
        if self.by_dimensions.is_empty() {
            let known = dimensions.distinct.len().saturating_sub(1);
            return Part::Absent(match known {
                0 => "no communicator's dimension is known; a file of dimensions names them".into(),
                _ => "no GPU went from one dimension to another with times of the GPU on both sides".into(),
            });
        }
        let name = |number: usize| dimensions.distinct.get(number).map(|of| of.name.clone()).unwrap_or_default();
        let window = |(&(from, to), histogram): (&(usize, usize), &Histogram)| PhaseWindow {
            from: name(from),
            to: name(to),
            count: histogram.count,
            mean_us: histogram.mean() / 1e3,
            median_us: histogram.quantile(0.5) / 1e3,
            p95_us: histogram.quantile(0.95) / 1e3,
            negative: histogram.negative(),
            bins: histogram.powers().into_iter().map(|(lower, count)| (lower / 1e3, count)).collect(),
        };
        Part::Known(Phases { windows: self.by_dimensions.iter().map(window).collect() })
    }
}
