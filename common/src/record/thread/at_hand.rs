//! The calling thread's cell, found in a few instructions by every callback.
//!
//! A look-up by a key of the C library costs a call. On x86-64 the processor holds a number of the running thread that
//! no other living thread has: the address of its control block (System V ABI, thread-local storage on x86-64: the word
//! at %fs:0 holds its own address). So cells are also kept in a small table by that number. A thread whose place in the
//! table is taken uses the key, and so do all threads on other processors.

use super::{ThreadCell, key};
use std::ffi::c_void;
use std::io;

/// Prepares for cells, once.
///
/// # Errors
/// Fails when the process has no more keys.
pub(super) fn prepare() -> io::Result<()> {
    /// Frees the thread's place in the table and gives up its cell.
    unsafe extern "C" fn end(cell: *mut c_void) {
        table::forget();
        // SAFETY: `key::keep` stored the pointer, and the cell lives as long as the process.
        if let Some(cell) = unsafe { cell.cast::<ThreadCell>().as_ref() } {
            cell.give_up();
        }
    }
    key::prepare(end)
}

/// Returns the thread's cell, once it was [kept](keep).
#[inline(always)]
pub(super) fn get() -> Option<&'static ThreadCell> {
    table::get().or_else(of_key)
}

/// Looks the cell up by the key. A function of its own, so that the compiler does not look it up beforehand.
#[inline(never)]
fn of_key() -> Option<&'static ThreadCell> {
    key::get()
}

/// Keeps the thread's cell at hand. Returns false where there is no memory for that.
#[cold]
pub(super) fn keep(cell: &'static ThreadCell) -> bool {
    let is_kept = key::keep(cell);
    if is_kept {
        table::keep(cell);
    }
    is_kept
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod table {
    use super::ThreadCell;
    use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

    const PLACES: usize = 256;

    /// A thread's place: its number (0 when free) and its cell, which only that thread reads and writes.
    struct Place {
        thread: AtomicUsize,
        cell: AtomicPtr<ThreadCell>,
    }

    static PLACES_OF_THREADS: [Place; PLACES] =
        [const { Place { thread: AtomicUsize::new(0), cell: AtomicPtr::new(std::ptr::null_mut()) } }; PLACES];

    /// Returns the running thread's number; never 0.
    #[inline(always)]
    fn number() -> usize {
        let number: usize;
        // SAFETY: the ABI guarantees every thread a control block that begins with its own address; nothing is written.
        unsafe { std::arch::asm!("mov {}, fs:0", out(reg) number, options(nostack, pure, readonly, preserves_flags)) };
        number
    }

    /// Returns the place for a thread. Control blocks lie as far apart as stacks, at round distances; the upper bits of
    /// a product with an odd number spread them.
    #[inline(always)]
    fn place(number: usize) -> &'static Place {
        &PLACES_OF_THREADS[number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56]
    }

    #[inline(always)]
    pub(super) fn get() -> Option<&'static ThreadCell> {
        let number = number();
        let place = place(number);
        if place.thread.load(Ordering::Relaxed) != number {
            return None;
        }
        // SAFETY: the pointer is NULL, or the cell that this very thread has kept, which lives as long as the process.
        unsafe { place.cell.load(Ordering::Relaxed).as_ref() }
    }

    pub(super) fn keep(cell: &'static ThreadCell) {
        let number = number();
        let place = place(number);
        if place.thread.compare_exchange(0, number, Ordering::Acquire, Ordering::Relaxed).is_ok() {
            place.cell.store(std::ptr::from_ref(cell).cast_mut(), Ordering::Relaxed);
        }
    }

    pub(super) fn forget() {
        let number = number();
        let place = place(number);
        if place.thread.load(Ordering::Relaxed) == number {
            place.cell.store(std::ptr::null_mut(), Ordering::Relaxed);
            place.thread.store(0, Ordering::Release);
        }
    }
}

#[cfg(not(all(target_arch = "x86_64", not(miri))))]
mod table {
    use super::ThreadCell;

    #[inline(always)]
    pub(super) fn get() -> Option<&'static ThreadCell> {
        None
    }

    pub(super) fn keep(_cell: &'static ThreadCell) {}

    pub(super) fn forget() {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_has_its_own_until_it_ends() {
        // more threads than places, all alive at a time, twice: the second ones get the first ones' control blocks
        for _ in 0..2 {
            let barrier = std::sync::Barrier::new(300);
            std::thread::scope(|scope| {
                for _ in 0..300 {
                    scope.spawn(|| {
                        assert!(get().is_none());
                        let (cell, _) = ThreadCell::current().unwrap();
                        barrier.wait();
                        assert!(std::ptr::eq(get().unwrap(), cell));
                        barrier.wait();
                        table::forget();
                        assert!(table::get().is_none() && std::ptr::eq(get().unwrap(), cell));
                    });
                }
            });
        }
    }
}
