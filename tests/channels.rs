//! The channels of a pair: those that are alike get one line, and one that differs is kept apart.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/synthetic/mod.rs"]
mod synthetic;
#[path = "support/tool/mod.rs"]
mod tool;

use serde_json::{Value, json};

/// Sizes of the transfers.
const SIZES: [u64; 7] = [4096, 8192, 16_384, 65_536, 131_072, 262_144, 524_288];

/// Latency (ns) and rate (MB/s) of a channel.
type ChannelLine = (f64, f64);

/// Returns the recording of a sender with these channels, each served one transfer after the other. The times of a size
/// scatter by 10 % to each side, by `seed`.
fn capture(seed: u64, channels: &[ChannelLine]) -> Vec<Value> {
    let mut random = fastrand::Rng::with_seed(seed);
    let meta =
        json!({"cb": "meta", "format": 1, "api": 5, "mask": 4095, "pid": 77, "real0": 0, "mono0": 0, "dropped": 0});
    let mut calls = vec![
        (0, json!({"cb": "init", "ctx": 1, "comm": "ab", "name": "", "nnodes": 2, "nranks": 2, "rank": 0})),
        (
            0,
            json!({"cb": "start", "ctx": 1, "h": 1, "type": "P2p", "parent": 0, "rank": 0, "func": "Send", "count": 8,
                "dtype": "ncclInt8", "peer": 1, "nch": 2}),
        ),
        (0, json!({"cb": "stop", "h": 1})),
    ];
    let mut handle = 1;
    for (channel, (latency, rate)) in channels.iter().enumerate() {
        let mut time = 1_000_000;
        handle += 1;
        let proxy = handle;
        calls.push((
            time,
            json!({"cb": "start", "ctx": 1, "h": proxy, "type": "ProxyOp", "parent": 1, "rank": 0, "pid": 77,
                "ch": channel, "peer": 1, "nsteps": 100, "chunk": 524_288, "send": 1}),
        ));
        for (number, bytes) in SIZES.into_iter().enumerate() {
            let off = 0.9 + 0.2 * random.f64();
            for repeat in 0..10 {
                handle += 1;
                let step = number * 10 + repeat;
                let start = json!({"cb": "start", "ctx": 1, "h": handle, "type": "ProxyStep", "parent": proxy,
                    "rank": 0, "step": step});
                calls.push((time, start));
                calls.push((time, json!({"cb": "state", "h": handle, "state": 9, "arg": bytes})));
                time += ((latency + bytes as f64 * 1000.0 / rate) * off) as u64;
                calls.push((time, json!({"cb": "stop", "h": handle})));
            }
        }
        calls.push((time, json!({"cb": "stop", "h": proxy})));
    }
    calls.sort_by_key(|&(time, _)| time);
    let end = calls.last().unwrap().0;
    calls.push((end, json!({"cb": "finalize", "ctx": 1})));
    let timed = calls.into_iter().map(|(time, mut call)| {
        (call["t"], call["tid"]) = (json!(time), json!(1));
        call
    });
    std::iter::once(meta).chain(timed).collect()
}

/// Returns the pair's row of the summary, and the tables.
fn replayed(seed: u64, channels: &[ChannelLine]) -> (Value, String) {
    let directory = tempfile::tempdir().unwrap();
    synthetic::write(directory.path(), std::iter::once(capture(seed, channels)));
    let printed = |format: &str| {
        let mut command = tool::tool();
        command.arg("replay").arg(directory.path()).args(["--format", format]);
        tool::succeed(&mut command)
    };
    let summary: Value = serde_json::from_str(&printed("json")).unwrap();
    (summary["transfers"][0].clone(), printed("table"))
}

const LIKE: ChannelLine = (5_000.0, 10_000.0);

#[test]
fn channels_that_are_alike_have_one_line() {
    for (seed, count) in [(1, 2), (2, 2), (3, 4), (4, 8)] {
        let (row, tables) = replayed(seed, &vec![LIKE; count]);
        let fits = &row["channel_fits"];
        assert!(fits["alike"] == true && fits["chance"].as_f64().unwrap() >= 0.001, "{row}");
        assert_eq!(fits["merged"]["n"], SIZES.len() * count, "{row}");
        for (place, truth) in [("merged", LIKE.1), ("fit", LIKE.1)] {
            let fit = if place == "fit" { &row["fit"] } else { &fits[place] };
            assert!((fit["rate_mb_s"].as_f64().unwrap() / truth - 1.0).abs() < 0.15, "{place}: {row}");
        }
        // of all transfers together, each with its own time
        let bytes: u64 = SIZES.iter().sum();
        let time: f64 = SIZES.iter().map(|&size| LIKE.0 + size as f64 * 1000.0 / LIKE.1).sum();
        assert!(
            (fits["mean_rate_mb_s"].as_f64().unwrap() / (bytes as f64 * 1000.0 / time) - 1.0).abs() < 0.15,
            "{row}"
        );
        assert!(fits.get("apart").is_none() && !tables.contains(" differ"), "{tables}");
    }
}

#[test]
fn a_channel_that_differs_is_kept_apart_and_named() {
    for (seed, unlike) in [(5, (5_000.0, 5_000.0)), (6, (40_000.0, 10_000.0))] {
        let (row, tables) = replayed(seed, &[LIKE, LIKE, unlike]);
        let fits = &row["channel_fits"];
        assert!(fits["alike"] == false && row["fit"].is_null(), "{row}");
        assert!(fits["merged"].is_null() && fits["mean_rate_mb_s"].is_null(), "{row}");
        let rate = |place: usize| fits["apart"][place]["fit"]["rate_mb_s"].as_f64().unwrap();
        for (place, (_, truth)) in [LIKE, LIKE, unlike].into_iter().enumerate() {
            assert_eq!(fits["apart"][place]["channel"], place, "{row}");
            assert!((rate(place) / truth - 1.0).abs() < 0.2, "{row}");
        }
        assert!(tables.contains("channels of 00000000000000ab 0 > 1 differ"), "{tables}");
    }
}

#[test]
fn a_channel_alone_or_of_few_sizes_is_compared_with_none() {
    let (row, _) = replayed(7, &[LIKE]);
    assert!(row["channel_fits"].is_null() && row["fit"].is_object(), "{row}");
}
