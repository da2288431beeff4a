//! The metrics of NVLink and of network adapters: the machine's counters, and beside them the bytes that NCCL's
//! operations should have moved.

use super::family::{Family, LabelledPoint, Labels, Value};
use crate::hardware::Ways;
use crate::nvlink::{NvlinkReading, by_gpu};
use crate::sums::run_sums::OverNvlink;

/// Labels of a process that name its GPU. Each GPU here has its own.
const OF_GPU: [&str; 2] = ["gpu_uuid", "gpu_pci_bus_id"];

/// A pair of families, by direction.
struct DirectionFamilies([Family; 2]);

impl DirectionFamilies {
    fn new([sent, received]: [(&'static str, &str); 2]) -> Self {
        let family = |(name, meaning): (&'static str, &str)| Family::new(name, "bytes", meaning, vec![]);
        Self([family(sent), family(received)])
    }

    fn add(&mut self, labels: &Labels, bytes: Ways<u64>) {
        for (family, bytes) in self.0.iter_mut().zip([bytes.sent, bytes.received]) {
            family.points.push(LabelledPoint { labels: labels.clone(), value: Value::Sum(bytes) });
        }
    }
}

/// Makes the families that have a point. `of_process` are the labels that every point has.
pub(super) fn families(reading: NvlinkReading, moved: &OverNvlink, of_process: &Labels) -> Vec<Family> {
    let mut counted = DirectionFamilies::new([
        ("nccl_nvlink_sent_bytes", "Data that the GPU sent over NVLink, all traffic of all processes, by NVML"),
        ("nccl_nvlink_received_bytes", "Data that the GPU received over NVLink, all traffic of all processes, by NVML"),
    ]);
    let mut expected = DirectionFamilies::new([
        ("nccl_nvlink_expected_sent_bytes", "Bytes that NCCL's operations with known traffic should send over NVLink"),
        (
            "nccl_nvlink_expected_received_bytes",
            "Bytes that NCCL's operations with known traffic should receive over NVLink",
        ),
    ]);
    let mut adapters = DirectionFamilies::new([
        ("nccl_adapter_sent_bytes", "Bytes that a network adapter of the node sent, of all processes"),
        ("nccl_adapter_received_bytes", "Bytes that a network adapter of the node received, of all processes"),
    ]);
    let mut unknown = Family {
        name: "nccl_nvlink_unknown_ops",
        unit: "count",
        meaning: "Operations of which it is not known how many bytes they should move over NVLink".into(),
        points: vec![],
    };
    let host: Labels = of_process.iter().filter(|(name, _)| !OF_GPU.contains(name)).cloned().collect();
    let mut by_gpu = by_gpu(moved);
    // operations of a rank whose GPU is not known may be any GPU's
    let homeless = by_gpu.remove(&None).map(|of| of.known + of.unknown());
    for gpu in reading.gpus {
        let uuid = gpu.uuid.map(|uuid| ("gpu_uuid", uuid));
        let labels: Labels = host.iter().cloned().chain(uuid).chain([("gpu_pci_bus_id", gpu.bus.clone())]).collect();
        if let Ok(bytes) = gpu.nvlink {
            counted.add(&labels, bytes);
        }
        let moved = by_gpu.remove(&Some(gpu.bus)).unwrap_or_default();
        if homeless.is_none() {
            expected.add(&labels, moved.bytes);
        }
        unknown.points.push(LabelledPoint { labels, value: Value::Sum(moved.unknown()) });
    }
    if let Some(operations) = homeless {
        unknown.points.push(LabelledPoint { labels: host.clone(), value: Value::Sum(operations) });
    }
    for adapter in reading.adapters {
        let labels: Labels = host.iter().cloned().chain([("adapter", adapter.name)]).collect();
        adapters.add(&labels, adapter.bytes);
    }
    let [DirectionFamilies(counted), DirectionFamilies(expected), DirectionFamilies(adapters)] =
        [counted, expected, adapters];
    let all = counted.into_iter().chain(expected).chain([unknown]).chain(adapters);
    all.filter(|family| !family.points.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvlink::{AbsenceReason, AdapterBytes, GpuBytes};

    #[test]
    fn a_gpu_has_labels_of_its_own_and_what_is_absent_has_no_point() {
        let gpu = |bus: &str, nvlink| GpuBytes {
            bus: bus.into(),
            uuid: Some(format!("GPU-{bus}")),
            seconds: 1.0,
            nvlink,
            is_old: false,
            raw: None,
            set_back: 0,
            pcie: None,
        };
        let bytes = Ways { sent: 5, received: 7 };
        let reading = NvlinkReading {
            seconds: 1.0,
            gpus: vec![gpu("0000:0A:00.0", Ok(bytes)), gpu("0000:0B:00.0", Err(AbsenceReason("no".into())))],
            adapters: vec![AdapterBytes { name: "mlx5_0:1".into(), bytes }],
            why: None,
            is_old: false,
            is_last: false,
        };
        let of_process = vec![("hostname", "h".to_owned()), ("gpu_uuid", "GPU-x".to_owned())];
        let made = families(reading, &OverNvlink::default(), &of_process);
        let points = |name: &str| made.iter().find(|family| family.name == name).unwrap().points.clone();
        let [sent] = points("nccl_nvlink_sent_bytes").try_into().unwrap();
        let labels = [("hostname", "h"), ("gpu_uuid", "GPU-0000:0A:00.0"), ("gpu_pci_bus_id", "0000:0A:00.0")];
        assert_eq!(sent.labels, labels.map(|(name, value)| (name, value.to_owned())));
        assert_eq!((sent.value, points("nccl_nvlink_expected_sent_bytes").len()), (Value::Sum(5), 2));
        let [received] = points("nccl_adapter_received_bytes").try_into().unwrap();
        assert_eq!(received.value, Value::Sum(7));
        assert_eq!(
            received.labels,
            [("hostname", "h"), ("adapter", "mlx5_0:1")].map(|(name, value)| (name, value.to_owned()))
        );
    }
}
