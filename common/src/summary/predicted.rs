//! NCCL's own prediction of its collectives, beside their measured times.

use crate::figures::introductions::Introductions;
use crate::operation::size_factor;
use crate::predictions::{self, PredictedWay, Prediction};
use crate::sums::run_sums::{Shape, ShapeSum, Shapes, hexadecimal};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Collectives of one function and size for which NCCL predicts the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Communicator; `None` before NCCL 2.28, which does not pass it to a tuner.
    pub comm: Option<String>,
    /// Number of ranks of the communicator.
    pub nranks: i32,
    /// Number of nodes of the communicator.
    pub nnodes: i32,
    /// Function.
    pub func: String,
    /// Bytes of the larger buffer of a rank, summed over operations that NCCL schedules together.
    pub bytes: u64,
    /// NCCL's number of operations that follow each other on a channel.
    pub pipelined: u32,
    /// Whether NCCL could register the buffers.
    pub registered: bool,
    /// Number of algorithms with a protocol each that NCCL could choose from.
    pub candidates: u8,
    /// Algorithm of the least predicted time.
    pub algorithm: String,
    /// Its protocol.
    pub protocol: String,
    /// The least predicted time, microseconds.
    pub predicted_us: f64,
    /// What the user's tuner made of it, if it changed NCCL's choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tuner: Option<TunerChoice>,
    /// Number of times that NCCL predicted this.
    pub calls: u64,
    /// Operations of this communicator, function and size, by the way that NCCL ran them.
    pub measured: Vec<MeasuredWay>,
}

/// The choice of a user's tuner.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TunerChoice {
    /// Algorithm.
    pub algorithm: String,
    /// Protocol.
    pub protocol: String,
    /// NCCL's own prediction of it, microseconds; `None` if NCCL has none.
    pub predicted_us: Option<f64>,
    /// Number of channels that the tuner asks for; `None` if it leaves the number to NCCL.
    pub channels: Option<u8>,
}

/// Operations that NCCL ran in one way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredWay {
    /// Algorithm.
    pub algorithm: String,
    /// Protocol.
    pub protocol: String,
    /// Number of channels.
    pub channels: u8,
    /// Number of operations.
    pub count: u64,
    /// Number of operations among them that are alone in their kernels and timed by the GPU.
    pub timed: u64,
    /// Median of their times, microseconds; of several processes, the least median.
    pub median_us: Option<f64>,
    /// Least of their times, microseconds.
    pub min_us: Option<f64>,
    /// `median_us` over the predicted time, if NCCL or the user's tuner chose this algorithm and protocol.
    pub ratio: Option<f64>,
}

impl Predicted {
    /// Puts predictions beside the measured operations of this process.
    pub(super) fn all(predictions: &[(Prediction, u64)], introductions: &Introductions, shapes: &Shapes) -> Vec<Self> {
        let row = |(prediction, calls): &(Prediction, u64)| {
            let meant = shapes.iter().filter(|(shape, _)| concerns(prediction, shape, introductions));
            let measured = meant.map(|(shape, sum)| MeasuredWay::of(shape, sum)).collect();
            Self { measured, ..Self::of(prediction, *calls) }
        };
        let mut rows = predictions.iter().map(row).collect();
        merge(&mut rows);
        rows
    }

    /// Returns the predictions of this process, without measured operations, for its recording. `calls` counts those so
    /// far.
    pub fn of_process() -> Vec<Self> {
        let mut rows = predictions::all().iter().map(|(prediction, calls)| Self::of(prediction, *calls)).collect();
        merge(&mut rows);
        rows
    }

    /// Returns the row as JSON, on one line.
    pub fn json(&self) -> String {
        // numbers and names alone: never fails
        serde_json::to_string(self).unwrap_or_default()
    }

    fn of(prediction: &Prediction, calls: u64) -> Self {
        let Prediction {
            comm,
            ranks,
            nodes,
            function,
            bytes,
            pipelined,
            registered,
            candidates,
            fastest,
            chosen,
            channels,
        } = *prediction;
        Self {
            comm: comm.map(hexadecimal),
            nranks: ranks,
            nnodes: nodes,
            func: function.text(),
            bytes,
            pipelined,
            registered,
            candidates,
            algorithm: fastest.algorithm.text(),
            protocol: fastest.protocol.text(),
            predicted_us: microseconds(fastest).unwrap_or_default(),
            tuner: prediction.is_changed().then(|| TunerChoice {
                algorithm: chosen.algorithm.text(),
                protocol: chosen.protocol.text(),
                predicted_us: microseconds(chosen),
                channels: Some(channels).filter(|&channels| channels > 0),
            }),
            calls,
            measured: vec![],
        }
    }

