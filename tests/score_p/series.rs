//! Series in a trace: each at a location of its own, of a communicator that the summary tells.

use std::collections::BTreeMap;

use super::experiment::Experiment;
use crate::support::installation;

/// A series' points, ticks and values.
pub(crate) type Points = Vec<(u64, f64)>;

/// All series of the trace that have points, by name.
pub(crate) fn read(experiment: &Experiment) -> BTreeMap<String, Points> {
    let text = installation::say(installation::command("otf2-print").arg(experiment.path().join("traces.otf2")));
    let mut found: BTreeMap<String, Points> = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("METRIC ") && line.contains("(\"nccl_window_")) {
        let time = line.split_whitespace().nth(2).unwrap().parse().unwrap();
        let (_, rest) = line.split_once("(\"").unwrap();
        let (name, _) = rest.split_once('"').unwrap();
        let value = rest.rsplit(' ').next().unwrap().trim_end_matches(')').parse().unwrap();
        found.entry(name.to_owned()).or_default().push((time, value));
    }
    found
}
