//! Conversion of Score-P's numbers for regions to OTF2's.

use super::abi;
use crate::trace::LaneRegion;

/// A region of the archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ArchiveRegion<'a> {
    pub(super) name: &'a str,
    /// `OTF2_RegionRole`.
    pub(super) role: u8,
    /// `OTF2_Paradigm`.
    pub(super) paradigm: u8,
}

impl<'a> ArchiveRegion<'a> {
    /// Returns the region of an NCCL function that a thread calls. Role and paradigm are those that Score-P gives to
    /// functions of a wrapped library.
    pub(super) fn of_thread(name: &'a str) -> Self {
        Self { name, role: abi::ROLE_WRAPPER, paradigm: abi::PARADIGM_NONE }
    }

    /// Returns the region of a lane; translates the values of `SCOREP_RegionType` and `SCOREP_ParadigmType` that lanes
    /// have.
    pub(super) fn of_lane(region: &'a LaneRegion) -> Self {
        let role = match region.kind {
            11 => abi::ROLE_ONE_TO_ALL,
            12 => abi::ROLE_ALL_TO_ONE,
            13 => abi::ROLE_ALL_TO_ALL,
            14 => abi::ROLE_COLLECTIVE,
            15 => abi::ROLE_POINT_TO_POINT,
            36 => abi::ROLE_ARTIFICIAL,
            _ => abi::ROLE_UNKNOWN,
        };
        let paradigm = if region.paradigm == 11 { abi::PARADIGM_CUDA } else { abi::PARADIGM_UNKNOWN };
        Self { name: &region.name, role, paradigm }
    }
}
