//! Tables about the network: speed, and pairs of ranks.

use super::super::Chapter;
use super::super::names::ReportNames;
use super::super::sentences::pair;
use super::super::sheet::ReportTable;
use super::super::units::{UNKNOWN, bytes, count, gb_s, is_resolved, number, resolved, share, sizes, time};
use report::answer::{Pairs, RankPair, Report, Speed, SpeedRow};

/// Times and rates by function, communicator and size.
pub(crate) fn speed<'a>(
    speed: &'a Speed,
    report: &'a Report,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a SpeedRow> {
    let transfer = |us: f64| resolved(us, &report.complete);
    // what is divided by a time that is not resolved is not known either
    let or_unknown = |text: String, row: &SpeedRow| {
        let is_known = row.median_us.is_none_or(|us| is_resolved(us, &report.complete));
        if is_known { text } else { UNKNOWN.into() }
    };
    let rate = move |value: f64, row: &SpeedRow| or_unknown(gb_s(value), row);
    ReportTable::new(Chapter::Speed.name(), &speed.rows)
        .column("function", "function", |row| row.function.as_str(), str::to_owned)
        .column("communicator", "communicator", |row| row.comm.as_str(), |comm| names.communicator(comm))
        .column("ranks", "ranks", |row| i64::from(row.nranks), |ranks| ranks.to_string())
        .value("dimension", |row| row.dimension.as_str())
        .column_by_row("bytes", "from_bytes", |row| row.from_bytes, |from, row| sizes(from, row.to_bytes))
        .value("to_bytes", |row| row.to_bytes)
        .column("algorithm", "algorithm", |row| row.algorithm.as_str(), str::to_owned)
        .column("protocol", "protocol", |row| row.protocol.as_str(), str::to_owned)
        .column("count", "count", |row| row.count, count)
        .column("compared", "compared", |row| row.compared, count)
        .column("min", "min_us", |row| row.min_us, transfer)
        .column("median", "median_us", |row| row.median_us, transfer)
        .column("p95", "p95_us", |row| row.p95_us, transfer)
        .column("max", "max_us", |row| row.max_us, transfer)
        .value("mean_us", |row| row.mean_us)
        .column_by_row("algbw GB/s", "algbw_gb_s", |row| row.algbw, rate)
        .column_by_row("busbw GB/s", "busbw_gb_s", |row| row.busbw, rate)
        .column("busbw of mean GB/s", "busbw_mean_gb_s", |row| row.busbw_mean, gb_s)
        .column("imbalance", "imbalance", |row| row.imbalance, number)
        .column_by_row("busiest GB/s", "busiest_gb_s", |row| row.busiest, rate)
        .column_by_row("of link", "utilisation", |row| row.utilisation, move |it, row| or_unknown(share(it), row))
        .column("forced by", "forced_by", |row| row.forced.as_deref().unwrap_or_default(), str::to_owned)
        .without([
            "compared",
            "algbw GB/s",
            "busiest GB/s",
            "imbalance",
            "max",
            "min",
            "protocol",
            "algorithm",
            "busbw of mean GB/s",
            "count",
            "ranks",
            "p95",
            "communicator",
        ])
        .without_unknown_of(|heading| heading == "forced by")
}

/// Writes a number. Zero is no figure: the pair has no traffic of this kind.
fn some(number: u64, text: impl Fn(u64) -> String) -> String {
    if number > 0 { text(number) } else { UNKNOWN.into() }
}

/// Says before z that a pair is slow, or may be.
fn judgement(row: &RankPair) -> &'static str {
    match (row.slow, row.of_late_rank) {
        (true, _) => "slow, ",
        (_, true) => "late, ",
        _ => "",
    }
}

/// The pairs: slow ones first, then by bytes.
pub(crate) fn pairs<'a>(
    pairs: &'a Pairs,
    report: &'a Report,
    names: &'a ReportNames<'a>,
) -> ReportTable<'a, &'a RankPair> {
    let size = |number| some(number, |it| bytes(it as f64));
    let mean = |us: f64, row: &RankPair| some(row.messages, |_| resolved(us / row.messages as f64, &report.complete));
    let z = |row: &RankPair| row.z.filter(|_| row.slow || row.of_late_rank).unwrap_or_default();
    let most = |row: &RankPair| row.bytes.max(row.message_bytes);
    ReportTable::new(Chapter::Pairs.name(), &pairs.rows)
        .names("pair", |row| pair(row, names))
        .column("communicator", "communicator", |row| row.comm.as_str(), |comm| names.communicator(comm))
        .value("rank", |row| i64::from(row.rank))
        .value("peer", |row| i64::from(row.peer))
        .value("from_gpu", |row| names.known(row.from?))
        .value("to_gpu", |row| names.known(row.to?))
        .column("class", "class", |row| row.class.as_str(), str::to_owned)
        .column("transfers", "transfers", |row| row.transfers, |it| some(it, count))
        .column("bytes", "bytes", |row| row.bytes, size)
        .column("sustained GB/s", "sustained_gb_s", |row| row.sustained, gb_s)
        .column("typical GB/s", "typical_gb_s", |row| row.typical, gb_s)
        .column("fitted GB/s", "fitted_gb_s", |row| row.fitted, gb_s)
        .column("latency", "latency_us", |row| row.latency_us, time)
        .column("messages", "messages", |row| row.messages, |it| some(it, count))
        .column("of bytes", "message_bytes", |row| row.message_bytes, size)
        .column_by_row("mean late sender", "late_sender_us", |row| row.late_sender_us, mean)
        .column_by_row("mean late receiver", "late_receiver_us", |row| row.late_receiver_us, mean)
        .column_by_row("z", "z", |row| row.z, |z, row| format!("{}{z:.1}", judgement(row)))
        .value("slow", |row| row.slow)
        .value("of_late_rank", |row| row.of_late_rank)
        .value("channels_alike", |row| row.channels_alike)
        .in_order(|a, b| z(a).total_cmp(&z(b)).then(most(b).cmp(&most(a))))
        .without([
            "transfers",
            "of bytes",
            "typical GB/s",
            "communicator",
            "latency",
            "messages",
            "mean late receiver",
            "mean late sender",
            "fitted GB/s",
            "class",
        ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;
    use report::answer::Part;

    #[test]
    fn forced_ways_have_a_column_where_they_are_known() {
        let mut report = sample(4);
        let shown = |report: &Report| {
            let names = ReportNames::of(report);
            let table = speed(report.speed.known().unwrap(), report, &names);
            let headings: Vec<&str> = table.headings().map(|heading| heading.text).collect();
            let cells: Vec<String> = table.rows().next().unwrap();
            let cell = headings.iter().position(|it| *it == "forced by").map(|place| cells[place].clone());
            (cell, table.sheet().columns.iter().map(|column| column.name).collect::<Vec<_>>())
        };
        assert_eq!(shown(&report).0, None);
        let Part::Known(speed) = &mut report.speed else { unreachable!() };
        speed.rows[0].forced = Some("NCCL_PROTO=LL (x)".into());
        let (cell, columns) = shown(&report);
        assert_eq!(cell.unwrap(), "NCCL_PROTO=LL (x)");
        assert!(columns.contains(&"forced_by"), "{columns:?}");
    }
}
