//! Times of transfers by state: a planted slow GPU, slow receiver, slow sender and slow network are told apart, on both
//! sides of a transfer. The shipped library replays recordings with set times.

use crate::support::{synthetic, tool};

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use synthetic::states::{Pair, capture};

/// The peers of rank 0, each with one long state.
const PAIRS: [Pair; 6] = [
    // its own GPU is slow
    Pair { peer: 1, sends: true, times: [90_000, 1_000, 9_000], polls: 0, ahead: 1 },
    // the receiver is slow, and NCCL polls
    Pair { peer: 2, sends: true, times: [1_000, 90_000, 9_000], polls: 7, ahead: 1 },
    // the network is slow
    Pair { peer: 3, sends: true, times: [1_000, 2_000, 97_000], polls: 1, ahead: 1 },
    // the sender is slow: the data come late
    Pair { peer: 4, sends: false, times: [95_000, 1_000, 4_000], polls: 0, ahead: 1 },
    // its own GPU is slow to empty the buffer
    Pair { peer: 5, sends: false, times: [5_000, 1_000, 94_000], polls: 0, ahead: 1 },
    Pair { peer: 6, sends: false, times: [5_000, 90_000, 5_000], polls: 0, ahead: 1 },
];

/// Peers of rank 0 with eight transfers posted at a time, as NCCL posts them.
const AHEAD: [Pair; 2] = [
    // the receiver takes one transfer each 10 us, and the GPU fills a buffer in 0.1 us
    Pair { peer: 1, sends: true, times: [100, 10_000, 500], polls: 3, ahead: 8 },
    // the data of one transfer come each 10 us
    Pair { peer: 2, sends: false, times: [10_000, 100, 400], polls: 0, ahead: 8 },
];

fn replay(directory: &Path) -> Command {
    replay_of(&PAIRS, directory)
}

fn replay_of(pairs: &[Pair], directory: &Path) -> Command {
    synthetic::write(directory, std::iter::once(capture(pairs)));
    let mut command = tool::tool();
    command.arg("replay").arg(directory);
    command
}

#[test]
fn each_cause_of_waiting_is_in_its_own_state() {
    let directory = tempfile::tempdir().unwrap();
    for windows in ["64", "1000000"] {
        let mut command = replay(directory.path());
        let summary = tool::summary(command.args(["--format", "json"]).env("NCCL_SCOREP_WINDOW_EVENTS", windows));
        let rows = summary["states"].as_array().unwrap();
        assert_eq!(rows.len(), PAIRS.len(), "{summary}");
        for (row, pair) in rows.iter().zip(PAIRS) {
            let [first, second, third] = pair.times.map(|time| (time * Pair::TRANSFERS) as f64 / 1e3);
            let (direction, [gpu, peer, network, flush]) = match pair.sends {
                true => ("send", [Some(first), Some(second), Some(third), None]),
                false => ("receive", [Some(third), None, Some(first), Some(second)]),
            };
            let times = ["gpu_us", "peer_us", "network_us", "flush_us"].map(|field| row[field].as_f64());
            assert_eq!(times, [gpu, peer, network, flush], "{row}");
            assert_eq!(row["queued_us"].as_f64(), Some(0.0), "{row}");
            assert_eq!(
                (&row["rank"], &row["peer"], &row["direction"]),
                (&0.into(), &pair.peer.into(), &direction.into())
            );
            let bytes = Pair::TRANSFERS * Pair::BYTES;
            assert_eq!((&row["transfers"], &row["bytes"]), (&Pair::TRANSFERS.into(), &bytes.into()));
        }
        let sends: Vec<&Pair> = PAIRS.iter().filter(|pair| pair.sends).collect();
        let on_network: u64 = sends.iter().map(|pair| pair.times[2] * Pair::TRANSFERS).sum();
        let [row] = &summary["operation_transfers"].as_array().unwrap()[..] else { unreachable!("{summary}") };
        let transfers = sends.len() as u64 * Pair::TRANSFERS;
        assert_eq!(
            (&row["func"], &row["from_bytes"], &row["operations"]),
            (&"AllReduce".into(), &2048.into(), &1.into())
        );
        assert_eq!((&row["transfers"], &row["bytes"]), (&transfers.into(), &(transfers * Pair::BYTES).into()));
        assert_eq!(row["time_us"].as_f64(), Some(on_network as f64 / 1e3));
    }
}

