//! The numbers by which Score-P reads counters. Score-P reads each before every enter and exit. So a number is an index
//! into a table of addresses, and a read is two loads.

use common::board;
use common::metric::{COUNTERS, Fixed};
use common::thread::{Count, MOST_THREADS, ThreadCell};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};

/// Number of a counter that stays 0; outside the table.
pub(crate) const CONSTANT: i32 = i32::MAX;

/// Selects a count of a thread.
type OfThread = fn(&ThreadCell) -> &Count;
/// The counters that each thread has for itself.
const OF_THREAD: [(Fixed, OfThread); 3] = [
    (Fixed::EnqueuedOps, |cell| &cell.enqueued_ops),
    (Fixed::EnqueuedBytes, |cell| &cell.enqueued_bytes),
    (Fixed::ApiTime, |cell| &cell.api_time),
];

/// Addresses of the values: the process's counters by their index in `counters`, then the counters of each thread. NULL
/// until the number is given out.
static VALUES: [AtomicPtr<AtomicU64>; COUNTERS + OF_THREAD.len() * MOST_THREADS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; COUNTERS + OF_THREAD.len() * MOST_THREADS];

/// Value of each number that [`changed`] has returned last, [`NONE`] at first; and whether that was at the last call.
static RETURNED: [(AtomicU64, AtomicBool); VALUES.len()] =
    [const { (AtomicU64::new(NONE), AtomicBool::new(false)) }; VALUES.len()];
/// No value of a counter.
const NONE: u64 = u64::MAX;

/// Returns the number of a counter of the process.
pub(crate) fn of_process(counter: usize) -> i32 {
    board::value(counter).map_or(CONSTANT, |value| give(counter, value))
}

/// Returns the number of a thread's own counter.
pub(crate) fn of_thread(counter: usize, cell: &'static ThreadCell, thread: usize) -> i32 {
    let own = OF_THREAD.iter().enumerate().find(|(_, (own, _))| *own as usize == counter);
    own.map_or(CONSTANT, |(place, (_, count))| give(COUNTERS + thread * OF_THREAD.len() + place, count(cell).value()))
}

fn give(place: usize, value: &'static AtomicU64) -> i32 {
    match (VALUES.get(place), i32::try_from(place)) {
        (Some(entry), Ok(id)) => {
            entry.store(ptr::from_ref(value).cast_mut(), Ordering::Release);
            forget(id);
            id
        }
        _ => CONSTANT,
    }
}

/// Returns the value of the counter with that number; 0 if the number was never given out.
#[inline]
pub(crate) fn read(id: i32) -> u64 {
    // as an unsigned number, a negative one is outside the table, too
    let Some(entry) = VALUES.get(id as u32 as usize) else { return 0 };
    // SAFETY: NULL, or an address that `give` took from a reference that lives as long as the process.
    let value = unsafe { entry.load(Ordering::Acquire).as_ref() };
    value.map_or(0, |value| value.load(Ordering::Relaxed))
}

/// Returns the value of the counter with that number if it is another than at the last call, and once more at the next
/// call: Score-P reads values at tasks and when it writes its memory to the file, and writes none of them. One thread
/// asks for a number.
#[inline]
pub(crate) fn changed(id: i32) -> Option<u64> {
    let (returned, was_new) = RETURNED.get(id as u32 as usize)?;
    let value = read(id);
    let is_new = value != returned.load(Ordering::Relaxed);
    let is_due = is_new || was_new.load(Ordering::Relaxed);
    returned.store(value, Ordering::Relaxed);
    was_new.store(is_new, Ordering::Relaxed);
    is_due.then_some(value)
}

/// Has the next [`changed`] return a value. Returns none.
pub(crate) fn forget(id: i32) -> Option<u64> {
    RETURNED.get(id as u32 as usize)?.0.store(NONE, Ordering::Relaxed);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_nobody_was_given_read_as_zero() {
        for id in [-1, i32::MIN, i32::MAX, CONSTANT, COUNTERS as i32 - 1, VALUES.len() as i32 - 1, VALUES.len() as i32]
        {
            assert_eq!(read(id), 0, "{id}");
        }
        assert_eq!(of_process(COUNTERS), CONSTANT);
    }

    #[test]
    fn a_number_stands_for_one_counter_of_one_thread() {
        let ids = || {
            let (cell, thread) = ThreadCell::current().unwrap();
            let [ops, bytes, time] = OF_THREAD.map(|(counter, _)| of_thread(counter as usize, cell, thread));
            cell.enqueued_bytes.add(7);
            cell.api_time.add(9);
            assert_eq!([ops, bytes, time].map(read), [0, 7, 9]);
            assert_eq!([ops, bytes, bytes, bytes].map(changed), [Some(0), Some(7), Some(7), None]);
            assert_eq!([forget(bytes), changed(bytes), changed(CONSTANT)], [None, Some(7), None]);
            assert_eq!(of_thread(Fixed::Bytes as usize, cell, thread), CONSTANT);
            [ops, bytes, time]
        };
        let here = ids();
        std::thread::scope(|scope| {
            let there = scope.spawn(ids).join().unwrap();
            assert!(there.iter().all(|id| !here.contains(id)));
        });
    }
}
