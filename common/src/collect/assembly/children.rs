//! Children of operations: their begins and ends, and what these change in the operation.

use super::Assembly;
use crate::event::kind::EventKind;
use crate::operation::Operation;
use crate::record::pool::Pool;

impl Assembly {
    /// Returns the operation of this handle for a child's event, and marks it as heard of. Reads it from its slot if it
    /// has not been read yet. Counts an orphan if there is no such operation.
    #[inline]
    pub(super) fn parent(&mut self, pool: &Pool, handle: u64) -> Option<&mut Operation> {
        let Some(place) = self.operations.place(handle).or_else(|| self.find(pool, handle)) else {
            self.orphans += u64::from(handle != 0);
            return None;
        };
        self.hear_at(place, handle)
    }

    #[cold]
    pub(super) fn find(&mut self, pool: &Pool, handle: u64) -> Option<u32> {
        let event =
            self.living(pool, handle, |kind| matches!(kind, EventKind::Coll | EventKind::P2p | EventKind::CeColl))?;
        self.operation_begun(pool, &event);
        self.operations.place(handle)
    }

    pub(super) fn child_begun(&mut self, pool: &Pool, operation: u64, time: u64) {
        if let Some(found) = self.parent(pool, operation) {
            found.live += 1;
            found.touch(time);
        }
    }

    /// Counts the end of a child. `ended` is `None` for a child that is given up.
    pub(super) fn child_ended(&mut self, operation: u64, ended: Option<u64>) -> Option<&mut Operation> {
        // a child whose operation was settled before is an orphan: it was counted when it began
        let found = self.hear(operation)?;
        found.live = found.live.saturating_sub(1);
        match ended {
            Some(time) => found.touch(time),
            None => found.unfinished = true,
        }
        Some(found)
    }

    /// Counts that many steps of the operation as over, since they will not stop: ended at this time, or unfinished.
    pub(super) fn steps_lost(&mut self, operation: u64, steps: usize, ended: Option<u64>) {
        for _ in 0..steps {
            self.child_ended(operation, ended);
        }
    }

    /// Notes a child that has begun and ended.
    #[inline]
    pub(super) fn child_passed(
        &mut self,
        pool: &Pool,
        operation: u64,
        start: u64,
        stop: u64,
    ) -> Option<&mut Operation> {
        let found = self.parent(pool, operation)?;
        found.touch(start.max(stop));
        Some(found)
    }

    /// Returns the operation of this handle and marks it as heard of.
    #[inline]
    pub(super) fn hear(&mut self, operation: u64) -> Option<&mut Operation> {
        let place = self.operations.place(operation)?;
        self.hear_at(place, operation)
    }

    #[inline]
    fn hear_at(&mut self, place: u32, handle: u64) -> Option<&mut Operation> {
        let found = self.operations.at(place)?;
        if !found.heard {
            found.heard = true;
            self.touched.push(handle);
        }
        Some(found)
    }
}
