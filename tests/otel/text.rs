//! Prometheus' text format read back: the points of a file, and what is wrong with it.

use crate::points::{Labels, Point};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A line with a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Line {
    pub(crate) name: String,
    pub(crate) labels: Labels,
    pub(crate) value: f64,
}

/// All lines with values.
pub(crate) fn lines(text: &str) -> Vec<Line> {
    text.lines().filter(|line| !line.starts_with('#')).map(line).collect()
}

/// Label values here hold neither braces nor commas; that they are escaped is tested where they are written.
fn line(line: &str) -> Line {
    let (name, rest) = line.split_once('{').unwrap();
    let (labels, value) = rest.split_once("} ").unwrap();
    let label = |label: &str| {
        let (name, value) = label.split_once('=').unwrap();
        (name.to_owned(), value.strip_prefix('"').unwrap().strip_suffix('"').unwrap().to_owned())
    };
    let made: Labels = labels.split(',').map(label).collect();
    assert_eq!(made.len(), labels.split(',').count(), "a label twice: {line}");
    // nothing may stand behind the value: node_exporter takes no times
    Line { name: name.to_owned(), labels: made, value: value.parse().unwrap() }
}

/// All points, with the file's names.
pub(crate) fn points(path: &Path) -> Vec<Point> {
    let text = std::fs::read_to_string(path).unwrap();
    let kind = |line: &str| {
        line.strip_prefix("# TYPE ").map(|rest| rest.split_once(' ').unwrap()).map(|(n, k)| (n.into(), k.into()))
    };
    let kinds: BTreeMap<String, String> = text.lines().filter_map(kind).collect();
    assert_eq!(kinds.len(), text.matches("# TYPE ").count(), "a name twice: {}", path.display());
    assert_eq!(kinds.len(), text.matches("# HELP ").count());
    let lines = lines(&text);
    let series: BTreeSet<String> = lines.iter().map(|line| format!("{}{:?}", line.name, line.labels)).collect();
    assert_eq!(series.len(), lines.len(), "a series twice: {}", path.display());
    let (mut points, mut histograms) = (Vec::new(), BTreeMap::<(String, Labels), Vec<(f64, f64)>>::new());
    for Line { name, mut labels, value } in lines {
        assert!(!labels["process"].is_empty());
        let row = |name: &str, labels, count| Point {
            name: name.into(),
            unit: String::new(),
            labels,
            count,
            sum: value,
            bounds: vec![],
        };
        let of = |ending: &str| {
            name.strip_suffix(ending).filter(|name| kinds.get(*name).is_some_and(|kind| kind == "histogram"))
        };
        if let Some(name) = of("_bucket") {
            let bound = labels.remove("le").unwrap().replace("+Inf", "inf").parse().unwrap();
            histograms.entry((name.into(), labels)).or_default().push((bound, value));
        } else if let Some(name) = of("_sum") {
            points.push(row(name, labels, Some(0)));
        } else if let Some(name) = of("_count") {
            let buckets = histograms.remove(&(name.to_owned(), labels.clone())).unwrap();
            assert!(buckets.is_sorted_by(|one, next| one.0 < next.0 && one.1 <= next.1), "{name}: {buckets:?}");
            assert_eq!(buckets.last(), Some(&(f64::INFINITY, value)), "{name}");
            let sum = points.last_mut().filter(|sum| sum.name == name && sum.labels == labels).unwrap();
            sum.count = Some(value as u64);
            sum.bounds = buckets.iter().map(|(bound, _)| *bound).filter(|bound| bound.is_finite()).collect();
        } else {
            assert!(kinds[&name] == if name.ends_with("_info") { "gauge" } else { "counter" }, "{name}");
            points.push(row(&name, labels, None));
        }
    }
    assert!(histograms.is_empty(), "buckets without a count: {histograms:?}");
    points
}
