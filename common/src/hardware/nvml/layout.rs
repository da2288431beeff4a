//! The structures and numbers of NVML that the library uses, as NVML's documentation has them.

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulonglong};

/// NVML_SUCCESS.
pub(super) const SUCCESS: c_int = 0;
/// NVML_ERROR_NOT_SUPPORTED.
pub(super) const NOT_SUPPORTED: c_int = 3;
/// NVML_ERROR_UNKNOWN.
pub(super) const UNKNOWN: c_int = 999;
/// All links of a GPU together, as the scope of a field.
pub(super) const ALL_LINKS: c_uint = c_uint::MAX;

/// NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, _DATA_RX, _RAW_TX, _RAW_RX: KiB since the driver was loaded.
pub(super) const NVLINK_DATA: [c_uint; 2] = [138, 139];
pub(super) const NVLINK_RAW: [c_uint; 2] = [140, 141];
/// NVML_FI_DEV_NVLINK_LINK_COUNT.
pub(super) const NVLINK_COUNT: c_uint = 91;
/// NVML_FI_DEV_NVLINK_GET_SPEED: MB/s of a link in one direction; NVML_FI_DEV_NVLINK_GET_STATE: 1 for a link that is up.
pub(super) const NVLINK_SPEED: c_uint = 164;
pub(super) const NVLINK_STATE: c_uint = 165;
/// NVML_FI_DEV_NVLINK_ERROR_DL_REPLAY, _RECOVERY, _CRC and NVML_FI_DEV_NVLINK_COUNT_LINK_RECOVERY_EVENTS, of a link.
/// Blackwell has the last one alone.
pub(super) const NVLINK_REPLAYS: c_uint = 161;
pub(super) const NVLINK_RECOVERIES: c_uint = 162;
pub(super) const NVLINK_CRC: c_uint = 163;
pub(super) const NVLINK_RECOVERIES_OF_BLACKWELL: c_uint = 215;
/// NVML_FI_DEV_ECC_SBE_VOL_TOTAL, _DBE_VOL_TOTAL: errors since the driver was loaded.
pub(super) const ECC_CORRECTED: c_uint = 3;
pub(super) const ECC_UNCORRECTED: c_uint = 4;
/// NVML_FI_DEV_PERF_POLICY_POWER, _THERMAL, _SYNC_BOOST, _BOARD_LIMIT: ns, as nvmlDeviceGetViolationStatus has them.
pub(super) const POWER_CAP_TIME: c_uint = 74;
pub(super) const THERMAL_TIME: c_uint = 75;
pub(super) const SYNC_BOOST_TIME: c_uint = 76;
pub(super) const BOARD_LIMIT_TIME: c_uint = 77;
/// NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN, _HW_POWER_BRAKE_SLOWDOWN (ns) of drivers 575 and 580, and from
/// 590 on.
pub(super) const HARDWARE_TIMES_FROM_575: [c_uint; 2] = [252, 253];
pub(super) const HARDWARE_TIMES_FROM_590: [c_uint; 2] = [270, 271];
/// NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION: mJ since the driver was loaded.
pub(super) const ENERGY: c_uint = 83;
/// NVML_FI_DEV_PCIE_REPLAY_COUNTER.
pub(super) const PCIE_REPLAYS: c_uint = 94;
/// NVML_FI_DEV_REMAPPED_COR, _UNC: rows; NVML_FI_DEV_REMAPPED_PENDING, _FAILURE: 0 or 1.
pub(super) const REMAPPED_CORRECTABLE: c_uint = 142;
pub(super) const REMAPPED_UNCORRECTABLE: c_uint = 143;
pub(super) const REMAP_PENDING: c_uint = 144;
pub(super) const REMAP_FAILURE: c_uint = 145;
/// NVML_FI_DEV_POWER_AVERAGE, _INSTANT, _CURRENT_LIMIT: mW, with the scope 0 of the GPU alone; from driver 535 on.
pub(super) const POWER_AVERAGE: c_uint = 185;
pub(super) const POWER_INSTANT: c_uint = 186;
pub(super) const POWER_LIMIT: c_uint = 190;