#[test]
fn transfers_that_are_posted_ahead_wait_behind_others_and_not_for_the_gpu() {
    let directory = tempfile::tempdir().unwrap();
    for windows in ["64", "1000000"] {
        let mut command = replay_of(&AHEAD, directory.path());
        let summary = tool::summary(command.args(["--format", "json"]).env("NCCL_SCOREP_WINDOW_EVENTS", windows));
        let [send, receive] = &summary["states"].as_array().unwrap()[..] else { unreachable!("{summary}") };
        let times = |row: &Value| {
            assert_eq!(row["transfers"], Pair::TRANSFERS, "{row}");
            ["queued_us", "gpu_us", "peer_us", "network_us", "flush_us"].map(|field| row[field].as_f64())
        };
        // The first transfer alone waits for the GPU. The 1st to the 7th behind it are posted at once, and wait in the
        // queue until 0.1 + 10 n us; each later one is posted 0.5 us after the 8th before it was sent.
        let queued = 7.0 * 0.1 + 28.0 * 10.0 + 32.0 * 69.5;
        assert_eq!(times(send), [Some(queued), Some(0.1), Some(400.0), Some(20.0), None], "{send}");
        let queued = 28.0 * 10.0 + 32.0 * 69.5;
        assert_eq!(times(receive), [Some(queued), Some(16.0), None, Some(400.0), Some(4.0)], "{receive}");
    }
    let output = tool::tool().arg("report").arg(directory.path()).args(["--part", "states"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence =
        "of the sender's time beyond the queue 0.02 % waits for its GPU, 95 % for the receiver, 4.8 % for the";
    assert!(text.contains(sentence), "{text}");
    let sentence =
        "of the receiver's time beyond the queue 95 % waits for the network and the sender, 0.95 % for the flush";
    assert!(text.contains(sentence), "{text}");
}

#[test]
fn the_tables_of_a_summary_show_the_shares() {
    let directory = tempfile::tempdir().unwrap();
    let output = replay(directory.path()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    // the table before it has the same ranks
    let text = &text[text.find("Transfers by state").unwrap()..];
    let shares = |ranks: &str| -> Vec<&str> {
        let line = text.lines().find(|line| line.contains(ranks)).unwrap_or_default();
        let cells: Vec<&str> = line.split(['│', '┆']).map(str::trim).collect();
        cells[cells.len().saturating_sub(5)..cells.len().saturating_sub(1)].to_vec()
    };
    assert_eq!(shares("0 > 1"), ["90.0", "1.0", "9.0", "-"], "{text}");
    assert_eq!(shares("0 > 2"), ["1.0", "90.0", "9.0", "-"], "{text}");
    assert_eq!(shares("4 > 0"), ["4.0", "-", "95.0", "1.0"], "{text}");
    assert_eq!(shares("5 > 0"), ["94.0", "-", "5.0", "1.0"], "{text}");
}

#[test]
fn the_report_of_recordings_and_of_summaries_says_where_a_pair_waits() {
    let directory = tempfile::tempdir().unwrap();
    let summary = directory.path().join("summary.json");
    let recordings = directory.path().join("recordings");
    std::fs::create_dir(&recordings).unwrap();
    let made = replay(&recordings).arg("--summary").arg(&summary).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let mut reports = [recordings.as_path(), &summary].map(|input| {
        let output = tool::tool().arg("report").arg(input).args(["--json", "-"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["transfers"]["known"].take()
    });
    assert_eq!(reports[0], reports[1]);
    let rows = reports[0]["states"].take();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), PAIRS.len());
    for pair in PAIRS {
        let [from, to] = if pair.sends { [0, pair.peer] } else { [pair.peer, 0] };
        let row = rows.iter().find(|row| row["rank"] == from && row["peer"] == to).unwrap();
        let [known, unknown] = if pair.sends { ["send_us", "receive_us"] } else { ["receive_us", "send_us"] };
        let times: Vec<f64> = serde_json::from_value(row[known].clone()).unwrap();
        let [first, second, third] = pair.times.map(|time| (time * Pair::TRANSFERS) as f64 / 1e3);
        assert_eq!(times, [0.0, first, second, third], "{row}");
        assert!(row[unknown].is_null(), "{row}");
    }
    let output = tool::tool().arg("report").arg(&recordings).args(["--part", "states", "transfers"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence =
        "of the sender's time beyond the queue 90 % waits for its GPU, 1.0 % for the receiver, 9.0 % for the network.";
    assert!(text.contains(sentence), "{text}");
}
