//! The condition of a GPU: clocks, power, temperature, use, and errors.

use super::functions::{Handle, written};
use super::layout::{
    CLOCK_MEMORY, CLOCK_SM, ECC_CORRECTED, ECC_UNCORRECTED, ENERGY, FieldValue, NVLINK_COUNT, NVLINK_CRC,
    NVLINK_RECOVERIES, NVLINK_RECOVERIES_OF_BLACKWELL, NVLINK_REPLAYS, PCIE_REPLAYS, POWER_AVERAGE, POWER_INSTANT,
    POWER_LIMIT, REMAP_FAILURE, REMAP_PENDING, REMAPPED_CORRECTABLE, REMAPPED_UNCORRECTABLE, SENSOR_GPU, Utilization,
    answered,
};
use super::throttle::{self, ThrottleTimes};
use super::{MAX_LINKS, Nvml, NvmlGpu};
use std::ffi::c_uint;

/// The condition of a GPU at a moment. A figure is absent where NVML refuses it. Counters count since the driver was
/// loaded, for all processes; others may reset them.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct GpuCondition {
    /// Clock of the streaming multiprocessors, MHz. By nvmlDeviceGetClockInfo.
    pub sm_clock_mhz: Option<u32>,
    /// Its maximum, MHz. Read once for a GPU, by nvmlDeviceGetMaxClockInfo.
    pub sm_clock_max_mhz: Option<u32>,
    /// Clock of the memory, MHz. By nvmlDeviceGetClockInfo.
    pub memory_clock_mhz: Option<u32>,
    /// Power, mW: the mean of the last second on Ampere (except A100) and newer, otherwise that of the moment. By a
    /// field; before driver 535 by nvmlDeviceGetPowerUsage.
    pub power_mw: Option<u32>,
    /// The limit of the power that is in force, mW. By a field; before driver 535 by nvmlDeviceGetEnforcedPowerLimit.
    pub power_limit_mw: Option<u32>,
    /// Energy, mJ: a counter, whose step over an interval has its mean power. By a field.
    pub energy_mj: Option<u64>,
    /// Temperature of the GPU, degrees Celsius. By nvmlDeviceGetTemperature.
    pub temperature_c: Option<u32>,
    /// Share of the last sample period (1/6 s to 1 s) in which any kernel ran, per cent: also one that waits, or runs
    /// on a single multiprocessor. By nvmlDeviceGetUtilizationRates, as the next figure.
    pub gpu_use_percent: Option<u32>,
    /// Share of it in which memory was read or written, per cent.
    pub memory_use_percent: Option<u32>,
    /// Why the clocks are below their maximum at this moment, as the bits of
    /// [`ThrottleReason`](throttle::ThrottleReason). By nvmlDeviceGetCurrentClocksEventReasons, before driver 535
    /// nvmlDeviceGetCurrentClocksThrottleReasons.
    pub throttle: Option<u64>,
    /// How long reasons have held the clocks down: counters. By fields.
    pub throttled: ThrottleTimes,
    /// Memory errors that ECC has corrected. By a field.
    pub ecc_corrected: Option<u64>,
    /// Memory errors that ECC has found and could not correct. By a field.
    pub ecc_uncorrected: Option<u64>,
    /// Rows of memory that were ever remapped for correctable errors. By a field, as the next three figures.
    pub remapped_correctable: Option<u64>,
    /// The same for uncorrectable errors.
    pub remapped_uncorrectable: Option<u64>,
    /// Whether a row waits for the GPU's reset to be remapped.
    pub remap_pending: Option<bool>,
    /// Whether a row could once not be remapped.
    pub remap_failed: Option<bool>,
    /// Packets that PCIe sent again. By a field.
    pub pcie_replays: Option<u64>,
    /// Generation of the PCIe link at this moment: an idle GPU lowers it. By nvmlDeviceGetCurrPcieLinkGeneration.
    pub pcie_generation: Option<u32>,
    /// Lanes of the PCIe link at this moment. By nvmlDeviceGetCurrPcieLinkWidth.
    pub pcie_width: Option<u32>,
    /// Packets that NVLinks sent again, all links of the GPU together. By a field of each link, as the next two.
    /// Blackwell does not count them.
    pub nvlink_replays: Option<u64>,
    /// Times that NVLinks had to be trained anew.
    pub nvlink_recoveries: Option<u64>,
    /// Checksum errors on NVLinks, which the links correct by sending again. Blackwell does not count them.
    pub nvlink_crc_errors: Option<u64>,
}

