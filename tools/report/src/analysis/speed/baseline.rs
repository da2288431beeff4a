//! An earlier report, whose bus bandwidths may be expected again.

use crate::analysis::robust::median_of;
use crate::answer::{Communicators, Part, Speed, SpeedRow};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Dimension, numbers of ranks and nodes, function, size.
type BaselineKey = (String, i32, i32, String, [u64; 2]);

fn key(row: &SpeedRow, nnodes: i32) -> BaselineKey {
    let SpeedRow { dimension, nranks, function, from_bytes, to_bytes, .. } = row;
    (dimension.clone(), *nranks, nnodes, function.clone(), [*from_bytes, *to_bytes])
}

/// The rates of an earlier report: the median of the communicators of one dimension, number of ranks and nodes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Baseline {
    rates: BTreeMap<BaselineKey, f64>,
}

/// The parts of a report that say how fast operations are.
#[derive(Deserialize)]
struct SpeedParts {
    speed: Part<Speed>,
    communicators: Part<Communicators>,
}

impl Baseline {
    /// Reads a report's JSON.
    ///
    /// # Errors
    /// It is no report's JSON, or the report has no bus bandwidth; in words.
    pub fn of_json(text: &str) -> Result<Self, String> {
        let SpeedParts { speed, communicators } =
            serde_json::from_str(text).map_err(|error| format!("it is no report as --json writes it: {error}"))?;
        let made = communicators.known().map_or(&[][..], |communicators| &communicators.rows);
        let nodes: BTreeMap<&str, i32> = made.iter().map(|made| (made.comm.as_str(), made.nnodes)).collect();
        let mut rates: BTreeMap<BaselineKey, Vec<f64>> = BTreeMap::new();
        for row in speed.known().map_or(&[][..], |speed| &speed.rows) {
            // reports of earlier releases have the number of nodes with the communicators alone
            let nnodes = if row.nnodes > 0 { row.nnodes } else { nodes.get(row.comm.as_str()).copied().unwrap_or(0) };
            rates.entry(key(row, nnodes)).or_default().extend(row.busbw);
        }
        rates.retain(|_, rates| !rates.is_empty());
        if rates.is_empty() {
            return Err("the report has no bus bandwidth".into());
        }
        Ok(Self { rates: rates.into_iter().map(|(key, rates)| (key, median_of(rates))).collect() })
    }

    /// Lets a report expect these rates; `name` is for people. Operations that the baseline lacks expect nothing.
    pub fn add_to(&self, speed: &mut Speed, name: &str) {
        speed.baseline = Some(name.to_owned());
        for row in &mut speed.rows {
            row.expected = self.rates.get(&key(row, row.nnodes)).copied();
        }
    }
}
