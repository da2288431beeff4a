//! All threads' cells, and which one is the calling thread's.

use super::ThreadCell;
#[cfg(not(loom))]
use super::at_hand;
#[cfg(not(loom))]
use super::key;
use crate::base::sync::{AtomicPtr, Ordering};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Threads that can be alive at a time and be recorded.
pub const MOST_THREADS: usize = if cfg!(loom) { 4 } else { 16_384 };

/// Every cell ever made, in order, without gaps: a thread puts its cell in the first place that is NULL, and none
/// becomes NULL again. No lock: a signal handler may leave a thread's first callback by siglongjmp at any place, and
/// others would wait for it for ever. Such a thread makes itself another cell.
#[cfg(not(loom))]
static CELLS: [AtomicPtr<ThreadCell>; MOST_THREADS] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST_THREADS];
// the same, anew at every interleaving of a model
#[cfg(loom)]
loom::lazy_static! {
    static ref CELLS: [AtomicPtr<ThreadCell>; MOST_THREADS] = std::array::from_fn(|_| AtomicPtr::default());
}
/// Operations and bytes enqueued, and nanoseconds in the API, of threads whose cells were handed on.
static RETIRED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// Callbacks of threads without a cell.
static CALLBACKS_WITHOUT: AtomicU64 = AtomicU64::new(0);
/// Starts among them, which are dropped.
static STARTS_WITHOUT: AtomicU64 = AtomicU64::new(0);
/// Threads that found no cell.
static TURNED_AWAY: AtomicU64 = AtomicU64::new(0);

#[cfg(loom)]
mod at_hand {
    //! A model's threads end with their variables.

    use super::ThreadCell;
    use std::cell::Cell;

    struct Ownership(Cell<Option<&'static ThreadCell>>);

    impl Drop for Ownership {
        fn drop(&mut self) {
            self.0.get().inspect(|cell| cell.give_up());
        }
    }

    loom::thread_local! {
        static OWN: Ownership = Ownership(Cell::new(None));
    }

    pub(super) fn get() -> Option<&'static ThreadCell> {
        OWN.try_with(|own| own.0.get()).ok().flatten()
    }

    pub(super) fn keep(cell: &'static ThreadCell) -> bool {
        OWN.try_with(|own| own.0.set(Some(cell))).is_ok()
    }
}

/// The cell of that place, if it has one.
#[inline]
fn at(place: &AtomicPtr<ThreadCell>) -> Option<&'static ThreadCell> {
    // SAFETY: NULL, or a cell that `make` has put there, which lives as long as the process.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

impl ThreadCell {
    /// Readies what threads keep their cells by.
    ///
    /// # Errors
    /// When the process has no room for it.
    pub fn prepare() -> io::Result<()> {
        #[cfg(not(loom))]
        key::prepare()?;
        Ok(())
    }

    /// The calling thread's cell and its number; made at the first call (the only one that allocates). `None` where
    /// there is no memory, and for threads beyond [`MOST_THREADS`].
    #[inline]
    pub fn current() -> Option<(&'static Self, usize)> {
        let cell = at_hand::get().or_else(Self::first)?;
        Some((cell, cell.number.load(Ordering::Relaxed) as usize))
    }

