//! The points of a request, one row each, and what is wrong with a request by OTLP's own rules.

use crate::receiver::Request;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, HistogramDataPoint, Metric, number_data_point};
use std::collections::{BTreeMap, BTreeSet};

pub(crate) type Labels = BTreeMap<String, String>;

/// A point: a sum has no count.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Point {
    pub(crate) name: String,
    pub(crate) unit: String,
    pub(crate) labels: Labels,
    pub(crate) count: Option<u64>,
    pub(crate) sum: f64,
    pub(crate) bounds: Vec<f64>,
}

impl Point {
    pub(crate) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }
}

pub(crate) fn labels(attributes: &[KeyValue]) -> Labels {
    let text = |value: &Value| match value {
        Value::StringValue(text) => text.clone(),
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    let value = |attribute: &KeyValue| text(attribute.value.as_ref().unwrap().value.as_ref().unwrap());
    let made: Labels = attributes.iter().map(|attribute| (attribute.key.clone(), value(attribute))).collect();
    assert_eq!(made.len(), attributes.len(), "a label twice: {attributes:?}");
    made
}

/// Whose figures they are.
pub(crate) fn resource(request: &Request) -> Labels {
    labels(&request.body.resource_metrics[0].resource.as_ref().unwrap().attributes)
}

fn check(point: &HistogramDataPoint) {
    assert_eq!(point.bucket_counts.len(), point.explicit_bounds.len() + 1);
    assert_eq!(point.bucket_counts.iter().sum::<u64>(), point.count);
    assert!(point.explicit_bounds.is_sorted_by(|one, next| one < next) && point.count > 0);
}

fn of_metric(metric: &Metric) -> Vec<Point> {
    let cumulative = i32::from(AggregationTemporality::Cumulative);
    let row = |labels, count, sum, bounds| Point {
        name: metric.name.clone(),
        unit: metric.unit.clone(),
        labels,
        count,
        sum,
        bounds,
    };
    assert!(!metric.description.is_empty() && !metric.unit.is_empty());
    let data = metric.data.as_ref().unwrap();
    assert!(matches!(data, Data::Sum(_) | Data::Histogram(_)), "{data:?}");
    match data {
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == cumulative && !sum.data_points.is_empty());
            let of_point = |point: &opentelemetry_proto::tonic::metrics::v1::NumberDataPoint| {
                assert!(point.start_time_unix_nano > 0 && point.start_time_unix_nano <= point.time_unix_nano);
                let Some(number_data_point::Value::AsInt(value)) = point.value else { return None };
                Some(row(labels(&point.attributes), None, value as f64, vec![]))
            };
            sum.data_points.iter().map(|point| of_point(point).unwrap()).collect()
        }
        Data::Histogram(histogram) => {
            assert!(histogram.aggregation_temporality == cumulative && !histogram.data_points.is_empty());
            let of_point = |point: &HistogramDataPoint| {
                check(point);
                row(labels(&point.attributes), Some(point.count), point.sum.unwrap(), point.explicit_bounds.clone())
            };
            histogram.data_points.iter().map(of_point).collect()
        }
        _ => vec![],
    }
}

/// What Prometheus takes as it is: letters, digits and `_`, no digit first and none of its own names.
fn is_plain(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    name.bytes().all(plain) && !name.starts_with(|first: char| first.is_ascii_digit()) && !name.starts_with("__")
}

/// The series that Prometheus makes of them must have names of their own.
fn check_names(metrics: &[Metric]) {
    let mut series = BTreeSet::new();
    for metric in metrics {
        let endings: &[&str] = match metric.data {
            Some(Data::Histogram(_)) => &["", "_bucket", "_sum", "_count"],
            _ => &["", "_total"],
        };
        let made = endings.iter().map(|ending| format!("{}{ending}", metric.name));
        assert!(is_plain(&metric.name) && made.into_iter().all(|name| series.insert(name)), "{}", metric.name);
    }
}

/// All points of a request, which must be in order.
pub(crate) fn of(request: &Request) -> Vec<Point> {
    let scope = &request.body.resource_metrics[0].scope_metrics[0];
    assert_eq!(scope.scope.as_ref().unwrap().name, "scorep-nccl");
    check_names(&scope.metrics);
    let points: Vec<Point> = scope.metrics.iter().flat_map(of_metric).collect();
    let series: BTreeSet<_> = points.iter().map(|point| (&point.name, &point.labels)).collect();
    assert_eq!(series.len(), points.len(), "a label set twice");
    let mut labels = points.iter().flat_map(|point| point.labels.keys());
    assert!(labels.all(|name| is_plain(name) && !["le", "job", "instance"].contains(&name.as_str())));
    points
}
