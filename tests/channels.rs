//! The channels of a pair: those that are alike get one line, and one that differs is kept apart beside the pair's fit.

use crate::support::{synthetic, tool};

use serde_json::{Value, json};

/// Sizes of the transfers.
const SIZES: [u64; 7] = [4096, 8192, 16_384, 65_536, 131_072, 262_144, 524_288];

/// A channel.
#[derive(Debug, Clone, Copy)]
struct Channel {
    /// Nanoseconds.
    latency: f64,
    /// MB/s.
    rate: f64,
    /// Place of its first size: it has all from there on.
    first: usize,
    /// Factor of the times of sizes before [`LARGE`].
    small: f64,
}

/// Place of the first size that all channels of a pair have in the test of small operations.
const LARGE: usize = 3;

/// Returns the recording of a sender with these channels, each served one transfer after the other. The times of a size
/// scatter by 10 % to each side, by `seed`.
fn capture(seed: u64, channels: &[Channel]) -> Vec<Value> {
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
    for (channel, &Channel { latency, rate, first, small }) in channels.iter().enumerate() {
        let mut time = 1_000_000;
        handle += 1;
        let proxy = handle;
        calls.push((
            time,
            json!({"cb": "start", "ctx": 1, "h": proxy, "type": "ProxyOp", "parent": 1, "rank": 0, "pid": 77,
                "ch": channel, "peer": 1, "nsteps": 100, "chunk": 524_288, "send": 1}),
        ));
        for (number, bytes) in SIZES.into_iter().enumerate().skip(first) {
            let off = (0.9 + 0.2 * random.f64()) * if number < LARGE { small } else { 1.0 };
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
fn replayed(seed: u64, channels: &[Channel]) -> (Value, String) {
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

const LIKE: Channel = Channel { latency: 5_000.0, rate: 10_000.0, first: 0, small: 1.0 };

#[test]
fn channels_that_are_alike_have_one_line() {
    for (seed, count) in [(1, 2), (2, 2), (3, 4), (4, 8)] {
        let (row, tables) = replayed(seed, &vec![LIKE; count]);
        let fits = &row["channel_fits"];
        assert!(fits["alike"] == true && fits["chance"].as_f64().unwrap() >= 0.001, "{row}");
        assert_eq!(fits["merged"]["n"], SIZES.len() * count, "{row}");
        for fit in [&fits["merged"], &row["fit"]] {
            assert!((fit["rate_mb_s"].as_f64().unwrap() / LIKE.rate - 1.0).abs() < 0.15, "{row}");
        }
        // of all transfers together, each with its own time
        let bytes: u64 = SIZES.iter().sum();
        let time: f64 = SIZES.iter().map(|&size| LIKE.latency + size as f64 * 1000.0 / LIKE.rate).sum();
        assert!(
            (fits["mean_rate_mb_s"].as_f64().unwrap() / (bytes as f64 * 1000.0 / time) - 1.0).abs() < 0.15,
            "{row}"
        );
        assert!(fits.get("apart").is_none() && !tables.contains(" differ"), "{tables}");
    }
}

#[test]
fn a_channel_that_differs_is_kept_apart_and_named() {
    let unlike = [Channel { rate: 5_000.0, ..LIKE }, Channel { latency: 40_000.0, ..LIKE }];
    for (seed, unlike) in (5..).zip(unlike) {
        let (row, tables) = replayed(seed, &[LIKE, LIKE, unlike]);
        let fits = &row["channel_fits"];
        assert!(fits["alike"] == false && row["fit"]["n"] == SIZES.len(), "the pair keeps its fit: {row}");
        assert!(fits["merged"].is_null() && fits["mean_rate_mb_s"].is_null(), "{row}");
        for (place, Channel { rate, .. }) in [LIKE, LIKE, unlike].into_iter().enumerate() {
            let of_one = &fits["apart"][place];
            let found = of_one["fit"]["rate_mb_s"].as_f64().unwrap();
            assert!(of_one["channel"] == place && (found / rate - 1.0).abs() < 0.2, "{row}");
            assert!(of_one["rate_mb_s"].as_f64().unwrap() < found, "it has the latency in it: {row}");
        }
        assert!(tables.contains("channels of 00000000000000ab 0 > 1 differ, slowest first: channel 2 "), "{tables}");
        assert!(tables.contains("of 1 rank pairs whose channels were compared, those of 1 differ"), "{tables}");
    }
}

/// NCCL moves small operations over few channels, and the time of a byte is not the same at all sizes.
#[test]
fn channels_are_compared_at_sizes_that_all_have() {
    let [all_sizes, large] = [Channel { small: 4.0, ..LIKE }, Channel { first: LARGE, ..LIKE }];
    for (seed, channels) in (8..).zip([vec![all_sizes, all_sizes, large, large], vec![all_sizes, large]]) {
        let (row, tables) = replayed(seed, &channels);
        let fits = &row["channel_fits"];
        assert!(fits["alike"] == true && fits["sizes"] == SIZES.len() - LARGE, "{row}");
        assert!(fits["compared"] == channels.len() && fits["left_out"] == 0, "{row}");
        assert_eq!(fits["merged"]["n"], channels.len() * (SIZES.len() - LARGE), "{row}");
        assert!(!tables.contains(" differ"), "{tables}");
    }
}

#[test]
fn a_channel_of_few_sizes_hides_no_others() {
    let few = Channel { first: SIZES.len() - 2, ..LIKE };
    let slow = Channel { rate: 5_000.0, ..LIKE };
    let (row, tables) = replayed(10, &[LIKE, few, LIKE, slow]);
    let fits = &row["channel_fits"];
    assert!(fits["alike"] == false && fits["compared"] == 3 && fits["left_out"] == 1, "{row}");
    assert!(tables.contains("slowest first: channel 3 ") && tables.contains("; 1 not compared"), "{tables}");
}

#[test]
fn a_channel_alone_or_of_few_sizes_is_compared_with_none() {
    let few = Channel { first: SIZES.len() - 2, ..LIKE };
    for channels in [vec![LIKE], vec![LIKE, few]] {
        let (row, _) = replayed(7, &channels);
        assert!(row["channel_fits"].is_null() && row["fit"].is_object(), "{row}");
    }
}
