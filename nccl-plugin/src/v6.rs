//! Interface v6, NCCL 2.29 and 2.30: v5, and collectives by copy engine.

use crate::entry::ProfilerTable;
use crate::kind::event;
use crate::v5::{self, Init, V5, init};
use crate::version::{Start, Version};
use common::event::Event;
use common::log;
use std::sync::Once;

/// v6's event descriptor: v5's, with members in the union for what copy engines do; none of these is larger.
#[repr(transparent)]
pub struct Descriptor(v5::Descriptor);

/// Interface v6.
#[derive(Debug)]
pub struct V6;

impl Version for V6 {
    type Descriptor = Descriptor;
    const MASK: u64 = V5::MASK;
    const API_CALLS: bool = true;

    /// NCCL 2.29 and 2.30 can hang a job that broadcasts when kernel events are asked for, whatever the plugin does with them,
    /// unless NCCL_ALLGATHERV_ENABLE=0. So they are asked for only then.
    fn mask() -> u64 {
        if std::env::var_os("NCCL_ALLGATHERV_ENABLE").is_some_and(|value| value == "0") {
            return Self::MASK;
        }
        static TOLD: Once = Once::new();
        TOLD.call_once(|| {
            log::warn(
                "GPU times are off: with NCCL 2.29 and 2.30 they can hang a job that broadcasts. Set NCCL_ALLGATHERV_ENABLE=0 \
                 to have them.",
            );
        });
        Self::MASK & !event::KERNEL_CH
    }

    unsafe fn decode<'a>(descriptor: *const Descriptor) -> Start<'a> {
        // SAFETY: the caller's; what v5 has lies in the same places.
        let start = unsafe { V5::decode(&raw const (*descriptor).0) };
        // SAFETY: as above.
        match unsafe { (*descriptor).0.kind() } {
            event::CE_COLL | event::CE_SYNC | event::CE_BATCH => Start { event: Event::Unused, ..start },
            _ => start,
        }
    }
}

/// The table that NCCL 2.29 and 2.30 look up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v6: ProfilerTable<Init, Descriptor> = ProfilerTable::new::<V6>(init::<V6>);
