//! NCCL's own predictions in summaries, in a sentence: the summaries have the rows.

use common::summary::{MeasuredWay, Predicted};

/// Largest number of predictions that are kept.
pub(super) const MOST: usize = 1 << 14;

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