impl GpuCondition {
    /// Returns the numbers of errors with their names for people. Those of remappings that wait or have failed are 0 or
    /// 1.
    pub fn errors(&self) -> [(&'static str, Option<u64>); 10] {
        [
            ("ECC corrected", self.ecc_corrected),
            ("ECC uncorrected", self.ecc_uncorrected),
            ("rows remapped, correctable", self.remapped_correctable),
            ("rows remapped, uncorrectable", self.remapped_uncorrectable),
            ("row remapping pending", self.remap_pending.map(u64::from)),
            ("row remapping failed", self.remap_failed.map(u64::from)),
            ("PCIe replays", self.pcie_replays),
            ("NVLink replays", self.nvlink_replays),
            ("NVLink recoveries", self.nvlink_recoveries),
            ("NVLink CRC errors", self.nvlink_crc_errors),
        ]
    }
}

/// The fields of a GPU's errors.
const OF_ERRORS: [c_uint; 7] = [
    ECC_CORRECTED,
    ECC_UNCORRECTED,
    PCIE_REPLAYS,
    REMAPPED_CORRECTABLE,
    REMAPPED_UNCORRECTABLE,
    REMAP_PENDING,
    REMAP_FAILURE,
];

/// The fields of its power.
const OF_POWER: [c_uint; 4] = [ENERGY, POWER_AVERAGE, POWER_INSTANT, POWER_LIMIT];

/// The fields of a link. The fields of all links together (38, 45, 52, 59) are of no use: on Hopper, they succeed and
/// are always 0.
const OF_LINK: [c_uint; 4] = [NVLINK_REPLAYS, NVLINK_RECOVERIES, NVLINK_CRC, NVLINK_RECOVERIES_OF_BLACKWELL];

impl Nvml {
    /// Returns the GPU of a handle, with its figures that do not change.
    pub(super) fn gpu(&self, handle: Handle, bus: &str) -> NvmlGpu {
        let max_clock = written(|to| self.functions.max_clock(handle, CLOCK_SM, to)).ok();
        let mut count = [FieldValue::request(NVLINK_COUNT, 0)];
        let _ = self.functions.fields(handle, &mut count);
        let nvlinks = answered(&count, NVLINK_COUNT).and_then(|count| c_uint::try_from(count).ok());
        let (uuid, nvlinks) = (self.functions.uuid(handle), nvlinks.unwrap_or(0).min(MAX_LINKS));
        NvmlGpu { handle, bus: bus.to_owned(), uuid, max_clock, nvlinks }
    }

    /// Reads the figures that are cheap: in 6 calls of NVML's, 0.24 ms of a processor on an H200 with driver 580.
    pub fn vitals(&self, gpu: &NvmlGpu) -> GpuCondition {
        let [power_mw, power_limit_mw] = self.power(gpu.handle);
        GpuCondition { power_mw, power_limit_mw, ..self.gauges(gpu) }
    }

    /// Reads clock, temperature, use and throttle reasons.
    fn gauges(&self, gpu: &NvmlGpu) -> GpuCondition {
        let (of, handle) = (&self.functions, gpu.handle);
        let used = written(|to: &mut Utilization| of.utilization(handle, to)).ok();
        GpuCondition {
            sm_clock_mhz: written(|to| of.clock(handle, CLOCK_SM, to)).ok(),
            sm_clock_max_mhz: gpu.max_clock,
            temperature_c: written(|to| of.temperature(handle, SENSOR_GPU, to)).ok(),
            gpu_use_percent: used.map(|used| used.gpu),
            memory_use_percent: used.map(|used| used.memory),
            throttle: written(|to| of.reasons(handle, to)).ok(),
            ..GpuCondition::default()
        }
    }