/// NVML_CLOCK_SM, NVML_CLOCK_MEM: MHz.
pub(super) const CLOCK_SM: c_int = 1;
pub(super) const CLOCK_MEMORY: c_int = 2;
/// NVML_TEMPERATURE_GPU: degrees Celsius.
pub(super) const SENSOR_GPU: c_int = 0;

/// NVML_PCIE_UTIL_TX_BYTES, _RX_BYTES: kB/s.
pub(super) const PCIE: [c_uint; 2] = [0, 1];

/// nvmlFieldValue_t.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct FieldValue {
    pub(super) field: c_uint,
    pub(super) scope: c_uint,
    /// Microseconds since the Epoch.
    pub(super) timestamp: c_longlong,
    /// Microseconds that the field took.
    pub(super) latency: c_longlong,
    /// nvmlValueType_t.
    pub(super) kind: c_int,
    /// nvmlReturn_t of this field.
    pub(super) result: c_int,
    /// nvmlValue_t, a union of 8 bytes.
    pub(super) value: [u8; 8],
}

impl FieldValue {
    /// Returns a request for a field.
    pub(super) fn request(field: c_uint, scope: c_uint) -> Self {
        Self { field, scope, ..Self::default() }
    }

    /// Returns the whole number that NVML has filled in; `None` where it refuses the field.
    pub(super) fn answer(&self) -> Option<u64> {
        if self.result == SUCCESS { self.whole() } else { None }
    }

    /// Returns the value as a whole number, if it is one.
    pub(super) fn whole(&self) -> Option<u64> {
        let [a, b, c, d, ..] = self.value;
        match self.kind {
            // unsigned int, unsigned long, unsigned long long, signed long long
            1 => Some(u32::from_ne_bytes([a, b, c, d]).into()),
            2 | 3 => Some(u64::from_ne_bytes(self.value)),
            4 => u64::try_from(i64::from_ne_bytes(self.value)).ok(),
            _ => None,
        }
    }
}

/// Returns the value of a field among those that NVML has filled in; `None` where it refuses it.
pub(super) fn answered(values: &[FieldValue], field: c_uint) -> Option<u64> {
    values.iter().find(|value| value.field == field)?.answer()
}

/// Returns the text of a buffer up to its zero.
pub(super) fn text(buffer: &[c_char]) -> String {
    // C's characters have a sign on x86-64 and none on aarch64
    let bytes: Vec<u8> = buffer.iter().flat_map(|letter| letter.to_ne_bytes()).take_while(|&byte| byte != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns a place on the PCI bus as NVML reads it.
pub(super) fn bus_id(bus: &str) -> BusId {
    let mut id = BusId::default();
    // the last byte stays zero
    let places = id.iter_mut().rev().skip(1).rev();
    places.zip(bus.bytes()).for_each(|(place, byte)| *place = byte as c_char);
    id
}

/// NVML_GPM_METRICS_GET_VERSION and NVML_GPM_SUPPORT_VERSION.
pub(super) const GPM_VERSION: c_uint = 1;
/// NVML_GPM_METRIC_NVLINK_L0_RX_PER_SEC: MiB/s that link 0 received. What it sent follows, then the other links.
pub(super) const GPM_FIRST_LINK: c_uint = 62;
/// Links that GPM has metrics of.
pub(super) const GPM_LINKS: c_uint = 18;
/// Metrics that a request has room for. NVML reads those that are asked for; the room has grown with its headers (98 in
/// CUDA 12.0, 210 in 12.8) under one version.
pub(super) const GPM_ROOM: usize = 512;

/// nvmlGpmMetric_t.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct GpmMetric {
    pub(super) metric: c_uint,
    /// nvmlReturn_t of this metric.
    pub(super) result: c_int,
    pub(super) value: f64,
    /// Three constant strings, as wide as pointers and never used as ones: short name, long name, unit.
    pub(super) names: [usize; 3],
}

/// nvmlGpmMetricsGet_t.
#[repr(C)]
#[derive(Debug)]
pub(super) struct GpmMetricsGet {
    pub(super) version: c_uint,
    pub(super) count: c_uint,
    /// The earlier sample, and the later one.
    pub(super) samples: [usize; 2],
    pub(super) metrics: [GpmMetric; GPM_ROOM],
}

/// nvmlGpmSupport_t.
#[repr(C)]
#[derive(Debug)]
pub(super) struct GpmSupport {
    pub(super) version: c_uint,
    pub(super) is_supported: c_uint,
}

/// nvmlUtilization_t: per cent.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Utilization {
    pub(super) gpu: c_uint,
    pub(super) memory: c_uint,
}

