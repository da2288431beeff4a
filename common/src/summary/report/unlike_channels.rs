//! Sentences about pairs of ranks whose channels differ.

use super::figure::{count, with_error};
use crate::rate::FittedLine;
use crate::summary::{Summary, Transfers};
use crate::sums::channel_fits::{ChannelFit, ChannelFits, LEAST_CHANCE, largest_of_unlike};
use std::fmt::Write;

/// Most channels that a sentence has.
const CHANNELS: usize = 4;

/// Names the pairs whose channels have different lines, those with the least chance first, at most `rows` of them; and
/// says how many pairs were compared.
pub(super) fn sentences(summary: &Summary, rows: usize) -> String {
    let compared = summary.transfers.iter().filter_map(|row| Some((row, row.channel_fits.as_ref()?)));
    let mut compared: Vec<(&Transfers, &ChannelFits)> = compared.collect();
    let Some(largest) = largest_of_unlike(compared.iter().map(|&(_, fits)| fits)) else { return String::new() };
    compared.sort_by(|(_, one), (_, other)| one.chance.total_cmp(&other.chance));
    let unlike = compared.partition_point(|(_, fits)| fits.chance <= largest);
    let mut text = String::new();
    for (row, fits) in compared.iter().take(unlike.min(rows)) {
        let Transfers { comm, rank, peer, .. } = row;
        let _ = writeln!(text, "channels of {comm} {rank} > {peer} differ, slowest first: {}", of_channels(fits));
    }
    let others = match unlike.saturating_sub(rows) {
        0 => String::new(),
        others => format!(", {} of them not named", count(others as u64)),
    };
    let _ = writeln!(
        text,
        "of {} rank pairs whose channels were compared, those of {} differ{others}; of these at most {} % are by chance, \
         on average (Benjamini-Hochberg)",
        count(compared.len() as u64),
        count(unlike as u64),
        LEAST_CHANCE * 100.0
    );
    text
}

fn of_channels(fits: &ChannelFits) -> String {
    let mut channels: Vec<&ChannelFit> = fits.apart.iter().collect();
    channels.sort_by(|one, other| one.rate_mb_s.total_cmp(&other.rate_mb_s));
    let mut parts: Vec<String> = channels.iter().take(CHANNELS).map(|channel| of_channel(channel)).collect();
    if let Some(others) = channels.len().checked_sub(CHANNELS).filter(|&others| others > 0) {
        parts.push(format!("and {others} more"));
    }
    if fits.left_out > 0 {
        parts.push(format!("{} not compared", fits.left_out));
    }
    parts.join("; ")
}

fn of_channel(&ChannelFit { channel, rate_mb_s, fit }: &ChannelFit) -> String {
    let Some(FittedLine { latency_us, latency_error_us, rate_mb_s, rate_error_mb_s, .. }) = fit else {
        return format!("channel {channel} {rate_mb_s:.0} MB/s with latency, without a fit");
    };
    let rate = with_error(Some((rate_mb_s, rate_error_mb_s)), 0);
    match latency_us {
        Some(us) => format!("channel {channel} {rate} MB/s, {} us", with_error(Some((us, latency_error_us)), 2)),
        None => format!("channel {channel} {rate} MB/s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(peer: i32, chance: f64) -> Transfers {
        let apart = [(0, 900.0), (1, 850.0), (2, 910.0), (3, 905.0), (7, 450.0)];
        let apart = apart.map(|(channel, rate_mb_s)| ChannelFit { channel, rate_mb_s, fit: None });
        let fits = ChannelFits {
            alike: chance >= LEAST_CHANCE,
            chance,
            compared: 5,
            left_out: 1,
            sizes: 3,
            merged: None,
            mean_rate_mb_s: None,
            apart: if chance < LEAST_CHANCE { apart.to_vec() } else { Vec::new() },
        };
        let row = serde_json::json!({"comm": "ab", "rank": 0, "peer": peer, "transfers": 9, "bytes": 9, "sizes": 3,
            "active_us": 1.0, "sustained_rate_mb_s": null, "typical_rate_mb_s": null, "mean_in_flight": null,
            "max_in_flight": null, "fit": null, "channel_fits": fits});
        serde_json::from_value(row).unwrap()
    }

    fn of(chances: impl IntoIterator<Item = f64>, rows: usize) -> String {
        let transfers = (1..).zip(chances).map(|(peer, chance)| pair(peer, chance)).collect();
        sentences(&Summary { transfers, ..Summary::merge(vec![]) }, rows)
    }

    #[test]
    fn the_slowest_channel_of_a_pair_is_first() {
        let text = of([0.5, 1e-6], 20);
        let named =
            "channels of ab 0 > 2 differ, slowest first: channel 7 450 MB/s with latency, without a fit; channel 1 ";
        assert!(text.starts_with(named) && text.contains("; and 1 more; 1 not compared\nof 2 rank pairs"), "{text}");
    }

    /// Of 32,000 pairs with alike channels 32 have a chance below 0.001.
    #[test]
    fn a_large_job_has_no_more_false_alarms_than_a_small_one() {
        let alike = || (0..32_000).map(|number| (f64::from(number) + 0.5) / 32_000.0);
        assert_eq!(of(alike(), 20), "");
        let text = of(alike().chain([1e-12, 1e-9]), 1);
        assert!(text.starts_with("channels of ab 0 > 32001 differ"), "{text}");
        let counted = "compared, those of 2 differ, 1 of them not named; of these at most 0.1 %";
        assert!(text.lines().count() == 2 && text.contains(counted), "{text}");
    }
}
