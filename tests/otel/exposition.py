"""Reads OTLP requests from files and prints them as Prometheus' text, with the names that OpenTelemetry's own exporter
for Prometheus gives: exposition.py FILE..."""

import sys

from opentelemetry.exporter.prometheus import _CustomCollector
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.sdk.metrics import export
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import CollectorRegistry, generate_latest


def labels(attributes):
    return {attribute.key: attribute.value.string_value for attribute in attributes}


def times(point):
    return point.start_time_unix_nano, point.time_unix_nano


def total(point):
    return export.NumberDataPoint(labels(point.attributes), *times(point), point.as_int)


def histogram(point):
    spread = (point.count, point.sum, list(point.bucket_counts), list(point.explicit_bounds))
    return export.HistogramDataPoint(labels(point.attributes), *times(point), *spread, min=0, max=0)


def metric(sent):
    cumulative = export.AggregationTemporality.CUMULATIVE
    if sent.HasField("sum"):
        data = export.Sum([total(point) for point in sent.sum.data_points], cumulative, sent.sum.is_monotonic)
    else:
        data = export.Histogram([histogram(point) for point in sent.histogram.data_points], cumulative)
    return export.Metric(sent.name, sent.description, sent.unit, data)


for path in sys.argv[1:]:
    with open(path, "rb") as file:
        request = ExportMetricsServiceRequest.FromString(file.read())
    metrics = [metric(sent) for sent in request.resource_metrics[0].scope_metrics[0].metrics]
    of_scope = export.ScopeMetrics(InstrumentationScope("scorep-nccl"), metrics, "")
    collector = _CustomCollector(disable_target_info=True, scope_info_enabled=False)
    collector.add_metrics_data(export.MetricsData([export.ResourceMetrics(Resource({}), [of_scope], "")]))
    registry = CollectorRegistry(auto_describe=False)
    registry.register(collector)
    if not collector._metrics_datas:  # a registry may look at a collector when it takes it
        collector.add_metrics_data(export.MetricsData([export.ResourceMetrics(Resource({}), [of_scope], "")]))
    print(generate_latest(registry).decode(), end="")
