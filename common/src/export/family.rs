//! A metric as exporters show it: its name, its points and their labels.

use crate::sums::histograms::Buckets;

/// All points of one metric name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Family {
    /// Name.
    pub name: &'static str,
    /// Unit, as Mosaic writes it.
    pub unit: &'static str,
    /// One sentence.
    pub meaning: String,
    /// The points, each with other labels. Never empty.
    pub points: Vec<LabelledPoint>,
}

impl Family {
    /// Makes a family of points.
    pub(super) fn new(name: &'static str, unit: &'static str, meaning: &str, points: Vec<LabelledPoint>) -> Self {
        Self { name, unit, meaning: meaning.into(), points }
    }
}

/// Label names and values. No name occurs twice.
pub(crate) type Labels = Vec<(&'static str, String)>;

/// The value under one set of labels.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LabelledPoint {
    /// The labels.
    pub labels: Labels,
    /// The value.
    pub value: Value,
}

/// A value since the start of the process. It never falls.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// A sum.
    Sum(u64),
    /// A histogram of values.
    Histogram(Histogram),
}

/// A histogram of values.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Histogram {
    /// Sum of the values.
    pub sum: f64,
    /// Upper bounds.
    pub bounds: Vec<f64>,
    /// Numbers of values, one more than there are bounds.
    pub counts: Vec<u64>,
}

impl Histogram {
    /// Converts buckets. `unit` is the number of the buckets' units in one of the family's units.
    pub(super) fn of(buckets: &Buckets, unit: f64) -> Self {
        let bounds = buckets.bounds().iter().map(|&bound| bound as f64 / unit).collect();
        Self { sum: buckets.sum() as f64 / unit, bounds, counts: buckets.counts().to_vec() }
    }

    /// Returns the number of values.
    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}