    /// Returns the algorithm and the protocol that NCCL takes, and its predicted time, if it is known and not 0.
    pub fn choice(&self) -> (&str, &str, Option<f64>) {
        let (algorithm, protocol, us) = match &self.tuner {
            Some(tuner) => (&tuner.algorithm, &tuner.protocol, tuner.predicted_us),
            None => (&self.algorithm, &self.protocol, Some(self.predicted_us)),
        };
        (algorithm, protocol, us.filter(|&us| us > 0.0))
    }

    /// Orders rows by everything that NCCL predicts.
    fn order(&self, other: &Self) -> Ordering {
        let shape = |row: &Self| (row.nranks, row.nnodes, row.bytes, row.pipelined, row.registered, row.candidates);
        let way = |row: &Self| (row.predicted_us, row.tuner.as_ref().and_then(|tuner| tuner.predicted_us));
        let names = |row: &Self| {
            let tuner = row.tuner.as_ref().map(|of| (of.algorithm.clone(), of.protocol.clone(), of.channels));
            (row.algorithm.clone(), row.protocol.clone(), tuner)
        };
        (&self.comm, &self.func)
            .cmp(&(&other.comm, &other.func))
            .then_with(|| shape(self).cmp(&shape(other)))
            .then_with(|| names(self).cmp(&names(other)))
            .then_with(|| way(self).partial_cmp(&way(other)).unwrap_or(Ordering::Equal))
    }

    /// Adds the calls and the operations of a row of the same prediction.
    fn add(&mut self, other: &mut Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.measured.append(&mut other.measured);
    }

    /// Sums up operations of one way, and puts their times beside the prediction.
    fn compare(&mut self) {
        let way = |of: &MeasuredWay| (of.algorithm.clone(), of.protocol.clone(), of.channels);
        self.measured.sort_by_key(way);
        self.measured.dedup_by(|next, kept| {
            let is_same = way(next) == way(kept);
            if is_same {
                kept.add(next);
            }
            is_same
        });
        let (algorithm, protocol, us) = self.choice();
        let (algorithm, protocol) = (algorithm.to_owned(), protocol.to_owned());
        for measured in &mut self.measured {
            let is_chosen = (&measured.algorithm, &measured.protocol) == (&algorithm, &protocol);
            let both = measured.median_us.zip(us).filter(|_| is_chosen);
            measured.ratio = both.map(|(median, us)| thousandths(median / us));
        }
    }
}

impl MeasuredWay {
    fn of(shape: &Shape, sum: &ShapeSum) -> Self {
        let microseconds = |nanoseconds: f64| thousandths(nanoseconds / 1e3);
        Self {
            algorithm: shape.algorithm.text(),
            protocol: shape.protocol.text(),
            channels: shape.channels,
            count: sum.count,
            timed: sum.timed,
            median_us: sum.median().map(microseconds),
            min_us: sum.least().map(microseconds),
            ratio: None,
        }
    }

    fn add(&mut self, other: &Self) {
        let least = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::min);
        self.count = self.count.saturating_add(other.count);
        self.timed = self.timed.saturating_add(other.timed);
        self.median_us = least(self.median_us, other.median_us);
        self.min_us = least(self.min_us, other.min_us);
    }
}

/// Returns whether a prediction is of operations of this shape. The prediction of operations that follow each other on a
/// channel is not that of one.
fn concerns(prediction: &Prediction, shape: &Shape, introductions: &Introductions) -> bool {
    let Prediction { comm, ranks, nodes, function, bytes, pipelined, .. } = *prediction;
    let members = || introductions.0.get(&shape.comm).map(|(of, _)| (of.nranks, of.nnodes));
    let is_meant = comm.map_or_else(|| members() == Some((ranks, nodes)), |comm| comm == shape.comm);
    // the factor is 1 or the number of ranks
    let of_shape = size_factor(shape.function, ranks).map(|factor| shape.bytes.saturating_mul(factor as u64));
    is_meant && pipelined <= 1 && shape.function == function && of_shape == Some(bytes)
}

