//! Memory set aside for the time after memory has run out. A failed allocation ends a Rust process, and this library is
//! a guest in somebody's job.
//!
//! The library's allocator is the C library's. When that returns NULL, the library switches itself off ([`switch`]) and
//! finishes its work in progress with memory that was set aside at the first callback. A thread of the library that
//! needs more than that stops for good. The application's threads need a bounded amount (docs/security.md).

use crate::base::{mapping, own_thread, switch};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Bytes set aside. The kernel commits a page when it is touched first. Half of the bytes are for the application's
/// threads alone.
const BYTES: usize = 4 << 20;
/// Bytes of static memory, available from the start: enough to warn that memory has run out.
const FIRST: usize = 16 << 10;
/// Largest allocation that one of the library's threads gets from the reserve, bytes. Allocations made under a lock
/// that the application's threads may wait for are smaller.
const SMALL: usize = 64 << 10;

/// The library's allocator.
#[derive(Debug)]
pub(crate) struct Reserve;

/// A range of addresses that hands out pieces one behind the other. Only the last piece can be given back.
struct ReservedRegion {
    /// First address; 0 before the range exists.
    first: AtomicUsize,
    length: usize,
    /// Bytes handed out.
    used: AtomicUsize,
}

#[repr(align(64))]
struct Bytes(UnsafeCell<[u8; FIRST]>);

// SAFETY: `ReservedRegion::take` hands out every piece to one caller alone.
unsafe impl Sync for Bytes {}

static START: Bytes = Bytes(UnsafeCell::new([0; FIRST]));
static REGIONS: [ReservedRegion; 2] = [ReservedRegion::new(FIRST), ReservedRegion::new(BYTES)];

/// Sets memory aside, once. Returns false if the system has none. Later calls cost one atomic load.
#[inline]
pub(crate) fn prepare() -> bool {
    // no `Once`: a child that is forked while `Once` runs would wait for its end for ever
    static DONE: AtomicBool = AtomicBool::new(false);
    DONE.load(Ordering::Relaxed) || DONE.swap(true, Ordering::Relaxed) || set_aside()
}

#[cold]
fn set_aside() -> bool {
    REGIONS[0].first.store(START.0.get() as usize, Ordering::Release);
    let Ok(address) = mapping::reserved(BYTES) else { return false };
    REGIONS[1].first.store(address.as_ptr() as usize, Ordering::Release);
    true
}

impl ReservedRegion {
    const fn new(length: usize) -> Self {
        Self { first: AtomicUsize::new(0), length, used: AtomicUsize::new(0) }
    }

    fn holds(&self, address: usize) -> bool {
        let first = self.first.load(Ordering::Acquire);
        first != 0 && address.wrapping_sub(first) < self.length
    }

    /// Takes a piece out of the first `most` bytes of the region, or returns NULL.
    fn take(&self, layout: Layout, most: usize) -> *mut u8 {
        let first = self.first.load(Ordering::Acquire);
        if first == 0 {
            return null_mut();
        }
        let place = |used: usize| (first + used).checked_next_multiple_of(layout.align());
        let behind = |used: usize| Some(place(used)?.checked_add(layout.size())? - first).filter(|&end| end <= most);
        match self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, behind) {
            Ok(used) => place(used).map_or(null_mut(), |place| place as *mut u8),
            Err(_) => null_mut(),
        }
    }

    /// Changes the length of a piece from `before` to `after` bytes. Returns whether it has: the piece must be the last
    /// one, and must end within the first `most` bytes.
    fn resize(&self, piece: usize, before: usize, after: usize, most: usize) -> bool {
        let start = piece - self.first.load(Ordering::Acquire);
        let Some(end) = start.checked_add(after).filter(|&end| end <= most) else { return false };
        self.used.compare_exchange(start + before, end, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Returns how many bytes, from the first one, the calling thread may use for a piece of `size` bytes. The rest is
    /// for the application's threads.
    fn share(&self, size: usize, is_own: bool) -> usize {
        match is_own {
            false => self.length,
            true if size > SMALL => 0,
            true => self.length / 2,
        }
    }
}

fn region_of(piece: *mut u8) -> Option<&'static ReservedRegion> {
    REGIONS.iter().find(|region| region.holds(piece as usize))
}

/// Switches the library off and takes a piece of the memory set aside; NULL if there is none left for an application's
/// thread. Does not return to a thread of the library that asks for more than is left for it.
#[cold]
fn instead(layout: Layout) -> *mut u8 {
    switch::out_of_memory();
    let is_own = own_thread::is_own();
    // the static region last: the warning needs it
    let mut pieces = REGIONS.iter().rev().map(|region| region.take(layout, region.share(layout.size(), is_own)));
    match pieces.find(|piece| !piece.is_null()) {
        Some(piece) => piece,
        // `alloc` must not unwind, and a caller that gets NULL ends the process
        None if is_own => own_thread::stop(),
        None => null_mut(),
    }
}

