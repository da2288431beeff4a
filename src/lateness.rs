//! How late ranks of replayed captures arrived at their collectives, by the library's own means.

use crate::capture;
use common::arrivals::{self, Arrivals};
use common::clock_tree::{ClockTree, Link, Meeting};
use common::summary::Summary;
use std::path::{Path, PathBuf};

/// By how much the real time at a machine's boot may differ between captures of one boot, nanoseconds: it is slewed
/// meanwhile.
const ONE_BOOT: i128 = 1_000_000_000;

/// When the recording's clock stood at 0, nanoseconds of the real time.
fn boot(capture: &Path) -> Option<i128> {
    let meta = capture::read_meta(capture).ok()?;
    Some(i128::from(meta.real0) - i128::from(meta.mono0))
}

/// Adds to the summary what a job's has besides, from the arrivals that the replay of each capture has left. Of captures that
/// do not read the first one's clock, nobody knows who was late.
pub(crate) fn add(summary: &mut Summary, captures: &[PathBuf], arrivals: &[PathBuf]) {
    let first = captures.first().and_then(|capture| boot(capture));
    let one_clock = Link { parent: 0, begin: None, end: Meeting { own: 0, parents: 0, error: 0 } };
    let link = |capture: &PathBuf| {
        let apart = boot(capture)? - first?;
        (apart.abs() < ONE_BOOT).then_some(one_clock)
    };
    let links: Vec<Option<Link>> = captures.iter().map(link).collect();
    let decoded = |path: &PathBuf| std::fs::read(path).ok().and_then(|bytes| Arrivals::decode(&bytes)).unwrap_or_default();
    let arrivals: Vec<Arrivals> = arrivals.iter().map(decoded).collect();
    summary.notes.extend(arrivals::note(&arrivals));
    (summary.lateness, summary.bandwidth) =
        common::lateness::lateness(arrivals, &ClockTree::new(&links), 1.0, &summary.communicators);
}
