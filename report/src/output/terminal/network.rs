//! Tables about the network: speed, and pairs of ranks.

use super::super::names::ReportNames;
use super::super::sentences::{pair as pair_name, slow_communicator, slow_part};
use super::super::units::{UNKNOWN, bytes, count, known as or_unknown, number, time};
use super::cell;
use super::fitted::{TableRoom, fitted, known, prose};
use crate::answer::{RankPair, Report, SpeedRow};
use common::report::TextTable;

/// Writes times and rates by function, communicator and size.
pub(super) fn speed(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.speed, view, |speed| {
        if speed.rows.is_empty() {
            return prose("No operation was matched over its ranks.", view);
        }
        let rows = speed.rows.iter().map(|row| speed_row(row, report, &names));
        let heading = [
            "function",
            "communicator",
            "ranks",
            "bytes",
            "algorithm",
            "count",
            "min",
            "median",
            "p95",
            "max",
            "busbw GB/s",
            "busbw of mean GB/s",
            "of link",
            "imbalance",
            "busiest GB/s",
        ];
        let dispensable = [
            "busiest GB/s",
            "imbalance",
            "max",
            "min",
            "algorithm",
            "busbw of mean GB/s",
            "count",
            "ranks",
            "p95",
            "communicator",
        ];
        let text = match &speed.link {
            Some(link) => format!("The link's rate is from {link}."),
            None => "The link's rate is not known (--link-gbps).".into(),
        };
        let slow = speed.slow.iter().take(view.top).map(|slow| prose(&slow_communicator(slow, &names), view));
        prose(&text, view)
            + &slow.collect::<String>()
            + &fitted(TextTable::new(heading, 2, &dispensable), rows, view, "")
    })
}

fn speed_row(row: &SpeedRow, report: &Report, names: &ReportNames<'_>) -> [String; 15] {
    let is_resolved = row.median_us.is_none_or(|us| cell::is_resolved(us, &report.complete));
    let transfer = |us: Option<f64>| or_unknown(us, |us| cell::resolved(us, &report.complete));
    let rate = |value: Option<f64>| cell::rate(value.filter(|_| is_resolved));
    let algorithm = [row.algorithm.as_str(), &row.protocol].join(" ");
    [
        cell::name(&row.function),
        cell::name(&names.communicator(&row.comm)),
        row.nranks.to_string(),
        cell::size(row.from_bytes, row.to_bytes),
        if algorithm.trim().is_empty() { UNKNOWN.into() } else { cell::name(algorithm.trim()) },
        count(row.count),
        transfer(row.min_us),
        transfer(row.median_us),
        transfer(row.p95_us),
        transfer(row.max_us),
        rate(row.busbw),
        cell::rate(row.busbw_mean),
        cell::part(row.utilisation.filter(|_| is_resolved)),
        or_unknown(row.imbalance, number),
        rate(row.busiest),
    ]
}

/// Writes the pairs: slow ones first, then by bytes.
pub(super) fn pairs(report: &Report, view: &TableRoom) -> String {
    let names = ReportNames::of(report);
    known(&report.pairs, view, |pairs| {
        if pairs.rows.is_empty() {
            return prose("No pair of ranks has transfers or messages.", view);
        }
        let mut rows: Vec<&RankPair> = pairs.rows.iter().collect();
        let most = |pair: &RankPair| pair.bytes.max(pair.message_bytes);
        rows.sort_by(|one, other| {
            let z = |pair: &RankPair| pair.z.filter(|_| pair.slow).unwrap_or_default();
            z(one).total_cmp(&z(other)).then(most(other).cmp(&most(one)))
        });
        let rows = rows.into_iter().map(|pair| {
            let late = |us: Option<f64>| {
                let mean = us.filter(|_| pair.messages > 0).map(|us| us / pair.messages as f64);
                or_unknown(mean, |us| cell::resolved(us, &report.complete))
            };
            [
                cell::name(&pair_name(pair, &names)),
                cell::name(&names.communicator(&pair.comm)),
                cell::name(&pair.class),
                if pair.slow { "slow".into() } else { String::new() },
                or_unknown(pair.z, |z| format!("{z:.1}")),
                bytes(pair.bytes as f64),
                cell::rate(pair.sustained),
                cell::rate(pair.typical),
                cell::rate(pair.fitted),
                or_unknown(pair.latency_us, time),
                count(pair.messages),
                bytes(pair.message_bytes as f64),
                late(pair.late_sender_us),
                late(pair.late_receiver_us),
            ]
        });
        let heading = [
            "pair",
            "communicator",
            "class",
            "",
            "z",
            "bytes",
            "sustained GB/s",
            "typical GB/s",
            "fitted GB/s",
            "latency",
            "messages",
            "of bytes",
            "sender late",
            "receiver late",
        ];
        let dispensable = [
            "of bytes",
            "typical GB/s",
            "communicator",
            "latency",
            "messages",
            "receiver late",
            "sender late",
            "fitted GB/s",
            "class",
        ];
        let slow = pairs.slow.iter().take(view.top).map(|part| prose(&slow_part(part, &names), view));
        slow.collect::<String>() + &fitted(TextTable::new(heading, 4, &dispensable), rows, view, "")
    })
}
