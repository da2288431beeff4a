//! The message to the endpoint: OTLP metrics, cumulative since the start of the process.

use crate::export::{Family, Histogram, LabelledPoint, Labels, ProcessIdentity, Value};
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{InstrumentationScope, KeyValue as Attribute};
use opentelemetry_proto::tonic::metrics::v1 as otlp;
use opentelemetry_proto::tonic::resource::v1::Resource as Described;
use opentelemetry_proto::transform::common::tonic::Attributes;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{
    EnvResourceDetector, ResourceDetector, SdkProvidedResourceDetector, TelemetryResourceDetector,
};
use otlp::metric::Data;
use otlp::number_data_point::Value as Number;
use std::time::{SystemTime, UNIX_EPOCH};

/// Describes the process whose figures these are, since `begun`. OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME take
/// precedence.
pub(super) fn resource(identity: &ProcessIdentity, begun: SystemTime) -> Resource {
    // receivers distinguish processes by this alone, and process ids repeat
    let instance = format!("{}-{}-{}", identity.host, identity.process_name, nanoseconds(begun));
    let told = [
        ("slurm.job.id", &identity.slurm_job),
        ("slurm.procid", &identity.slurm_task),
        ("gpu.ordinal", &identity.gpu_ordinal),
        ("gpu.uuid", &identity.gpu_uuid),
        ("gpu.pci_bus_id", &identity.gpu_bus),
    ];
    let told = told.into_iter().filter_map(|(name, value)| Some(KeyValue::new(name, value.clone()?)));
    let ours = [
        KeyValue::new("host.name", identity.host.clone()),
        KeyValue::new("process.pid", i64::from(identity.process)),
        KeyValue::new("service.instance.id", instance),
    ];
    let detectors: [Box<dyn ResourceDetector>; 3] = [
        Box::new(TelemetryResourceDetector),
        Box::new(EnvResourceDetector::new()),
        Box::new(SdkProvidedResourceDetector),
    ];
    Resource::builder_empty().with_attributes(ours.into_iter().chain(told)).with_detectors(&detectors).build()
}

/// Makes the message of all families at this time.
pub(super) fn of(
    families: &[Family],
    resource: &Resource,
    begun: SystemTime,
    now: SystemTime,
) -> ExportMetricsServiceRequest {
    let times = [nanoseconds(begun), nanoseconds(now)];
    let scope = InstrumentationScope {
        name: "scorep-nccl".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        ..InstrumentationScope::default()
    };
    let metrics = families.iter().map(|family| metric(family, times)).collect();
    let described = resource.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone()));
    let described = Described { attributes: Attributes::from(described).0, ..Described::default() };
    let all = otlp::ResourceMetrics {
        resource: Some(described),
        scope_metrics: vec![otlp::ScopeMetrics { scope: Some(scope), metrics, ..otlp::ScopeMetrics::default() }],
        ..otlp::ResourceMetrics::default()
    };
    ExportMetricsServiceRequest { resource_metrics: vec![all] }
}

fn nanoseconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).ok().and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or(0)
}

fn metric(family: &Family, times: [u64; 2]) -> otlp::Metric {
    let aggregation_temporality = otlp::AggregationTemporality::Cumulative.into();
    let of_kind = |value: fn(&Value) -> bool| family.points.iter().filter(move |point| value(&point.value));
    // all points of a family are of one kind
    let data = if of_kind(|value| matches!(value, Value::Sum(_))).next().is_some() {
        let data_points = family.points.iter().filter_map(|point| number(point, times)).collect();
        Data::Sum(otlp::Sum { data_points, aggregation_temporality, is_monotonic: true })
    } else {
        let data_points = family.points.iter().filter_map(|point| histogram(point, times)).collect();
        Data::Histogram(otlp::Histogram { data_points, aggregation_temporality })
    };
    otlp::Metric {
        name: family.name.into(),
        description: family.meaning.clone(),
        unit: family.unit.into(),
        data: Some(data),
        ..otlp::Metric::default()
    }
}

fn number(point: &LabelledPoint, [start_time_unix_nano, time_unix_nano]: [u64; 2]) -> Option<otlp::NumberDataPoint> {
    let Value::Sum(sum) = point.value else { return None };
    let value = Some(Number::AsInt(i64::try_from(sum).unwrap_or(i64::MAX)));
    let attributes = attributes(&point.labels);
    Some(otlp::NumberDataPoint {
        attributes,
        start_time_unix_nano,
        time_unix_nano,
        value,
        ..otlp::NumberDataPoint::default()
    })
}

fn histogram(
    point: &LabelledPoint,
    [start_time_unix_nano, time_unix_nano]: [u64; 2],
) -> Option<otlp::HistogramDataPoint> {
    let Value::Histogram(histogram) = &point.value else { return None };
    let Histogram { sum, bounds, counts } = histogram;
    Some(otlp::HistogramDataPoint {
        attributes: attributes(&point.labels),
        start_time_unix_nano,
        time_unix_nano,
        count: histogram.count(),
        sum: Some(*sum),
        bucket_counts: counts.clone(),
        explicit_bounds: bounds.clone(),
        ..otlp::HistogramDataPoint::default()
    })
}

fn attributes(labels: &Labels) -> Vec<Attribute> {
    Attributes::from(labels.iter().map(|(name, value)| KeyValue::new(*name, value.clone()))).0
}