/// Sorts rows, and sums up those of one prediction, which the ranks of a communicator share.
pub(super) fn merge(rows: &mut Vec<Predicted>) {
    rows.sort_by(Predicted::order);
    rows.dedup_by(|next, kept| {
        let is_same = next.order(kept) == Ordering::Equal;
        if is_same {
            kept.add(next);
        }
        is_same
    });
    rows.iter_mut().for_each(Predicted::compare);
}

/// Returns the predicted time, if NCCL has one.
fn microseconds(way: PredictedWay) -> Option<f64> {
    Some(way.microseconds).filter(|us| us.is_finite()).map(|us| thousandths(us.into()))
}

/// Rounds to thousandths: NCCL's numbers have seven digits.
fn thousandths(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::name::NcclName;

    fn way(algorithm: &str, microseconds: f32) -> PredictedWay {
        let [algorithm, protocol] = [algorithm, "SIMPLE"].map(NcclName::of_text);
        PredictedWay { algorithm, protocol, microseconds }
    }

    fn prediction() -> Prediction {
        Prediction {
            comm: Some(7),
            ranks: 4,
            nodes: 1,
            function: NcclName::of_text("AllGather"),
            bytes: 4096,
            pipelined: 1,
            registered: false,
            candidates: 5,
            fastest: way("RING", 12.345_678),
            chosen: way("RING", 12.345_678),
            channels: 0,
        }
    }

    fn measured(algorithm: &str, median_us: f64) -> MeasuredWay {
        let (algorithm, protocol) = (algorithm.into(), "SIMPLE".into());
        let (median_us, min_us) = (Some(median_us), Some(median_us / 2.0));
        MeasuredWay { algorithm, protocol, channels: 2, count: 5, timed: 4, median_us, min_us, ratio: None }
    }

    #[test]
    fn operations_belong_to_the_prediction_of_their_communicator_and_size() {
        let [function, algorithm, protocol] = ["AllGather", "RING", "SIMPLE"].map(NcclName::of_text);
        // an all-gather's bytes are those of one rank
        let shape = Shape { comm: 7, function, bytes: 1024, algorithm, protocol, channels: 2 };
        let nobody = Introductions::default();
        let belongs = |prediction: Prediction| concerns(&prediction, &shape, &nobody);
        assert!(belongs(prediction()));
        let others = [
            Prediction { comm: Some(8), ..prediction() },
            Prediction { comm: None, ..prediction() },
            Prediction { bytes: 1024, ..prediction() },
            Prediction { pipelined: 2, ..prediction() },
            Prediction { function: NcclName::of_text("AllReduce"), bytes: 1024, ..prediction() },
        ];
        assert!(!others.into_iter().any(belongs));
    }

    #[test]
    fn ranks_of_a_prediction_are_one_row_with_the_least_median() {
        let row =
            |calls, ways: &[MeasuredWay]| Predicted { measured: ways.to_vec(), ..Predicted::of(&prediction(), calls) };
        let other = Predicted { bytes: 64, ..row(1, &[]) };
        let mut rows = vec![
            row(3, &[measured("RING", 30.0), measured("TREE", 9.0)]),
            other.clone(),
            row(2, &[measured("RING", 20.0)]),
        ];
        merge(&mut rows);
        assert_eq!((rows.len(), &rows[0], rows[1].calls), (2, &other, 5));
        let ring = MeasuredWay { count: 10, timed: 8, ratio: Some(1.62), ..measured("RING", 20.0) };
        // NCCL did not choose the tree
        assert_eq!(rows[1].measured, [ring, measured("TREE", 9.0)]);
        assert_eq!(rows[1].predicted_us, 12.346);
    }

    #[test]
    fn the_choice_is_that_of_the_users_tuner_with_nccls_own_time() {
        let of = |chosen, channels| Predicted::of(&Prediction { chosen, channels, ..prediction() }, 1);
        assert_eq!(of(way("RING", 12.345_678), 0).tuner, None);
        assert_eq!(of(way("TREE", 50.0), 0).choice(), ("TREE", "SIMPLE", Some(50.0)));
        assert_eq!(of(way("TREE", f32::NAN), 0).choice(), ("TREE", "SIMPLE", None));
        assert_eq!(of(way("RING", 12.345_678), 4).tuner.and_then(|tuner| tuner.channels), Some(4));
        let unpredicted = Predicted { predicted_us: 0.0, ..of(way("RING", 12.345_678), 0) };
        assert_eq!(unpredicted.choice().2, None, "no ratio to a time of 0");
    }
}
