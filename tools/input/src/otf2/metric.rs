//! Conversion of Score-P's numbers for metrics to OTF2's.

use super::abi;
use super::error::Otf2Error;
use crate::trace::Metric;
use scorep_substrate::sys;

/// OTF2's numbers for the properties of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Properties {
    /// `OTF2_MetricMode`: the kind of value and the time it refers to.
    pub(super) mode: u8,
    /// `OTF2_Type` of the values.
    pub(super) value_type: u8,
    /// `OTF2_Base`.
    pub(super) base: u8,
}

impl Properties {
    /// Translates `SCOREP_MetricMode`, `SCOREP_MetricValueType` and `SCOREP_MetricBase`.
    pub(super) fn from_score_p(metric: &Metric) -> Result<Self, Otf2Error> {
        let unknown = |what, number| Otf2Error::MetricNumber { metric: metric.name.clone(), what, number };
        let mode = match metric.mode {
            sys::MODE_ACCUMULATED_START => abi::METRIC_VALUE_ACCUMULATED | abi::METRIC_TIMING_START,
            sys::MODE_ACCUMULATED_POINT => abi::METRIC_VALUE_ACCUMULATED | abi::METRIC_TIMING_POINT,
            sys::MODE_ACCUMULATED_LAST => abi::METRIC_VALUE_ACCUMULATED | abi::METRIC_TIMING_LAST,
            sys::MODE_ACCUMULATED_NEXT => abi::METRIC_VALUE_ACCUMULATED | abi::METRIC_TIMING_NEXT,
            sys::MODE_ABSOLUTE_POINT => abi::METRIC_VALUE_ABSOLUTE | abi::METRIC_TIMING_POINT,
            sys::MODE_ABSOLUTE_LAST => abi::METRIC_VALUE_ABSOLUTE | abi::METRIC_TIMING_LAST,
            sys::MODE_ABSOLUTE_NEXT => abi::METRIC_VALUE_ABSOLUTE | abi::METRIC_TIMING_NEXT,
            sys::MODE_RELATIVE_POINT => abi::METRIC_VALUE_RELATIVE | abi::METRIC_TIMING_POINT,
            sys::MODE_RELATIVE_LAST => abi::METRIC_VALUE_RELATIVE | abi::METRIC_TIMING_LAST,
            sys::MODE_RELATIVE_NEXT => abi::METRIC_VALUE_RELATIVE | abi::METRIC_TIMING_NEXT,
            number => return Err(unknown("metric mode", number)),
        };
        let value_type = match metric.value_type {
            sys::VALUE_INT64 => abi::TYPE_INT64,
            sys::VALUE_UINT64 => abi::TYPE_UINT64,
            sys::VALUE_DOUBLE => abi::TYPE_DOUBLE,
            number => return Err(unknown("value type", number)),
        };
        let base = match metric.base {
            sys::BASE_BINARY => abi::BASE_BINARY,
            sys::BASE_DECIMAL => abi::BASE_DECIMAL,
            number => return Err(unknown("metric base", number)),
        };
        Ok(Self { mode, value_type, base })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metric(mode: u32, value_type: u32, base: u32) -> Metric {
        Metric {
            name: "m".to_owned(),
            description: String::new(),
            unit: String::new(),
            mode,
            value_type,
            base,
            exponent: 0,
        }
    }

    /// The expected numbers are `OTF2_METRIC_ACCUMULATED_START` to `OTF2_METRIC_RELATIVE_NEXT`.
    #[test]
    fn every_mode_is_known() {
        let modes: Vec<u8> = (0..10).map(|mode| Properties::from_score_p(&metric(mode, 0, 0)).unwrap().mode).collect();
        assert_eq!(modes, [0, 16, 32, 48, 17, 33, 49, 18, 34, 50]);
    }

    #[test]
    fn types_and_bases() {
        let double = Properties::from_score_p(&metric(5, 2, 1)).unwrap();
        assert_eq!((double.value_type, double.base), (10, 1));
        assert_eq!(Properties::from_score_p(&metric(0, 0, 0)).unwrap().value_type, 8);
        assert_eq!(Properties::from_score_p(&metric(0, 1, 0)).unwrap().value_type, 4);
    }

    #[test]
    fn unknown_numbers_are_named() {
        for (wrong, what) in
            [(metric(10, 0, 0), "metric mode"), (metric(0, 3, 0), "value type"), (metric(0, 0, 2), "metric base")]
        {
            let text = Properties::from_score_p(&wrong).unwrap_err().to_string();
            assert!(text.contains(what) && text.starts_with("metric m:"), "{text}");
        }
    }
}

/// Layout of the METRIC records of a location.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MetricLayout {
    /// Number of the metric class.
    pub(super) set: u32,
    /// `OTF2_Type` of each value.
    pub(super) types: Vec<u8>,
}
