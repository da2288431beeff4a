//! The listeners of a communicator's readers: the assembly, and the standing where it is kept.

use crate::collect::assembly::Assembly;
use crate::collect::reader::Listener;
use crate::collect::standing::Standing;
use crate::record::pool::Pool;
use crate::record::slot::SlotContent;

/// See the module.
pub(super) struct Listeners<'a> {
    pub assembly: &'a mut Assembly,
    pub standing: Option<&'a mut Standing>,
}

impl Listener for Listeners<'_> {
    #[inline]
    fn begun(&mut self, pool: &Pool, event: &SlotContent) {
        if let Some(standing) = &mut self.standing {
            standing.begun(event);
        }
        self.assembly.begun(pool, event);
    }

    #[inline]
    fn ended(&mut self, event: &SlotContent) {
        if let Some(standing) = &mut self.standing {
            standing.ended(event, false);
        }
        self.assembly.ended(event);
    }

    #[inline]
    fn passed(&mut self, pool: &Pool, event: &SlotContent) {
        if let Some(standing) = &mut self.standing {
            standing.passed(event);
        }
        self.assembly.passed(pool, event);
    }

    #[inline]
    fn awaits(&mut self, handle: u64) -> bool {
        self.assembly.awaits(handle)
    }

    #[inline]
    fn abandoned(&mut self, event: &SlotContent) {
        if let Some(standing) = &mut self.standing {
            standing.ended(event, true);
        }
        self.assembly.abandoned(event);
    }
}