// Not inlined: thousands of places allocate.
// SAFETY: System upholds the contract for its memory. Pieces of the regions are long enough, aligned, and handed out to
// one caller at a time.
unsafe impl GlobalAlloc for Reserve {
    #[inline(never)]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `alloc`.
        let found = unsafe { System.alloc(layout) };
        if found.is_null() { instead(layout) } else { found }
    }

    #[inline(never)]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller upholds the contract of `alloc_zeroed`.
        let found = unsafe { System.alloc_zeroed(layout) };
        if !found.is_null() {
            return found;
        }
        let piece = instead(layout);
        if !piece.is_null() {
            // SAFETY: the piece is that long. It is written because it may have been in use before.
            unsafe { piece.write_bytes(0, layout.size()) };
        }
        piece
    }

    #[inline(never)]
    unsafe fn dealloc(&self, piece: *mut u8, layout: Layout) {
        match region_of(piece) {
            Some(region) => _ = region.resize(piece as usize, layout.size(), 0, region.length),
            // SAFETY: the caller upholds the contract of `dealloc`; a piece of no region came from System.
            None => unsafe { System.dealloc(piece, layout) },
        }
    }

    #[inline(never)]
    unsafe fn realloc(&self, piece: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let region = region_of(piece);
        // SAFETY: the caller guarantees that the size is in range for the alignment.
        let wanted = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        let from_system = match region {
            Some(region) if size <= layout.size() => {
                // a piece that is not the last one keeps its length
                region.resize(piece as usize, layout.size(), size, region.length);
                return piece;
            }
            // there may be memory again
            // SAFETY: the caller upholds the contract of `realloc`, so the layout is valid.
            Some(_) => unsafe { System.alloc(wanted) },
            None => {
                // SAFETY: the caller upholds the contract of `realloc`; a piece of no region came from System.
                let moved = unsafe { System.realloc(piece, layout, size) };
                if !moved.is_null() {
                    return moved;
                }
                null_mut()
            }
        };
        let grows = |region: &ReservedRegion| {
            let most = region.share(size, own_thread::is_own());
            region.resize(piece as usize, layout.size(), size, most)
        };
        let found = match region {
            _ if !from_system.is_null() => from_system,
            Some(region) if grows(region) => return piece,
            _ => instead(wanted),
        };
        if !found.is_null() {
            // SAFETY: the two pieces do not overlap and are at least that long; the old one is given back once, to its
            // own source.
            unsafe {
                found.copy_from_nonoverlapping(piece, size.min(layout.size()));
                self.dealloc(piece, layout);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(size: usize) -> Layout {
        Layout::from_size_align(size, 16).unwrap()
    }

    #[test]
    fn pieces_lie_one_behind_the_other_and_the_last_one_may_grow_and_go() {
        let memory = vec![0_u64; 64];
        let region = ReservedRegion::new(512);
        assert!(region.take(bytes(1), 512).is_null(), "nothing is set aside yet");
        region.first.store(memory.as_ptr() as usize, Ordering::Relaxed);
        let [one, two] = [100, 60].map(|size| region.take(bytes(size), 512) as usize);
        assert!(one % 16 == 0 && two % 16 == 0 && two >= one + 100 && region.holds(two + 59));
        assert!(!region.resize(one, 100, 200, 512), "another one lies behind it");
        assert!(region.resize(two, 60, 300, 512) && !region.resize(two, 300, 500, 512));
        assert!(region.take(bytes(200), 512).is_null());
        assert!(region.resize(two, 300, 0, 512));
        assert_eq!(region.take(bytes(200), 512) as usize, two);
        assert!(region.take(bytes(1), 100).is_null() && !region.holds(memory.as_ptr() as usize + 512));
    }

    #[test]
    fn a_thread_of_ours_grows_within_its_half_and_its_small_pieces() {
        let memory = vec![0_u64; (4 * SMALL) / 8];
        let region = ReservedRegion::new(4 * SMALL);
        region.first.store(memory.as_ptr() as usize, Ordering::Relaxed);
        let grown = |size, is_own| {
            let piece = region.take(bytes(64), region.length) as usize;
            let has_grown = region.resize(piece, 64, size, region.share(size, is_own));
            region.used.store(0, Ordering::Relaxed);
            has_grown
        };
        assert!(grown(SMALL, true) && !grown(SMALL + 1, true) && grown(4 * SMALL, false));
        region.used.store(SMALL * 3 / 2, Ordering::Relaxed);
        assert!(!grown(SMALL, true), "that is the others' half");
    }

    #[test]
    fn a_piece_that_shrinks_stays_and_one_that_grows_asks_the_system_again() {
        assert!(prepare());
        let (large, small) = (bytes(4096), bytes(32));
        let [piece, behind] = [large, small].map(|layout| REGIONS[1].take(layout, BYTES));
        assert!(!piece.is_null() && !behind.is_null());
        // SAFETY: both pieces are that long and belong to this test alone; each is given back once, with its last
        // length.
        unsafe {
            piece.write_bytes(7, 4096);
            let shrunk = Reserve.realloc(piece, large, 100);
            assert_eq!(shrunk, piece, "another one lies behind it");
            let grown = Reserve.realloc(shrunk, bytes(100), 8192);
            assert!(region_of(grown).is_none(), "the system has memory");
            assert!(std::slice::from_raw_parts(grown, 100).iter().all(|&byte| byte == 7));
            Reserve.dealloc(grown, bytes(8192));
            // so does growing the last piece
            let grown = Reserve.realloc(behind, small, 64);
            assert!(region_of(grown).is_none(), "the system has memory");
            Reserve.dealloc(grown, bytes(64));
        }
    }
}