    /// Reads the power and its limit by their functions, mW.
    fn power(&self, handle: Handle) -> [Option<u32>; 2] {
        let of = &self.functions;
        [written(|to| of.power(handle, to)).ok(), written(|to| of.power_limit(handle, to)).ok()]
    }

    /// Reads the numbers of errors alone, in 2 calls of NVML's: 1.2 ms of a processor on an H200, half of it for PCIe's.
    pub fn errors(&self, gpu: &NvmlGpu) -> GpuCondition {
        let mut values: Vec<FieldValue> = OF_ERRORS.iter().map(|&id| FieldValue::request(id, 0)).collect();
        let _ = self.functions.fields(gpu.handle, &mut values);
        self.with_errors(gpu, &values, GpuCondition::default())
    }

    /// Reads the whole condition of a GPU: in 9 calls of NVML's where the driver has all figures, 8 without NVLinks. On an
    /// H200 with driver 580 that takes 23 ms of a processor.
    pub fn condition(&self, gpu: &NvmlGpu) -> GpuCondition {
        let (of, handle) = (&self.functions, gpu.handle);
        let ids = OF_ERRORS.iter().chain(&OF_POWER).chain(&throttle::TIMES).chain(self.hardware_times.iter().flatten());
        let mut values: Vec<FieldValue> = ids.map(|&id| FieldValue::request(id, 0)).collect();
        let _ = of.fields(handle, &mut values);
        let field = |id| answered(&values, id);
        let short = |id| field(id).and_then(|value| u32::try_from(value).ok());
        let by_field = [short(POWER_AVERAGE).or_else(|| short(POWER_INSTANT)), short(POWER_LIMIT)];
        let by_function = if by_field.contains(&None) { self.power(handle) } else { by_field };
        let [power_mw, power_limit_mw] = [0, 1].map(|which| by_field[which].or(by_function[which]));
        let condition = GpuCondition {
            memory_clock_mhz: written(|to| of.clock(handle, CLOCK_MEMORY, to)).ok(),
            power_mw,
            power_limit_mw,
            energy_mj: field(ENERGY),
            throttled: ThrottleTimes::among(&values, self.hardware_times),
            pcie_generation: written(|to| of.pcie_generation(handle, to)).ok(),
            pcie_width: written(|to| of.pcie_width(handle, to)).ok(),
            ..self.gauges(gpu)
        };
        self.with_errors(gpu, &values, condition)
    }

    /// Adds the numbers of errors.
    fn with_errors(&self, gpu: &NvmlGpu, values: &[FieldValue], condition: GpuCondition) -> GpuCondition {
        let field = |id| answered(values, id);
        let [nvlink_replays, nvlink_recoveries, nvlink_crc_errors] = self.link_errors(gpu);
        GpuCondition {
            ecc_corrected: field(ECC_CORRECTED),
            ecc_uncorrected: field(ECC_UNCORRECTED),
            remapped_correctable: field(REMAPPED_CORRECTABLE),
            remapped_uncorrectable: field(REMAPPED_UNCORRECTABLE),
            remap_pending: field(REMAP_PENDING).map(|is_so| is_so != 0),
            remap_failed: field(REMAP_FAILURE).map(|is_so| is_so != 0),
            pcie_replays: field(PCIE_REPLAYS),
            nvlink_replays,
            nvlink_recoveries,
            nvlink_crc_errors,
            ..condition
        }
    }

    /// Returns the replays, recoveries and checksum errors of all NVLinks together.
    fn link_errors(&self, gpu: &NvmlGpu) -> [Option<u64>; 3] {
        let of_link = |link| OF_LINK.map(|id| FieldValue::request(id, link));
        let mut values: Vec<FieldValue> = (0..gpu.nvlinks).flat_map(of_link).collect();
        if values.is_empty() {
            return [None; 3];
        }
        let _ = self.functions.fields(gpu.handle, &mut values);
        // a link that is down may refuse
        let sum = |id| {
            let of_links = values.iter().filter(|value| value.field == id).filter_map(FieldValue::answer);
            of_links.reduce(u64::saturating_add)
        };
        let [replays, recoveries, crc, of_blackwell] = OF_LINK.map(sum);
        [replays, recoveries.or(of_blackwell), crc]
    }
}