/// nvmlEventTypeXidCriticalError.
pub(super) const XID_EVENT: c_ulonglong = 8;

/// nvmlEventData_t.
#[repr(C)]
#[derive(Debug, Default)]
pub(super) struct EventData {
    /// A handle of a GPU.
    pub(super) device: usize,
    pub(super) kind: c_ulonglong,
    /// The number of an Xid.
    pub(super) data: c_ulonglong,
    pub(super) gpu_instance: c_uint,
    pub(super) compute_instance: c_uint,
}

/// A place on the PCI bus, which ends with a zero.
pub(super) type BusId = [c_char; 32];

/// nvmlPciInfo_t, version 3.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PciInfo {
    pub(super) bus_legacy: [c_char; 16],
    /// Domain, bus, device, and ids of device and subsystem.
    pub(super) numbers: [c_uint; 5],
    pub(super) bus_id: BusId,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    /// As driver 580 on x86-64 has them: nvmlFieldValue_t takes 40 bytes and nvmlPciInfo_t 68.
    #[test]
    fn structures_lie_as_nvmls_do() {
        assert_eq!((size_of::<FieldValue>(), size_of::<PciInfo>()), (40, 68));
        let value = [
            offset_of!(FieldValue, scope),
            offset_of!(FieldValue, timestamp),
            offset_of!(FieldValue, latency),
            offset_of!(FieldValue, kind),
            offset_of!(FieldValue, result),
            offset_of!(FieldValue, value),
        ];
        assert_eq!(value, [4, 8, 16, 24, 28, 32]);
        let event = [offset_of!(EventData, kind), offset_of!(EventData, data), offset_of!(EventData, gpu_instance)];
        assert_eq!((size_of::<EventData>(), event), (32, [8, 16, 24]));
        assert_eq!((size_of::<Utilization>(), offset_of!(Utilization, memory)), (8, 4));
        assert_eq!((offset_of!(PciInfo, numbers), offset_of!(PciInfo, bus_id)), (16, 36));
        // as driver 580 filled them in on an H200
        assert_eq!((size_of::<GpmMetric>(), size_of::<GpmSupport>()), (40, 8));
        let metric = [offset_of!(GpmMetric, result), offset_of!(GpmMetric, value), offset_of!(GpmMetric, names)];
        assert_eq!(metric, [4, 8, 16]);
        let request =
            [offset_of!(GpmMetricsGet, count), offset_of!(GpmMetricsGet, samples), offset_of!(GpmMetricsGet, metrics)];
        assert_eq!(request, [4, 8, 24]);
    }

    #[test]
    fn whole_numbers_are_read_by_their_type() {
        let value = |kind, bits: u64| FieldValue { kind, value: bits.to_ne_bytes(), ..FieldValue::default() }.whole();
        assert_eq!([2, 3].map(|kind| value(kind, u64::MAX)), [Some(u64::MAX); 2]);
        assert_eq!([value(4, 7), value(4, u64::MAX)], [Some(7), None]);
        assert_eq!([value(0, 0x4000_0000_0000_0000), value(9, 1)], [None; 2]);
        let lower = if cfg!(target_endian = "little") { 0xffff_ffff_0000_0007 } else { 0x0000_0007_ffff_ffff };
        assert_eq!(value(1, lower), Some(7));
    }

    #[test]
    fn a_refused_field_has_no_value() {
        let value =
            |field, kind, result| FieldValue { field, kind, result, value: 7_u64.to_ne_bytes(), ..Default::default() };
        // filled in, refused, and left as it was asked
        let values = [value(3, 3, SUCCESS), value(4, 3, NOT_SUPPORTED), FieldValue::request(94, 0)];
        assert_eq!([3, 4, 94, 83].map(|field| answered(&values, field)), [Some(7), None, None, None]);
    }
}
