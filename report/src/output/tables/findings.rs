//! The table of a watch's findings.

use super::super::Chapter;
use super::super::sheet::ReportTable;
use super::super::units::{UNKNOWN, gb_s, known, share, time};
use crate::answer::{ReportedFinding, WatchFindings};

/// Characters of a time up to its seconds.
const TO_SECONDS: usize = "2026-11-28T02:46:24".len();

/// The findings, in the order of their times.
pub(in crate::output) fn findings(findings: &WatchFindings) -> ReportTable<'_, &ReportedFinding> {
    let own = |text: &str| if text.is_empty() { UNKNOWN.into() } else { text.to_owned() };
    ReportTable::new(Chapter::Findings.name(), &findings.rows)
        .names("since (UTC)", |row| known(row.begin(), moment))
        .value("since", |row| row.since.as_deref())
        .column("found", "found", |row| row.found.as_deref(), moment)
        .column("until", "until", |row| row.until.as_deref(), moment)
        .column("kind", "kind", |row| row.kind.as_str(), str::to_owned)
        .column("ranks", "ranks", |row| row.who.as_str(), own)
        .column("hosts", "hosts", |row| row.hosts.as_str(), own)
        .value("lasts", |row| row.lasts)
        .value("job", |row| row.job.as_deref())
        .value("communicator", |row| row.communicator.as_deref())
        .value("collective", |row| row.collective)
        .column("excess", "excess_us", |row| row.excess_us, time)
        .column("of window", "share", |row| row.share, share)
        .value("window_us", |row| row.window_us)
        .column("gain at most", "gain_at_most", |row| row.gain_at_most, share)
        .column("z", "z", |row| row.z, |z| format!("{z:.1}"))
        .column("GB/s", "rate_gb_s", |row| row.rate_gb_s, gb_s)
        .column("usual GB/s", "usual_gb_s", |row| row.usual_gb_s, gb_s)
        .value("lines", |row| row.lines)
        .value("text", |row| row.text.as_str())
        .without(["found", "z", "gain at most", "usual GB/s", "GB/s", "hosts", "of window", "until"])
}

/// Returns a time to its second.
fn moment(time: &str) -> String {
    let seconds = time.get(..TO_SECONDS).filter(|_| time.is_ascii());
    seconds.map_or_else(|| time.to_owned(), |seconds| seconds.replacen('T', " ", 1))
}
