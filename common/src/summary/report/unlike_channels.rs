//! Sentences about pairs of ranks whose channels differ.

use super::figure::with_error;
use crate::rate::FittedLine;
use crate::summary::{Summary, Transfers};
use crate::sums::channel_fits::{ChannelFit, LEAST_CHANCE};
use std::fmt::Write;

/// Most channels that a sentence has.
const CHANNELS: usize = 4;

/// Names the pairs whose channels have different lines, at most `rows` of them.
pub(super) fn sentences(summary: &Summary, rows: usize) -> String {
    let apart = |row: &Transfers| row.channel_fits.as_ref().is_some_and(|fits| !fits.alike);
    let unlike: Vec<&Transfers> = summary.transfers.iter().filter(|row| apart(row)).collect();
    let mut text = String::new();
    for row in unlike.iter().take(rows) {
        let Some(fits) = &row.channel_fits else { continue };
        let channels: Vec<String> = fits.apart.iter().take(CHANNELS).map(of_channel).collect();
        let more = if fits.apart.len() > CHANNELS { "; and others" } else { "" };
        let _ = writeln!(
            text,
            "channels of {} {} > {} differ (alike ones do so by chance in less than {LEAST_CHANCE} of cases), so it has no \
             fit: {}{more}",
            row.comm,
            row.rank,
            row.peer,
            channels.join("; ")
        );
    }
    if let Some(others) = unlike.len().checked_sub(rows).filter(|&others| others > 0) {
        let _ = writeln!(text, "channels of {others} further rank pairs differ");
    }
    text
}

fn of_channel(&ChannelFit { channel, fit }: &ChannelFit) -> String {
    let Some(FittedLine { latency_us, latency_error_us, rate_mb_s, rate_error_mb_s, .. }) = fit else {
        return format!("channel {channel} has no fit");
    };
    let rate = with_error(Some((rate_mb_s, rate_error_mb_s)), 0);
    match latency_us {
        Some(us) => format!("channel {channel} {rate} MB/s, {} us", with_error(Some((us, latency_error_us)), 2)),
        None => format!("channel {channel} {rate} MB/s"),
    }
}
