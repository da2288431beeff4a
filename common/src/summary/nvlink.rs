//! Bytes over NVLink, PCIe and network adapters in the summary of a process, beside those of NCCL's operations.

use crate::hardware::Ways;
use crate::nvlink::{GpuBytes, NvlinkReading, PcieRate, by_gpu};
use crate::sums::run_sums::{MovedBytes, OverNvlink};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Bytes per second in a MB/s.
const MEGABYTE: f64 = 1e6;

/// Counters of the machine while the process ran (`NCCL_SCOREP_NVLINK`). They count everybody's traffic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NvLink {
    /// Seconds from the first reading of adapters to the last one.
    pub seconds: f64,
    /// Whether NVML has not answered at the end: the figures are those of an earlier moment.
    pub old: bool,
    /// Why there are no GPUs here, if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// The process' GPUs.
    pub gpus: Vec<NvLinkGpu>,
    /// The node's network adapters.
    pub adapters: Vec<Adapter>,
}

/// Bytes of a GPU since its counters were first read, of all processes that use it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct NvLinkGpu {
    /// Its place on the PCI bus.
    pub gpu: String,
    /// Its UUID, if NVML tells it.
    pub uuid: Option<String>,
    /// Seconds from the first reading of its counters to the last one.
    #[serde(default)]
    pub seconds: f64,
    /// Whether NVML has refused the last reading: the bytes are those of an earlier one.
    #[serde(default)]
    pub old: bool,
    /// Data sent over all its NVLinks.
    pub sent_bytes: Option<u64>,
    /// Data received over all its NVLinks.
    pub received_bytes: Option<u64>,
    /// Why these are absent, if they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent: Option<String>,
    /// Data and headers sent, if NVML counts them.
    pub raw_sent_bytes: Option<u64>,
    /// Data and headers received, if NVML counts them.
    pub raw_received_bytes: Option<u64>,
    /// Number of times that a counter had gone back. Bytes until then are lost.
    pub set_back: u64,
    /// Bytes that NCCL's operations of this process should have sent, of those operations whose bytes are known.
    /// Absent if the process has operations whose GPU is not known.
    pub nccl_sent_bytes: Option<u64>,
    /// Bytes that they should have received.
    pub nccl_received_bytes: Option<u64>,
    /// Number of operations whose bytes are known.
    pub nccl_known: u64,
    /// Numbers of operations whose bytes are not known, by reason.
    pub nccl_unknown: BTreeMap<String, u64>,
    /// `sent_bytes` over `nccl_sent_bytes`, where nothing is missing on either side.
    pub sent_ratio: Option<f64>,
    /// `received_bytes` over `nccl_received_bytes`, on the same condition.
    pub received_ratio: Option<f64>,
    /// Rates over PCIe, if NVML measures them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pcie: Option<Pcie>,
}

/// Rates over PCIe, each measured for 20 ms, once a second.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pcie {
    /// Number of measurements.
    pub samples: u64,
    /// Mean rates, MB/s.
    pub mean_mb_s: Ways<f64>,
    /// Largest rates, MB/s.
    pub max_mb_s: Ways<f64>,
}

/// Bytes of a network adapter of the node, of all processes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Adapter {
    /// Its name; of an InfiniBand or RoCE adapter with its port.
    pub name: String,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Bytes received.
    pub received_bytes: u64,
}

impl NvLink {
    /// Puts a reading beside the bytes that operations should have moved. `is_whole` says whether all operations are among
    /// them.
    pub(super) fn of(reading: NvlinkReading, moved: &OverNvlink, is_whole: bool) -> Self {
        let mut by_gpu = by_gpu(moved);
        let has_homeless = by_gpu.contains_key(&None);
        let NvlinkReading { seconds, gpus, adapters, why, is_old, is_last } = reading;
        let gpus = gpus.into_iter().map(|gpu| {
            let moved = by_gpu.remove(&Some(gpu.bus.clone())).unwrap_or_default();
            NvLinkGpu::of(gpu, &moved, !has_homeless, is_whole && is_last && !is_old)
        });
        let gpus = gpus.collect();
        let adapters = adapters.into_iter().map(|adapter| Adapter {
            name: adapter.name,
            sent_bytes: adapter.bytes.sent,
            received_bytes: adapter.bytes.received,
        });
        Self { seconds, old: is_old, absent: why.map(|why| why.0), gpus, adapters: adapters.collect() }
    }
}

