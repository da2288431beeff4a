//! Conversion of Score-P's numbers for regions to OTF2's.

use super::abi;
use crate::trace::LaneRegion;
use scorep_substrate::sys;

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
        Self { name, role: abi::REGION_ROLE_WRAPPER, paradigm: abi::PARADIGM_NONE }
    }

    /// Returns the region of a lane; translates the values of `SCOREP_RegionType` and `SCOREP_ParadigmType` that lanes
    /// have.
    pub(super) fn of_lane(region: &'a LaneRegion) -> Self {
        let role = match region.kind {
            sys::REGION_COLL_ONE2ALL => abi::REGION_ROLE_COLL_ONE2ALL,
            sys::REGION_COLL_ALL2ONE => abi::REGION_ROLE_COLL_ALL2ONE,
            sys::REGION_COLL_ALL2ALL => abi::REGION_ROLE_COLL_ALL2ALL,
            sys::REGION_COLL_OTHER => abi::REGION_ROLE_COLL_OTHER,
            sys::REGION_POINT2POINT => abi::REGION_ROLE_POINT2POINT,
            sys::REGION_ARTIFICIAL => abi::REGION_ROLE_ARTIFICIAL,
            _ => abi::REGION_ROLE_UNKNOWN,
        };
        let paradigm = if region.paradigm == sys::PARADIGM_CUDA { abi::PARADIGM_CUDA } else { abi::PARADIGM_UNKNOWN };
        Self { name: &region.name, role, paradigm }
    }
}