    /// The same for a callback. A thread without a cell has it counted, `starts` telling whether an event starts.
    #[inline(always)]
    pub fn of_callback(starts: bool) -> Option<&'static Self> {
        #[cfg(not(loom))]
        if let Some(cell) = at_hand::get() {
            return Some(cell);
        }
        Self::of_first_callback(starts)
    }

    #[cold]
    fn of_first_callback(starts: bool) -> Option<&'static Self> {
        let cell = Self::current();
        if cell.is_none() {
            Self::count_without(starts);
        }
        Some(cell?.0)
    }

    #[cold]
    fn first() -> Option<&'static Self> {
        Self::prepare().ok()?;
        let cell = Self::adopt()?;
        // a signal handler has made the thread's first callback in the midst of this one
        if let Some(kept) = at_hand::get() {
            cell.give_up();
            return Some(kept);
        }
        if !at_hand::keep(cell) {
            cell.give_up();
            return None;
        }
        Some(cell)
    }

    /// Its thread has ended: another may have it.
    pub(super) fn give_up(&self) {
        self.owned.store(false, Ordering::Release);
    }

    #[cold]
    fn count_without(starts: bool) {
        CALLBACKS_WITHOUT.fetch_add(1, Ordering::Relaxed);
        STARTS_WITHOUT.fetch_add(u64::from(starts), Ordering::Relaxed);
    }

    /// Start callbacks of threads without a cell so far.
    fn starts_without() -> u64 {
        STARTS_WITHOUT.load(Ordering::Relaxed)
    }

    /// The sum of a count over all cells.
    pub fn total(count: impl Fn(&Self) -> u64) -> u64 {
        Self::all().fold(0, |sum: u64, cell| sum.saturating_add(count(cell)))
    }

    /// Callbacks of all threads so far.
    pub fn all_callbacks() -> u64 {
        Self::total(Self::callbacks).saturating_add(CALLBACKS_WITHOUT.load(Ordering::Relaxed))
    }

    /// Start callbacks of all threads so far.
    pub fn all_events() -> u64 {
        Self::total(|cell| cell.events.get()).saturating_add(Self::starts_without())
    }

    /// Events dropped so far, by whatever thread.
    pub fn all_dropped() -> u64 {
        Self::all().fold(Self::starts_without(), |sum, cell| sum.saturating_add(cell.dropped.get()))
    }

    #[cold]
    fn adopt() -> Option<&'static Self> {
        static THREADS: AtomicU32 = AtomicU32::new(1);
        let free = |cell: &Self| cell.owned.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        let found = Self::all().find(|cell| free(cell)).inspect(|cell| cell.begin_anew()).or_else(Self::make);
        if let Some(cell) = found {
            cell.thread.store(THREADS.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
            cell.now();
        }
        found
    }

    /// Another thread takes the cell over.
    fn begin_anew(&self) {
        self.forget_api();
        for launch in self.launching.forget().into_iter().flatten() {
            if let Some(recorder) = crate::record::recorder::begun() {
                recorder.launches.give_back(launch);
            }
        }
        // what is shown of the new thread begins at 0; what the old one did is still the process'
        for (count, retired) in [&self.enqueued_ops, &self.enqueued_bytes, &self.api_time].into_iter().zip(&RETIRED) {
            let amount = count.0.swap(0, Ordering::Relaxed);
            let _ = retired.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(amount)));
        }
    }

    /// A cell more. Made in place: on the way over the stack it would take more of that than threads with a small one
    /// have. A thread that a handler takes out of here leaves the cell behind, for nobody.
    fn make() -> Option<&'static Self> {
        let mut made = None;
        for (number, place) in (0..).zip(CELLS.iter()) {
            if at(place).is_some() {
                continue;
            }
            let cell = match made {
                Some(cell) => cell,
                None => *made.insert(Self::new()?),
            };
            cell.number.store(number, Ordering::Relaxed);
            let is_first = place.compare_exchange(
                ptr::null_mut(),
                ptr::from_ref(cell).cast_mut(),
                // who finds the cell sees what it was made with
                Ordering::Release,
                Ordering::Relaxed,
            );
            if is_first.is_ok() {
                return Some(cell);
            }
        }
        TURNED_AWAY.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Operations and bytes enqueued, and nanoseconds in the API, of all threads that there ever were.
    pub fn of_all_threads() -> [u64; 3] {
        let counts = |cell: &Self| [cell.enqueued_ops.get(), cell.enqueued_bytes.get(), cell.api_time.get()];
        let retired = RETIRED.each_ref().map(|count| count.load(Ordering::Relaxed));
        Self::all()
            .map(counts)
            .fold(retired, |sums, counts| std::array::from_fn(|place| sums[place].saturating_add(counts[place])))
    }

    /// The cell of that number.
    #[inline]
    pub fn get(number: usize) -> Option<&'static Self> {
        at(CELLS.get(number)?)
    }

    /// All cells.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        CELLS.iter().map_while(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_cell_and_hands_it_on() {
        let (first, number) = std::thread::spawn(|| {
            let (cell, number) = ThreadCell::current().unwrap();
            assert!(ptr::eq(cell, ThreadCell::current().unwrap().0));
            cell.events.add(3);
            cell.enqueued_ops.add(5);
            (cell, number)
        })
        .join()
        .unwrap();
        assert!(ptr::eq(first, ThreadCell::get(number).unwrap()));
        assert!(first.events.get() >= 3);
        assert!(ThreadCell::of_all_threads()[0] >= 5);
    }
}
