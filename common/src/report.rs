//! The summary as tables for a person.

mod arrivals;
mod bandwidth;
mod communicators;
mod figure;
mod jobs;
mod operations;

use crate::launch::Untimed;
use crate::rate::{FEWEST_SIZES, LEAST_ERRORS, LEAST_SPAN};
use crate::summary::{Process, Summary};
use comfy_table::{CellAlignment, Table, presets};
use figure::{bytes, count, number, with_error};
use std::fmt::Write;

pub use jobs::tables_of_jobs;

/// Rows of a table that a person reads.
const MOST: usize = 20;

/// The tables: operations by function, transfers by pair of ranks, who arrives late, and what was not measured.
pub fn tables(summary: &Summary) -> String {
    let mut text = communicators::tables(summary);
    text += &operations::tables(summary);
    if summary.transfers.is_empty() {
        let _ = writeln!(
            text,
            "No transfers over the network: all ranks share a node, or NCCL told of none with their sizes (interface v4 and later do)."
        );
    } else {
        let _ = writeln!(text, "Transfers over the network, seen from the sender; {}\n{}", summary.ranks(), transfers(summary));
        if let Some(others) = summary.transfers.len().checked_sub(MOST).filter(|&others| others > 0) {
            let _ = writeln!(text, "and {} rank pairs with fewer bytes", count(others as u64));
        }
        let _ = writeln!(
            text,
            "sustained: bytes over the time with a transfer under way, on all channels together. Typical: of one connection, which is\n\
             a channel's, with every transfer served in its size's median time. Fit: service time of one connection over size; latency\n\
             and rate with their standard errors, where there are {FEWEST_SIZES} sizes that span a factor of {LEAST_SPAN} and the slope is\n\
             {LEAST_ERRORS} errors above 0. Compare fits, or typical rates of equal sizes"
        );
    }
    text += &bandwidth::tables(summary);
    text += &arrivals::tables(summary);
    let notes = notes(summary);
    if !notes.is_empty() {
        let _ = writeln!(text, "\n{}", notes.join("\n"));
    }
    text
}

fn table(header: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_FULL_CONDENSED).set_header(header);
    for column in table.column_iter_mut().skip(left) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Nothing where all were.
fn looked_at(one_in: impl Iterator<Item = u32>) -> String {
    let one_in = one_in.max().filter(|&one_in| one_in > 1);
    one_in.map_or_else(String::new, |one_in| format!("one operation in {} was looked at\n", count(one_in.into())))
}

fn transfers(summary: &Summary) -> Table {
    let header = [
        "communicator",
        "ranks",
        "transfers",
        "bytes",
        "sizes",
        "channels",
        "sustained MB/s",
        "typical MB/s",
        "in flight",
        "fit MB/s",
        "latency us",
        "R2",
    ];
    let mut table = table(&header, 2);
    let mut rows: Vec<_> = summary.transfers.iter().collect();
    if rows.len() > MOST {
        rows.sort_by_key(|row| std::cmp::Reverse(row.bytes));
    }
    for row in rows.into_iter().take(MOST) {
        table.add_row([
            row.comm.clone(),
            format!("{} > {}", row.rank, row.peer),
            count(row.transfers),
            bytes(row.bytes),
            count(row.sizes),
            count(row.channels),
            number(row.sustained_rate_mb_s, 1),
            number(row.typical_rate_mb_s, 1),
            row.mean_in_flight.zip(row.max_in_flight).map_or_else(|| "-".into(), |(mean, max)| format!("{mean:.1}, {max}")),
            with_error(row.fit.map(|fit| (fit.rate_mb_s, fit.rate_error_mb_s)), 0),
            with_error(row.fit.and_then(|fit| Some((fit.latency_us?, fit.latency_error_us))), 2),
            number(row.fit.map(|fit| fit.r2), 3),
        ]);
    }
    table
}

/// What a reader of the figures must know.
fn notes(summary: &Summary) -> Vec<String> {
    let sum = |field: fn(&Process) -> u64| summary.processes.iter().map(field).sum::<u64>();
    let all = [
        (sum(|process| process.out_of_step), "operations have GPU stamps that may be those of others, which are not used"),
        (sum(|process| process.invisible), "calls of NCCL's API were reported no further: nothing is known of what they did"),
        (sum(|process| process.unfinished), "operations never ended"),
        (
            sum(|process| process.dropped),
            "events were not recorded: the recording memory was full (NCCL_SCOREP_MEMORY_MB), or a recording lacks them",
        ),
        (sum(|process| process.unknown_events), "events were of a type that this version does not know"),
        (sum(|process| process.ignored_handles), "handles were stale, stopped or invented, and ignored"),
        (sum(|process| process.foreign_proxy_ops), "proxy operations belong to other processes (PXN) and are not followed"),
        (sum(|process| process.skipped), "operations are smaller than NCCL_SCOREP_MIN_BYTES and were skipped"),
        (sum(|process| process.orphans), "events belong to no operation that was recorded"),
    ];
    let untimed = Untimed::ALL.map(|cause| {
        let of = |process: &Process| process.untimed.get(cause.name()).copied().unwrap_or(0);
        (summary.processes.iter().map(of).sum::<u64>(), cause.meaning())
    });
    let told: std::collections::BTreeSet<&String> =
        summary.processes.iter().flat_map(|process| &process.notes).chain(&summary.notes).collect();
    let told = told.into_iter().map(|note| format!("note: {note}"));
    let notable = all.into_iter().chain(untimed).filter(|(number, _)| *number > 0);
    notable.map(|(number, text)| format!("note: {} {text}", count(number))).chain(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::Transfers;

    #[test]
    fn an_empty_summary_says_so() {
        let text = tables(&Summary::merge(vec![]));
        assert!(text.starts_with("No transfers"), "{text}");
    }

    /// A fit is of one connection among the pair's channels, while the sustained rate is of all.
    #[test]
    fn a_pair_stands_beside_the_number_of_its_channels() {
        let pair = Transfers {
            comm: "00000000000000ab".into(),
            rank: 3,
            peer: 5,
            transfers: 1000,
            bytes: 1 << 30,
            sizes: 7,
            channels: 2,
            active_us: 1e6,
            sustained_rate_mb_s: Some(1073.7),
            typical_rate_mb_s: Some(900.0),
            mean_in_flight: None,
            max_in_flight: None,
            fit: None,
        };
        let text = tables(&Summary { transfers: vec![pair], ..Summary::merge(vec![]) });
        let cells = |word: &str| {
            let line = text.lines().find(|line| line.contains(word)).unwrap();
            line.split(['│', '┆']).map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
        };
        let place = cells("communicator").iter().position(|cell| cell == "channels").unwrap();
        assert_eq!(cells("3 > 5")[place - 1..=place], ["7", "2"], "{text}");
        assert!(text.contains("there are 4 sizes that span a factor of 8 and the slope is\n3 errors above 0"), "{text}");
    }
}
