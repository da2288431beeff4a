//! Series over time, under the clock as it is: what is cumulative never falls, and what was there stays, under the same
//! labels, of the same process.

use crate::job::Job;
use crate::points::{self, Labels};
use crate::receiver::{Receiver, Request};
use crate::support::tool;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{Metric, number_data_point};
use std::collections::BTreeMap;

/// Start, and what must not fall: a sum, or count, sum and buckets.
type Values = (u64, Vec<f64>);
type Series = BTreeMap<(String, Labels), Values>;

fn of_metric(metric: &Metric) -> Vec<((String, Labels), Values)> {
    let key = |attributes: &[_]| (metric.name.clone(), points::labels(attributes));
    match metric.data.as_ref().unwrap() {
        Data::Sum(sum) => {
            let row = |point: &opentelemetry_proto::tonic::metrics::v1::NumberDataPoint| {
                let Some(number_data_point::Value::AsInt(value)) = point.value else { return None };
                Some((key(&point.attributes), (point.start_time_unix_nano, vec![value as f64])))
            };
            sum.data_points.iter().map(|point| row(point).unwrap()).collect()
        }
        Data::Histogram(histogram) => {
            let row = |point: &opentelemetry_proto::tonic::metrics::v1::HistogramDataPoint| {
                let buckets = point.bucket_counts.iter().map(|&count| count as f64);
                let values = [point.count as f64, point.sum.unwrap()].into_iter().chain(buckets).collect();
                (key(&point.attributes), (point.start_time_unix_nano, values))
            };
            histogram.data_points.iter().map(row).collect()
        }
        _ => vec![],
    }
}

fn of(request: &Request) -> Series {
    request.body.resource_metrics[0].scope_metrics[0].metrics.iter().flat_map(of_metric).collect()
}

/// What a receiver would take for a start from nothing, or for somebody else's.
fn wrong(requests: &[Request]) -> Vec<String> {
    let mut wrong = Vec::new();
    for pair in requests.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(of);
        if points::resource(&pair[0]) != points::resource(&pair[1]) {
            wrong.push("the resource changes".to_owned());
        }
        for (key, (start, values)) in &before {
            match after.get(key) {
                None => wrong.push(format!("{key:?} is gone")),
                Some((other, _)) if other != start => wrong.push(format!("{key:?} starts again")),
                Some((_, later)) if later.iter().zip(values).any(|(later, before)| later < before) => {
                    wrong.push(format!("{key:?} falls from {values:?} to {later:?}"));
                }
                Some(_) => {}
            }
        }
    }
    wrong
}

#[test]
fn none_of_a_job_falls_or_goes() {
    let receiver = Receiver::good();
    // between most exports nothing happens: what is added does not hide what falls
    let job = Job::every(150, &receiver.endpoint(), &[("OTEL_METRIC_EXPORT_INTERVAL", "20")]);
    receiver.wait_for(100);
    job.end("a job whose series are looked at");
    let requests = receiver.requests();
    assert_eq!(wrong(&requests), Vec::<String>::new());
    let last = of(requests.last().unwrap());
    for name in ["nccl_profiler_collective_time", "nccl_profiler_transfer_time", "nccl_profiler_rank_bytes"] {
        assert!(last.keys().any(|(known, _)| known == name), "{name} is missing");
    }
}

/// More than have labels of their own. They are there for a short time, so it takes several runs and many exports to
/// see some that live and then do not.
#[test]
fn none_falls_or_goes_when_communicators_do() {
    for _ in 0..3 {
        let receiver = Receiver::good();
        let mut command = tool::host(env!("HOST_MEMORY_HOST"));
        command.arg(tool::library()).args(["7", "destroyed", "300"]).env("NCCL_ALLGATHERV_ENABLE", "0");
        command
            .env("NCCL_SCOREP_SETTLE_SECONDS", "0.003")
            .env("NCCL_SCOREP_OTEL", "on")
            .env("OTEL_METRIC_EXPORT_INTERVAL", "5");
        tool::succeed(command.env("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint()));
        let requests = receiver.requests();
        assert!(requests.len() > 5, "{} requests", requests.len());
        assert_eq!(wrong(&requests), Vec::<String>::new());
        let communicators =
            of(requests.last().unwrap()).into_keys().filter_map(|(_, mut labels)| labels.remove("communicator"));
        let communicators: std::collections::BTreeSet<String> = communicators.collect();
        assert!(communicators.len() == 101 && communicators.contains("others"), "{communicators:?}");
    }
}

/// Receivers make series of service and instance: no two processes may have the same.
#[test]
fn each_process_is_an_instance_of_its_own() {
    let receiver = Receiver::good();
    let mut command = tool::tool();
    command.arg("replay").arg(tool::run("nodes2x1_comms")).args(["--format", "json", "--otlp", &receiver.endpoint()]);
    tool::succeed(&mut command);
    let requests = receiver.requests();
    let instances = requests.iter().map(|request| points::resource(request)["service.instance.id"].clone());
    let instances: std::collections::BTreeSet<String> = instances.collect();
    assert_eq!(instances.len(), requests.len());
}
