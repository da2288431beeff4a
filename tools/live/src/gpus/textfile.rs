//! The node's counters as a textfile for Prometheus' node_exporter.

use super::condition::ConditionStep;
use super::condition_metrics;
use super::lines::named;
use super::reader::GpuReader;
use super::sampler::{CounterStep, Device, Interval};
use common::files::NewFile;
use common::{host_name, prometheus};
use std::path::{Path, PathBuf};

/// Name, type and meaning of the metrics of a kind of device, by direction.
type Metrics = [(&'static str, &'static str, &'static str); 2];

const NVLINK: Metrics = [
    ("scorep_nccl_nvlink_sent_bytes_total", "counter", "Data that the GPU sent over NVLink, all traffic"),
    ("scorep_nccl_nvlink_received_bytes_total", "counter", "Data that the GPU received over NVLink, all traffic"),
];
const LINK: Metrics = [
    ("scorep_nccl_nvlink_link_sent_bytes_total", "counter", "Data that the GPU sent over one NVLink"),
    ("scorep_nccl_nvlink_link_received_bytes_total", "counter", "Data that the GPU received over one NVLink"),
];
const LINK_RATE: Metrics = [
    ("scorep_nccl_nvlink_link_sent_bytes_per_second", "gauge", "Rate of the GPU's data over one NVLink, by GPM"),
    ("scorep_nccl_nvlink_link_received_bytes_per_second", "gauge", "Rate of data to the GPU over one NVLink, by GPM"),
];
const PCIE: Metrics = [
    ("scorep_nccl_pcie_sent_bytes_per_second", "gauge", "Rate over PCIe from the GPU, measured for 20 ms"),
    ("scorep_nccl_pcie_received_bytes_per_second", "gauge", "Rate over PCIe to the GPU, measured for 20 ms"),
];
const ADAPTER: Metrics = [
    ("scorep_nccl_adapter_sent_bytes_total", "counter", "Bytes that the network adapter sent"),
    ("scorep_nccl_adapter_received_bytes_total", "counter", "Bytes that the network adapter received"),
];

/// The file of this node.
pub(super) struct GpusTextfile {
    path: PathBuf,
    host: String,
}

impl GpusTextfile {
    /// Names the file in a directory.
    pub(super) fn new(directory: &Path) -> Self {
        let host = String::from_utf8_lossy(&host_name::of_machine()).into_owned();
        let name = prometheus::plain(&host);
        Self { path: directory.join(format!("scorep-nccl-gpus_{name}.prom")), host }
    }

    /// Writes the counters since the first reading: the whole file or nothing.
    ///
    /// # Errors
    /// When it cannot be written, in words.
    pub(super) fn write(&self, gpus: &GpuReader, interval: &Interval) -> Result<(), String> {
        let text = text(interval, &self.host, |bus| gpus.uuid(bus));
        let written = prometheus::begun(&self.path, &text).and_then(NewFile::appear);
        written.map_err(|error| format!("{}: {error}", self.path.display()))
    }
}

fn text<'a>(interval: &Interval, host: &str, uuid: impl Fn(&str) -> Option<&'a str>) -> String {
    let of_gpu = |step: &ConditionStep| labels(&Device::Pcie(step.bus.clone()), host, &uuid);
    let mut text = condition_metrics::text(&interval.conditions, of_gpu);
    type Is = fn(&CounterStep) -> bool;
    let kinds: [(Metrics, Is); 5] = [
        (NVLINK, |row| matches!(row.device, Device::NvLink(_))),
        (LINK, |row| matches!(row.device, Device::Link(..)) && row.bytes.is_some()),
        (LINK_RATE, |row| matches!(row.device, Device::Link(..)) && row.bytes.is_none()),
        (PCIE, |row| matches!(row.device, Device::Pcie(_))),
        (ADAPTER, |row| matches!(row.device, Device::Adapter(_))),
    ];
    for (metrics, is_one) in kinds {
        let rows: Vec<&CounterStep> = interval.rows.iter().filter(|row| is_one(row)).collect();
        for (way, (name, kind, meaning)) in metrics.into_iter().enumerate() {
            if rows.is_empty() {
                continue;
            }
            prometheus::head(&mut text, name, kind, meaning);
            for row in &rows {
                let value = match row.bytes {
                    Some(bytes) => [bytes.sum.sent, bytes.sum.received][way],
                    None => [row.rate.sent, row.rate.received][way] as u64,
                };
                prometheus::line(&mut text, name, &labels(&row.device, host, &uuid), value);
            }
        }
    }
    text
}

fn labels<'a>(device: &Device, host: &str, uuid: impl Fn(&str) -> Option<&'a str>) -> String {
    let (_, name, link) = named(device);
    let mut labels = vec![("hostname", host.to_owned())];
    if let Device::Adapter(_) = device {
        labels.push(("adapter", name.to_owned()));
    } else {
        labels.extend(uuid(name).map(|uuid| ("gpu_uuid", uuid.to_owned())));
        labels.push(("gpu_pci_bus_id", name.to_owned()));
    }
    labels.extend(link.map(|link| ("link", link.to_string())));
    prometheus::labels(labels)
}
