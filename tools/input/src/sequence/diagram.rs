//! The diagram: its heading, its lanes and its arrows, for any form of output.

use super::arrow::SequenceArrow;
use super::chosen::ChosenEvent;
use super::threads::ThreadRoles;
use std::collections::BTreeSet;

/// Name of the lane that all arrows lead to.
pub(super) const PLUGIN: &str = "plugin";

/// A row of the diagram.
#[derive(Debug)]
pub(super) struct DiagramRow {
    /// Microseconds since the diagram's first callback.
    pub(super) us: f64,
    /// Place of the calling thread among the lanes.
    pub(super) lane: usize,
    /// How deep the event lies below the outermost one.
    pub(super) depth: usize,
    pub(super) text: String,
}

/// A sequence diagram. The last lane is the plugin's.
#[derive(Debug)]
pub(super) struct SequenceDiagram {
    /// Lines above the diagram.
    pub(super) heading: Vec<String>,
    /// Short and long names of the lanes.
    pub(super) lanes: Vec<(String, String)>,
    pub(super) rows: Vec<DiagramRow>,
}

impl SequenceDiagram {
    /// `arrows` are in the order of their times.
    pub(super) fn new(chosen: &ChosenEvent, arrows: Vec<SequenceArrow>, roles: &ThreadRoles) -> Self {
        let threads: BTreeSet<u32> = arrows.iter().map(|arrow| arrow.key.thread).collect();
        let mut threads: Vec<u32> = threads.into_iter().collect();
        threads.sort_by_key(|&thread| (roles.of(thread), thread));
        let zero = arrows.first().map_or(0, |arrow| arrow.first);
        let us = |time: u64| time.saturating_sub(zero) as f64 / 1e3;
        let rows = arrows.into_iter().map(|arrow| {
            let mut text = arrow.text();
            if arrow.count > 1 {
                text += &format!(" (x {}, last at {:.1})", arrow.count, us(arrow.last));
            }
            let lane = threads.iter().position(|&thread| thread == arrow.key.thread).unwrap_or_default();
            DiagramRow { us: us(arrow.first), lane, depth: arrow.depth(), text }
        });
        let rows = rows.collect();
        let mut lanes: Vec<(String, String)> = threads
            .iter()
            .map(|&thread| (format!("T{thread}"), format!("thread {thread}: {}", roles.of(thread).text())))
            .collect();
        lanes.push((PLUGIN.into(), String::new()));
        Self { heading: heading(chosen), lanes, rows }
    }
}

fn heading(chosen: &ChosenEvent) -> Vec<String> {
    let mut first = chosen.name.clone();
    if let Some(of) = chosen.of {
        first += &format!(", rank {} of communicator {:016x}", of.rank, of.comm);
    }
    first += &format!(" (h {})", chosen.handle);
    let mut lines = vec![first];
    if !chosen.arguments.is_empty() {
        lines.push(chosen.arguments.clone());
    }
    if chosen.other_count > 0 {
        let named: Vec<String> = chosen.others.iter().map(u64::to_string).collect();
        let more = if chosen.other_count > named.len() as u64 { " and others" } else { "" };
        let have = if chosen.other_count == 1 { "operation has" } else { "operations have" };
        lines.push(format!(
            "{} further {have} this number; --sequence shows one by its h: {}{more}",
            chosen.other_count,
            named.join(", ")
        ));
    }
    lines
}
