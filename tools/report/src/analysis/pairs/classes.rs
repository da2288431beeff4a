//! Classes of pairs whose rates can be compared: the same way, the same kind of communicator, the same sizes.
//!
//! All pairs between nodes go the same way, and all pairs inside nodes, where the nodes have the same adapters. A rate
//! depends on the sizes of the transfers, and on how many others a sender serves meanwhile. So pairs of one class are
//! in communicators with the same numbers of ranks and nodes and the same dimension, have the same number of channels,
//! and their mean sizes and their numbers of transfers lie side by side: sorted, each is at most 1.25 times the one
//! before.

use crate::answer::{Dimension, Measure, RankPair};
use crate::job::Job;
use std::collections::{BTreeMap, BTreeSet};

/// Largest ratio of neighbours, sorted, that are alike.
const MAX_RATIO: f64 = 1.25;
/// Fewest transfers or messages of a pair that is compared: a few may all be the first ones, which take longer.
const MIN_TRANSFERS: u64 = 5;
/// Least mean bytes of a transfer or message. The time of smaller ones is latency, which differs with the way.
const MIN_MEAN_BYTES: u64 = 32 << 10;

/// The way of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PairWay {
    Inside,
    Between,
    Unknown,
}

impl PairWay {
    /// Returns the way between two GPUs.
    pub(super) fn between(job: &Job, from: Option<usize>, to: Option<usize>) -> Self {
        let node = |gpu: Option<usize>| job.gpus.get(gpu?).map(|gpu| gpu.node);
        match (node(from), node(to)) {
            (Some(one), Some(other)) if one == other => Self::Inside,
            (Some(_), Some(_)) => Self::Between,
            _ => Self::Unknown,
        }
    }

    /// Returns the name of its class.
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Inside => "same node",
            Self::Between => "between nodes",
            Self::Unknown => "other",
        }
    }
}

/// The names of the classes of a job's pairs.
pub(super) struct ClassNames {
    /// Adapters of each node for people, if nodes differ in them.
    adapters: BTreeMap<usize, String>,
}

impl ClassNames {
    pub(super) fn new(job: &Job) -> Self {
        let nodes: BTreeSet<usize> = job.gpus.iter().map(|gpu| gpu.node).collect();
        let mut adapters: BTreeMap<usize, String> = nodes.into_iter().map(|node| (node, job.adapters(node))).collect();
        let are_alike = adapters.values().collect::<BTreeSet<_>>().len() < 2;
        if are_alike {
            adapters.clear();
        }
        Self { adapters }
    }

    /// Returns the class of a pair.
    pub(super) fn class(&self, job: &Job, from: Option<usize>, to: Option<usize>) -> String {
        let way = PairWay::between(job, from, to);
        let adapters = |gpu: Option<usize>| self.adapters.get(&job.gpus.get(gpu?)?.node).map(String::as_str);
        match (way, adapters(from), adapters(to)) {
            (PairWay::Between, Some(one), Some(other)) => {
                let shown =
                    |adapters: &str| if adapters.is_empty() { "unknown".to_owned() } else { adapters.to_owned() };
                let [one, other] = [one.min(other), one.max(other)].map(shown);
                let of = if one == other { one } else { format!("{one}; {other}") };
                format!("{} ({of})", way.text())
            }
            _ => way.text().into(),
        }
    }
}

/// What all pairs of a class have in common, beside sizes and numbers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Common<'a> {
    class: &'a str,
    nranks: i32,
    nnodes: i32,
    dimension: &'a str,
    channels: u64,
    is_network: bool,
}

/// A class: places of its pairs, and the rate that they are compared by.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) pairs: Vec<usize>,
    pub(super) measure: Measure,
}

/// Returns the classes of the pairs that can be compared. Where any pair of a way has transfers over the network, those
/// of this way without are not compared. Typical rates are compared if all have one, else sustained rates.
pub(super) fn comparable(job: &Job, dimensions: &[Dimension], rows: &[RankPair]) -> Vec<Class> {
    let is_networked = |class: &str| rows.iter().any(|row| row.class == class && row.sustained.is_some());
    let mut networked: BTreeMap<&str, bool> = BTreeMap::new();
    let mut alike: BTreeMap<Common<'_>, Vec<usize>> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.class != PairWay::Unknown.text()) {
        let is_network = *networked.entry(&row.class).or_insert_with(|| is_networked(&row.class));
        let has_rate = if is_network { row.sustained.is_some() } else { row.lone.is_some() };
        let (number, bytes) = traffic(row, is_network);
        if !has_rate || number < MIN_TRANSFERS || bytes / number < MIN_MEAN_BYTES {
            continue;
        }
        let communicator = job.place(&row.comm);
        let of = communicator.and_then(|place| job.communicators.get(place));
        let dimension = communicator.and_then(|place| dimensions.get(place)).map_or("", |it| it.name.as_str());
        let (nranks, nnodes) = of.map_or((0, 0), |it| (it.nranks, it.nnodes));
        let channels = if is_network { row.channels } else { 0 };
        let common = Common { class: &row.class, nranks, nnodes, dimension, channels, is_network };
        alike.entry(common).or_default().push(place);
    }
    let mut classes = vec![];
    for (common, places) in alike {
        let traffic = |place: &usize| rows.get(*place).map_or((0, 0), |row| traffic(row, common.is_network));
        let size = |place: &usize| {
            let (number, bytes) = traffic(place);
            bytes as f64 / number.max(1) as f64
        };
        for of_size in side_by_side(places, size) {
            for pairs in side_by_side(of_size, |place| traffic(place).0 as f64) {
                let all =
                    |measure| pairs.iter().all(|place| rows.get(*place).is_some_and(|row| row.by(measure).is_some()));
                let order = [Measure::Typical, Measure::Sustained, Measure::Lone];
                let measures = order.into_iter().filter(|measure| common.is_network != (*measure == Measure::Lone));
                if let Some(measure) = measures.into_iter().find(|measure| all(*measure)) {
                    classes.push(Class { pairs, measure });
                }
            }
        }
    }
    classes
}

/// Returns the number and the bytes of a pair's transfers or messages.
fn traffic(row: &RankPair, is_network: bool) -> (u64, u64) {
    if is_network { (row.transfers, row.bytes) } else { (row.messages, row.message_bytes) }
}

/// Divides places, sorted by a figure, wherever it grows by more than [`MAX_RATIO`].
fn side_by_side(mut places: Vec<usize>, figure: impl Fn(&usize) -> f64) -> Vec<Vec<usize>> {
    places.sort_by(|one, other| figure(one).total_cmp(&figure(other)).then(one.cmp(other)));
    places.chunk_by(|one, next| figure(next) <= MAX_RATIO * figure(one)).map(<[usize]>::to_vec).collect()
}
