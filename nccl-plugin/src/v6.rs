//! Interface v6, NCCL 2.29 and 2.30: v5, and collectives by copy engine.

use crate::descriptor::{Descriptor, Payload};
use crate::entry::ProfilerTable;
use crate::kind::event;
use crate::payload::{CeBatch, CeColl, CeSync, Wide};
use crate::v5::{self, Init, init};
use crate::version::Version;

/// v6's event descriptor.
pub type Raw = Wide<Union>;

/// What v5 has, and what copy engines do.
#[repr(C)]
pub union Union {
    v5: v5::Union,
    ce_coll: CeColl,
    ce_sync: CeSync,
    ce_batch: CeBatch,
}

/// Reads the member of the union that the type names.
///
/// # Safety
/// NCCL filled that member in; its strings are alive as long as `'a`.
pub(crate) unsafe fn payload<'a>(kind: u64, union: *const Union) -> Payload<'a> {
    // SAFETY: the caller's; what v5 has lies in the same places.
    unsafe {
        match kind {
            event::CE_COLL => Payload::CeColl((*union).ce_coll.decode()),
            event::CE_SYNC => (*union).ce_sync.decode(),
            event::CE_BATCH => (*union).ce_batch.decode(),
            kind => v5::payload(kind, &raw const (*union).v5),
        }
    }
}

/// Interface v6.
#[derive(Debug)]
pub struct V6;

impl Version for V6 {
    type Raw = Raw;
    const NUMBER: u32 = 6;
    const TYPES: u64 = (event::CE_BATCH << 1) - 1;
    const API_CALLS: bool = true;

    unsafe fn decode<'a>(raw: *const Raw) -> Descriptor<'a> {
        // SAFETY: the caller's.
        unsafe { (*raw).descriptor(|kind, union| payload(kind, union)) }
    }
}

/// The table that NCCL 2.29 and 2.30 look up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v6: ProfilerTable<Init, Raw> = ProfilerTable::new::<V6>(init::<V6>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_descriptor_is_no_larger_than_v5s() {
        assert_eq!((size_of::<Union>(), size_of::<Raw>()), (88, 112));
    }
}
