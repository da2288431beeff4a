//! The table of NCCL's own predictions beside the measured times.

use super::figure::{bytes, count, number};
use super::table::{TextTable, View};
use crate::base::visible::visible;
use crate::summary::{MeasuredWay, Predicted, Summary};
use std::fmt::Write;

/// Writes the rows with most predicted time. Empty if NCCL has not handed its predictions over.
pub(super) fn tables(summary: &Summary, view: &View) -> String {
    if summary.predicted.is_empty() {
        return String::new();
    }
    let mut rows: Vec<(&Predicted, Option<&MeasuredWay>)> = Vec::new();
    for row in &summary.predicted {
        rows.extend(row.measured.iter().map(|way| (row, Some(way))));
        rows.extend(row.measured.is_empty().then_some((row, None)));
    }
    let predicted_us = |row: &Predicted| row.choice().2.unwrap_or_default();
    if rows.len() > view.rows {
        rows.sort_by(|(a, _), (b, _)| {
            let all_us = |row: &Predicted| row.calls as f64 * predicted_us(row);
            all_us(b).total_cmp(&all_us(a))
        });
    }
    let header = [
        "communicator",
        "function",
        "predicted as",
        "ran as",
        "ranks",
        "size",
        "calls",
        "predicted us",
        "timed",
        "median us",
        "ratio",
    ];
    let mut table = TextTable::new(&header, 4, &["timed", "calls", "ranks", "ran as", "communicator"]);
    for (row, way) in rows.iter().take(view.rows) {
        let (algorithm, protocol, us) = row.choice();
        let ran = |way: &MeasuredWay| format!("{} {}, {} ch", way.algorithm, way.protocol, way.channels);
        table.add_row([
            row.comm.as_deref().map_or_else(|| "-".into(), visible),
            visible(&row.func),
            visible(&format!("{algorithm} {protocol}")),
            way.map_or_else(|| "-".into(), |way| visible(&ran(way))),
            row.nranks.to_string(),
            bytes(row.bytes),
            count(row.calls),
            number(us, 1),
            way.map_or_else(|| "-".into(), |way| count(way.timed)),
            number(way.and_then(|way| way.median_us), 1),
            number(way.and_then(|way| way.ratio), 2),
        ]);
    }
    let mut text = format!(
        "\nNCCL's own prediction of collectives beside their time, the wait for the last rank included; {}. NCCL's model \
         is rough: compare ratios with each other, not with 1\n{}",
        summary.ranks(),
        table.shown(view.width)
    );
    if let Some(others) = rows.len().checked_sub(view.rows).filter(|&others| others > 0) {
        let _ = writeln!(text, "and {} more with less predicted time", count(others as u64));
    }
    text + &remarks(&summary.predicted)
}

/// Returns a line about choices that are not NCCL's.
fn remarks(rows: &[Predicted]) -> String {
    let calls = |are_meant: fn(&Predicted) -> bool| {
        rows.iter().filter(|row| are_meant(row)).fold(0, |sum: u64, row| sum.saturating_add(row.calls))
    };
    let mut text = String::new();
    let changed = calls(|row| row.tuner.is_some());
    if changed > 0 {
        let slower =
            |row: &Predicted| Some(row.tuner.as_ref()?.predicted_us? / row.predicted_us).filter(|x| x.is_finite());
        let most = rows.iter().filter_map(slower).reduce(f64::max);
        let most = most.map_or_else(String::new, |most| {
            format!("; by NCCL's model its choices take up to {most:.2} times as long as the fastest")
        });
        let _ = writeln!(text, "the user's tuner changed NCCL's choice in {} calls{most}", count(changed));
    }
    let forced = calls(|row| row.candidates == 1);
    if forced > 0 {
        let _ = writeln!(
            text,
            "in {} calls NCCL had nothing to choose from: NCCL_ALGO, NCCL_PROTO or the network leave one way",
            count(forced)
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::TunerChoice;

    fn row(bytes: u64) -> Predicted {
        Predicted {
            comm: Some("00000000000000ab".into()),
            nranks: 8,
            nnodes: 1,
            func: "AllReduce".into(),
            bytes,
            pipelined: 1,
            registered: false,
            candidates: 6,
            algorithm: "NVLS".into(),
            protocol: "SIMPLE".into(),
            predicted_us: 20.0,
            tuner: None,
            calls: 3,
            measured: vec![],
        }
    }

    fn shown(predicted: Vec<Predicted>) -> String {
        tables(&Summary { predicted, ..Summary::merge(vec![]) }, &View::default())
    }

    fn cells(text: &str) -> Vec<String> {
        let line = text.lines().find(|line| line.contains("AllReduce")).unwrap();
        line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()[3..12].to_vec()
    }

    #[test]
    fn a_prediction_stands_beside_the_way_that_nccl_ran() {
        assert_eq!(shown(vec![]), "");
        let way = MeasuredWay {
            algorithm: "NVLS".into(),
            protocol: "SIMPLE".into(),
            channels: 16,
            count: 9,
            timed: 7,
            median_us: Some(30.0),
            min_us: Some(25.0),
            ratio: Some(1.5),
        };
        let text = shown(vec![Predicted { measured: vec![way], ..row(1 << 20) }]);
        assert_eq!(
            cells(&text),
            ["NVLS SIMPLE", "NVLS SIMPLE, 16 ch", "8", "1.00 MiB", "3", "20.0", "7", "30.0", "1.50"]
        );
        assert!(text.ends_with("┘\n"), "{text}");
        let unmeasured = shown(vec![row(1 << 20)]);
        assert_eq!(cells(&unmeasured), ["NVLS SIMPLE", "-", "8", "1.00 MiB", "3", "20.0", "-", "-", "-"]);
    }

    #[test]
    fn choices_that_are_not_nccls_are_named() {
        let choice = |predicted_us| TunerChoice {
            algorithm: "TREE".into(),
            protocol: "LL".into(),
            predicted_us,
            channels: Some(1),
        };
        let text = shown(vec![
            Predicted { tuner: Some(choice(Some(50.0))), ..row(1) },
            Predicted { tuner: Some(choice(None)), ..row(2) },
            Predicted { candidates: 1, ..row(3) },
        ]);
        assert_eq!(cells(&text)[0], "TREE LL");
        assert!(text.contains("\nthe user's tuner changed NCCL's choice in 6 calls; by NCCL's model its choices take up to 2.50 times as long"), "{text}");
        assert!(text.contains("\nin 3 calls NCCL had nothing to choose from"), "{text}");
    }

    #[test]
    fn those_with_most_predicted_time_are_there_and_the_rest_is_counted() {
        let text = shown((1..=25).map(|n| Predicted { calls: n, ..row(n) }).collect());
        assert!(text.contains(" 25 B ") && !text.contains(" 5 B "), "{text}");
        assert!(text.contains("\nand 5 more with less predicted time\n"), "{text}");
    }
}
