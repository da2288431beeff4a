//! Rate and latency of synthetic links with known values, from transfers that queue behind each other.

use crate::support::{synthetic, tool};

use serde_json::Value;
use synthetic::links::Link;

/// Returns the pair's row with this regression, and with short or long windows.
fn pair(link: Link, regression: &str, short_windows: bool) -> Value {
    let directory = tempfile::tempdir().unwrap();
    synthetic::write(directory.path(), std::iter::once(link.capture()));
    let mut command = tool::tool();
    command.arg("replay").arg(directory.path()).args(["--format", "json"]).env("NCCL_SCOREP_REGRESSION", regression);
    if short_windows {
        command.args(["--window", "0.001"]).env("NCCL_SCOREP_WINDOW_EVENTS", "64");
    }
    let summary = tool::summary(&mut command);
    let pairs = summary["transfers"].as_array().unwrap();
    assert_eq!(pairs.len(), 1, "{summary}");
    pairs[0].clone()
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap()
}

/// Returns the relative error of the fit: the larger of the rate's and the latency's.
fn off(row: &Value, link: Link) -> f64 {
    let part = |field: &str, true_value: f64| (number(&row["fit"], field) / true_value - 1.0).abs();
    part("rate_mb_s", link.rate as f64).max(part("latency_us", link.latency as f64 / 1e3))
}

const LINKS: [Link; 3] = [
    Link { latency: 5_000, rate: 10_000, depth: 8, disturbed: None },
    Link { latency: 40_000, rate: 1_000, depth: 8, disturbed: None },
    Link { latency: 2_500, rate: 25_000, depth: 8, disturbed: None },
];

#[test]
fn transfers_eight_deep_give_the_links_rate_and_latency() {
    for (number_of, link) in LINKS.into_iter().enumerate() {
        for regression in ["median", "min", "avg"] {
            let row = pair(link, regression, number_of % 2 == 0);
            assert!(off(&row, link) < 0.05, "{link:?}, {regression}: {row}");
            let deep = number(&row, "mean_in_flight") / link.depth as f64;
            assert!((deep - 1.0).abs() < 0.01 && row["max_in_flight"] == link.depth, "{row}");
            assert_eq!((&row["fit"]["n"], &row["transfers"]), (&5.into(), &(Link::CHANNELS * Link::TRANSFERS).into()));
        }
    }
}

/// The link's values do not depend on the number of queued transfers.
#[test]
fn the_depth_does_not_matter() {
    for depth in [1, 3, 16] {
        let link = Link { depth, ..LINKS[0] };
        let row = pair(link, "median", true);
        assert!(off(&row, link) < 0.001 && row["max_in_flight"] == depth, "{link:?}: {row}");
    }
}

/// Where every third transfer is delayed by a millisecond, the median still gives the link's values, and the mean does
/// not.
#[test]
fn the_median_stands_disturbances() {
    let link = Link { disturbed: Some(3), ..LINKS[0] };
    assert!(off(&pair(link, "median", false), link) < 0.05);
    let mean = pair(link, "avg", false);
    assert!(mean["fit"].is_null() || off(&mean, link) > 0.5, "{mean}");
}

/// 16 of 1,536 transfers are delayed: bytes over active time change, and the typical rate stays the link's.
#[test]
fn few_stalls_leave_the_typical_rate() {
    let stalled = Link { disturbed: Some(Link::TRANSFERS * Link::CHANNELS / 16), depth: 1, ..LINKS[0] };
    let [stalled, free] = [stalled, Link { disturbed: None, ..stalled }].map(|link| pair(link, "median", true));
    let of = |field: &str| number(&stalled, field) / number(&free, field);
    assert!((of("typical_rate_mb_s") - 1.0).abs() < 1e-3 && of("sustained_rate_mb_s") < 0.9, "{stalled} {free}");
}

/// Two channels with transfers under way all the time: the rate is bytes over that time, whatever the fit gives.
#[test]
fn the_sustained_rate_is_bytes_over_active_time() {
    for link in LINKS {
        let row = pair(link, "median", true);
        let rate = number(&row, "bytes") / number(&row, "active_us");
        assert!((number(&row, "sustained_rate_mb_s") / rate - 1.0).abs() < 1e-9, "{row}");
        assert!(rate < 2.0 * link.rate as f64 && (rate / link.rate as f64 - 1.0).abs() > 0.05, "{row}");
    }
}
