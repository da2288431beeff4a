//! The tables of the threads that progress proxy operations, and of the events of network plugins.

use super::figure::{bytes, count, number};
use super::table::{TextTable, View, others};
use crate::summary::{NetworkEvents, ProgressThreads, Summary, SummaryProcess};

/// Writes both tables. Empty where NCCL reported no such events: only on request.
pub(super) fn tables(summary: &Summary, view: &View) -> String {
    threads(summary, view) + &events(summary, view)
}

/// Returns the rank of a process by its launcher, or else its process id.
fn name(process: &SummaryProcess) -> String {
    process.origin.rank.map_or_else(|| format!("process {}", process.pid), |rank| rank.to_string())
}

fn threads(summary: &Summary, view: &View) -> String {
    let mut rows: Vec<(String, ProgressThreads)> =
        summary.processes.iter().filter_map(|process| Some((name(process), process.progress_threads?))).collect();
    if rows.is_empty() {
        return String::new();
    }
    if rows.len() > view.rows {
        rows.sort_by(|(_, one), (_, other)| other.active_us.total_cmp(&one.active_us));
    }
    let header =
        ["rank", "threads", "known s", "active %", "idle %", "asleep %", "appending %", "sleeps", "proxy operations"];
    let mut table = TextTable::new(&header, 1, &["threads", "sleeps", "appending %", "known s"]);
    for (name, row) in rows.iter().take(view.rows) {
        let known = row.known_us();
        let percent = |part: f64| number((known > 0.0).then(|| 100.0 * part / known), 1);
        table.add_row([
            name.clone(),
            count(row.threads),
            number(Some(known / 1e6), 3),
            percent(row.active_us),
            percent(row.idle_us),
            percent(row.asleep_us),
            percent(row.appending_us),
            count(row.sleeps),
            count(row.appended),
        ]);
    }
    let head = "\nThreads that progress proxy operations, by state: shares of the time whose state is known\n";
    let mut text = head.to_owned() + &table.shown(view.width);
    text += &others(rows.len(), view, " that were active for less time");
    text + "active: a pass moves proxy operations on. idle: it moves none on, and the thread polls\n\
            asleep: no proxy operation, no processor time. appending: taking over proxy operations\n"
}

fn events(summary: &Summary, view: &View) -> String {
    let of_process =
        |process: &SummaryProcess| process.network_events.iter().map(|row| (name(process), row.clone())).collect();
    let mut rows: Vec<(String, NetworkEvents)> = summary.processes.iter().flat_map::<Vec<_>, _>(of_process).collect();
    if rows.is_empty() {
        return String::new();
    }
    if rows.len() > view.rows {
        rows.sort_by_key(|(_, row)| std::cmp::Reverse((row.bytes, row.events)));
    }
    let header = ["rank", "network event", "merged device", "direction", "ends", "events", "bytes"];
    let mut table = TextTable::new(&header, 2, &["ends"]);
    for (name, row) in rows.iter().take(view.rows) {
        let absent = || "-".to_owned();
        table.add_row([
            name.clone(),
            row.kind.clone(),
            row.merged_device.map_or_else(absent, |device| device.to_string()),
            row.direction.clone().unwrap_or_else(absent),
            row.ends.map_or_else(absent, count),
            count(row.events),
            bytes(row.bytes),
        ]);
    }
    let mut text = "\nEvents of network plugins\n".to_owned() + &table.shown(view.width);
    text += &others(rows.len(), view, " with fewer bytes");
    text + "ends: queue pairs or sockets. a receive of a queue pair has no bytes\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_process_has_its_shares_and_its_devices() {
        let mut summary = Summary::of_nothing("");
        // other tests of this process have counted some
        (summary.processes[0].network_events, summary.processes[0].progress_threads) = (vec![], None);
        assert_eq!(tables(&summary, &View::default()), "");
        let process = &mut summary.processes[0];
        process.origin.rank = Some(3);
        process.progress_threads = Some(ProgressThreads {
            threads: 2,
            active_us: 250.0,
            idle_us: 125.0,
            asleep_us: 500.0,
            appending_us: 125.0,
            sleeps: 7,
            appended: 1234,
            ..ProgressThreads::default()
        });
        let row = |kind: &str, device, direction: Option<&str>, ends| NetworkEvents {
            kind: kind.into(),
            merged_device: device,
            direction: direction.map(str::to_owned),
            ends,
            events: 6,
            bytes: 2048,
        };
        process.network_events =
            vec![row("queue pair", Some(1), None, Some(4)), row("socket", None, Some("send"), None)];
        let text = tables(&summary, &View::default());
        let words = |name: &str| -> Vec<&str> {
            let line = text.lines().find(|line| line.contains(name)).unwrap_or_default();
            line.split(['│', '┆', ' ']).filter(|word| !word.is_empty()).collect()
        };
        assert_eq!(words("1,234"), ["3", "2", "0.001", "25.0", "12.5", "50.0", "12.5", "7", "1,234"]);
        assert_eq!(words(" queue pair "), ["3", "queue", "pair", "1", "-", "4", "6", "2.00", "KiB"], "{text}");
        assert_eq!(words(" socket "), ["3", "socket", "-", "send", "-", "6", "2.00", "KiB"], "{text}");
    }
}
