//! NCCL's own predictions in summaries, in a sentence, and as rows of speed.

use crate::analysis::speed::Ran;
use crate::answer::SpeedRow;
use crate::job::Job;
use common::name::NcclName;
use common::operation::size_factor;
use common::summary::{MeasuredWay, Predicted};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// A row of speed, and how its operations ran.
pub(super) struct PredictedRow {
    pub(super) row: SpeedRow,
    pub(super) ran: Ran,
}

/// Returns a row for each size, algorithm and protocol that ran of a function and communicator with predictions. Of
/// several predictions for one size, the most frequent counts.
pub(super) fn rows(predicted: &[Predicted], job: &Job) -> Vec<PredictedRow> {
    let mut ordered: Vec<&Predicted> = predicted.iter().filter(|of| !of.measured.is_empty()).collect();
    ordered.sort_by_key(|of| Reverse(of.calls));
    let mut rows: BTreeMap<(String, &str, u64, &str, &str), PredictedRow> = BTreeMap::new();
    for of in ordered {
        let comm = comm(of, job);
        let mut ways: BTreeMap<(&str, &str), Vec<&MeasuredWay>> = BTreeMap::new();
        of.measured.iter().for_each(|it| ways.entry((&it.algorithm, &it.protocol)).or_default().push(it));
        for ((algorithm, protocol), ways) in ways {
            let key = (comm.clone(), of.func.as_str(), of.bytes, algorithm, protocol);
            rows.entry(key).or_insert_with(|| row(of, comm.clone(), &ways));
        }
    }
    rows.into_values().collect()
}

/// Returns the communicator of a prediction: without an id, the only one of its shape, and zeros for several.
fn comm(of: &Predicted, job: &Job) -> String {
    let named = of.comm.clone();
    named.unwrap_or_else(|| {
        let is_alike = |it: &&crate::job::Communicator| (it.nranks, it.nnodes) == (of.nranks, of.nnodes);
        let mut alike = job.communicators.iter().filter(is_alike);
        let only = alike.next().filter(|_| alike.next().is_none());
        format!("{:016x}", only.map_or(0, |it| it.comm))
    })
}

/// Makes a row of the ways that differ in their channels alone. The median is that of the way with most timed operations.
fn row(of: &Predicted, comm: String, ways: &[&MeasuredWay]) -> PredictedRow {
    let most = ways.iter().max_by_key(|way| way.timed);
    let sum = |count: fn(&MeasuredWay) -> u64| ways.iter().map(|way| count(way)).fold(0, u64::saturating_add);
    let factor = size_factor(NcclName::of_text(&of.func), of.nranks).filter(|&factor| factor >= 1.0).unwrap_or(1.0);
    let bytes = (of.bytes as f64 / factor) as u64;
    let [algorithm, protocol] = most.map_or([""; 2], |way| [way.algorithm.as_str(), &way.protocol]);
    let (chosen_algorithm, chosen_protocol, us) = of.choice();
    let is_chosen = (algorithm, protocol) == (chosen_algorithm, chosen_protocol);
    let of_fastest = of.tuner.as_ref().and_then(|tuner| tuner.predicted_us).map(|us| us / of.predicted_us);
    PredictedRow {
        ran: Ran {
            channels: ways.iter().map(|way| way.channels).max().unwrap_or(0),
            // timed are those that are alone in their kernels; of others nothing is known
            are_alone: ways.iter().all(|way| way.timed == way.count),
            of_fastest: of_fastest.filter(|ratio| ratio.is_finite() && is_chosen),
        },
        row: SpeedRow {
            function: of.func.clone(),
            comm,
            nranks: of.nranks,
            nnodes: of.nnodes,
            from_bytes: bytes,
            to_bytes: bytes,
            algorithm: algorithm.to_owned(),
            protocol: protocol.to_owned(),
            count: sum(|way| way.count),
            compared: sum(|way| way.timed),
            min_us: ways.iter().filter_map(|way| way.min_us).reduce(f64::min),
            median_us: most.and_then(|way| way.median_us),
            predicted_us: us.filter(|_| is_chosen),
            of_predicted: most.and_then(|way| way.ratio),
            ..SpeedRow::default()
        },
    }
}

/// Returns how the measured times compare with NCCL's predictions, if the summaries have predictions. `is_cut` says that
/// they have more.
pub(super) fn sentence(rows: &[Predicted], is_cut: bool) -> Option<String> {
    if rows.is_empty() {
        return None;
    }
    let mut compared: Vec<(f64, &Predicted, &MeasuredWay)> = rows
        .iter()
        .flat_map(|row| row.measured.iter().filter_map(move |way| Some((way.ratio?, row, way))))
        .filter(|(ratio, ..)| ratio.is_finite())
        .collect();
    compared.sort_by(|a, b| a.0.total_cmp(&b.0));
    let median = compared.get(compared.len() / 2).map(|(ratio, ..)| *ratio);
    let kinds = |count: usize| match count {
        1 => "one kind of collectives".to_owned(),
        _ => format!("{count} kinds of collectives"),
    };
    let more = if is_cut { ", of more in the summaries" } else { "" };
    Some(match (median, compared.last()) {
        (Some(median), Some((most, row, way))) => format!(
            "NCCL's own model, which is rough, predicts the times of {}{more}: the measured medians are {median:.2} times \
             as long in the middle, and at most {most:.2} times ({} of {} bytes among {} ranks, by {} with {} on {} \
             channels). `predicted` of the summaries has all.",
            kinds(compared.len()),
            row.func,
            row.bytes,
            row.nranks,
            way.algorithm,
            way.protocol,
            way.channels
        ),
        _ => format!(
            "NCCL's own model predicts the times of {}{more}, none of which the GPU has timed alone. `predicted` of the \
             summaries has them.",
            kinds(rows.len())
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(bytes: u64, ratios: &[f64]) -> Predicted {
        let way = |&ratio: &f64| MeasuredWay {
            algorithm: "RING".into(),
            protocol: "LL".into(),
            channels: 2,
            count: 9,
            timed: 9,
            median_us: Some(10.0 * ratio),
            min_us: None,
            ratio: Some(ratio),
        };
        Predicted {
            comm: None,
            nranks: 8,
            nnodes: 1,
            func: "AllReduce".into(),
            bytes,
            pipelined: 1,
            registered: false,
            candidates: 3,
            algorithm: "RING".into(),
            protocol: "LL".into(),
            predicted_us: 10.0,
            tuner: None,
            calls: 9,
            measured: ratios.iter().map(way).collect(),
        }
    }

    #[test]
    fn the_middle_and_the_most_are_named() {
        assert_eq!(sentence(&[], false), None);
        let text = sentence(&[row(64, &[1.5]), row(4096, &[3.25]), row(128, &[1.0])], false).unwrap();
        assert!(text.contains("of 3 kinds of collectives: the measured medians are 1.50 times"), "{text}");
        assert!(
            text.contains("at most 3.25 times (AllReduce of 4096 bytes among 8 ranks, by RING with LL on 2"),
            "{text}"
        );
        let untimed = sentence(&[row(64, &[]), row(8, &[])], true).unwrap();
        assert!(untimed.contains("of 2 kinds of collectives, of more in the summaries, none of which"), "{untimed}");
    }
}