impl NvLinkGpu {
    fn of(gpu: GpuBytes, moved: &MovedBytes, has_all_ranks: bool, is_whole: bool) -> Self {
        let GpuBytes { bus, uuid, seconds, nvlink, is_old, raw, set_back, pcie } = gpu;
        let is_comparable = is_whole && has_all_ranks && !is_old && moved.unknown() == 0 && set_back == 0;
        let ratio =
            |(counted, expected): (u64, u64)| (is_comparable && expected > 0).then(|| counted as f64 / expected as f64);
        let bytes = nvlink.as_ref().ok();
        let ratios = bytes.map(|bytes| bytes.zip(moved.bytes).map(ratio));
        Self {
            gpu: bus,
            uuid,
            seconds,
            old: is_old,
            sent_bytes: bytes.map(|bytes| bytes.sent),
            received_bytes: bytes.map(|bytes| bytes.received),
            raw_sent_bytes: raw.map(|bytes| bytes.sent),
            raw_received_bytes: raw.map(|bytes| bytes.received),
            set_back,
            nccl_sent_bytes: has_all_ranks.then_some(moved.bytes.sent),
            nccl_received_bytes: has_all_ranks.then_some(moved.bytes.received),
            nccl_known: moved.known,
            nccl_unknown: moved.unknown.iter().map(|(why, &count)| (why.text(), count)).collect(),
            sent_ratio: ratios.and_then(|ratios| ratios.sent),
            received_ratio: ratios.and_then(|ratios| ratios.received),
            pcie: pcie.map(Pcie::of),
            absent: nvlink.err().map(|why| why.0),
        }
    }
}

impl Pcie {
    fn of(rate: PcieRate) -> Self {
        let samples = rate.samples;
        let mean_mb_s = rate.sum.map(|sum| sum as f64 / samples as f64 / MEGABYTE);
        Self { samples, mean_mb_s, max_mb_s: rate.max.map(|max| max as f64 / MEGABYTE) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvlink::AbsenceReason;
    use crate::operation::nvlink::UnknownBytes;

    fn both(bytes: u64) -> Ways<u64> {
        Ways { sent: bytes, received: bytes }
    }

    fn gpu(nvlink: Result<Ways<u64>, AbsenceReason>) -> GpuBytes {
        let bus = "0000:0A:00.0".into();
        GpuBytes { bus, uuid: None, seconds: 1.0, nvlink, is_old: false, raw: None, set_back: 0, pcie: None }
    }

    fn moved(bytes: u64) -> MovedBytes {
        MovedBytes { known: 3, bytes: both(bytes), ..MovedBytes::default() }
    }

    #[test]
    fn the_ratio_is_there_where_nothing_is_missing() {
        let ratio = |gpu: GpuBytes, moved: &MovedBytes, has_all_ranks, is_whole| {
            let of = NvLinkGpu::of(gpu, moved, has_all_ranks, is_whole);
            assert_eq!(of.sent_ratio, of.received_ratio);
            of.sent_ratio
        };
        let counted = || gpu(Ok(both(105)));
        assert_eq!(ratio(counted(), &moved(100), true, true), Some(1.05));
        let unknown = MovedBytes { unknown: [(UnknownBytes::Nodes, 1)].into(), ..moved(100) };
        assert_eq!(ratio(counted(), &unknown, true, true), None);
        assert_eq!(ratio(counted(), &moved(0), true, true), None);
        assert_eq!(ratio(counted(), &moved(100), false, true), None);
        assert_eq!(ratio(counted(), &moved(100), true, false), None);
        assert_eq!(ratio(GpuBytes { set_back: 1, ..counted() }, &moved(100), true, true), None);
        assert_eq!(ratio(GpuBytes { is_old: true, ..counted() }, &moved(100), true, true), None);
        assert_eq!(ratio(gpu(Err(AbsenceReason("no".into()))), &moved(100), true, true), None);
    }

    #[test]
    fn what_is_absent_has_its_reason() {
        let of = NvLinkGpu::of(
            gpu(Err(AbsenceReason("NVML's field 138 answered Not Supported (3)".into()))),
            &moved(7),
            true,
            true,
        );
        assert_eq!((of.sent_bytes, of.nccl_sent_bytes, of.nccl_known), (None, Some(7), 3));
        assert!(of.absent.is_some_and(|why| why.contains("Not Supported")));
    }

    #[test]
    fn rates_are_means() {
        let rate = PcieRate { samples: 4, sum: both(10_000_000), max: both(9_000_000) };
        let Pcie { samples, mean_mb_s, max_mb_s } = Pcie::of(rate);
        assert_eq!((samples, mean_mb_s.sent, max_mb_s.received), (4, 2.5, 9.0));
    }
}
