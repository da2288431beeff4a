//! The cells of all threads, and the search for the calling thread's.

use super::ThreadCell;
#[cfg(not(loom))]
use super::at_hand;
use crate::base::own_thread;
use crate::base::sync::{AtomicPtr, Ordering};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Most threads that can be alive at a time and be recorded.
pub const MOST_THREADS: usize = if cfg!(loom) { 4 } else { 16_384 };

/// Every cell ever made, in order and without gaps. A thread puts its cell in the first place that is NULL, and no
/// place becomes NULL again. There is no lock: a signal handler may make a callback or end the process in the midst of a
/// thread's first callback, and would wait for that lock for ever.
#[cfg(not(loom))]
static CELLS: [AtomicPtr<ThreadCell>; MOST_THREADS] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST_THREADS];
// a model needs a new array at every interleaving
#[cfg(loom)]
loom::lazy_static! {
    static ref CELLS: [AtomicPtr<ThreadCell>; MOST_THREADS] = std::array::from_fn(|_| AtomicPtr::default());
}
/// Operations and bytes enqueued, and nanoseconds in the API, of threads whose cells went to other threads.
static RETIRED: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];
/// Callbacks of threads without a cell.
static CALLBACKS_WITHOUT: AtomicU64 = AtomicU64::new(0);
/// Starts among these callbacks; their events are dropped.
static STARTS_WITHOUT: AtomicU64 = AtomicU64::new(0);
/// Threads that got no cell.
static TURNED_AWAY: AtomicU64 = AtomicU64::new(0);

#[cfg(loom)]
mod at_hand {
    //! Replacement in a model, whose threads end with their thread-local variables.

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

/// Returns the cell at a place, if there is one.
#[inline]
fn at(place: &AtomicPtr<ThreadCell>) -> Option<&'static ThreadCell> {
    // SAFETY: the pointer is NULL, or a cell that `make` has put there, which lives as long as the process.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

impl ThreadCell {
    /// Makes the key under which threads keep their cells.
    ///
    /// # Errors
    /// Fails when the process has no more keys.
    pub fn prepare() -> io::Result<()> {
        #[cfg(not(loom))]
        at_hand::prepare()?;
        Ok(())
    }

    /// Returns the calling thread's cell and its number. The first call makes the cell, and it is the only one that
    /// allocates. `None` where there is no memory, and for threads beyond [`MOST_THREADS`].
    #[inline]
    pub fn current() -> Option<(&'static Self, usize)> {
        let cell = at_hand::get().or_else(Self::first)?;
        Some((cell, cell.number.load(Ordering::Relaxed) as usize))
    }

    /// Like [`ThreadCell::current`], for a callback. Counts the callback of a thread without a cell; `starts` says
    /// whether it is the start of an event.
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
        // a signal handler has made the thread's first callback while this one was under way
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

    /// Lets another thread have the cell, because its own thread has ended.
    pub(super) fn give_up(&self) {
        self.owned.store(false, Ordering::Release);
    }

    #[cold]
    fn count_without(starts: bool) {
        CALLBACKS_WITHOUT.fetch_add(1, Ordering::Relaxed);
        STARTS_WITHOUT.fetch_add(u64::from(starts), Ordering::Relaxed);
    }

    /// Returns the start callbacks of threads without a cell so far.
    fn starts_without() -> u64 {
        STARTS_WITHOUT.load(Ordering::Relaxed)
    }

    /// Returns the sum of a count over all cells.
    pub fn total(count: impl Fn(&Self) -> u64) -> u64 {
        Self::all().fold(0, |sum: u64, cell| sum.saturating_add(count(cell)))
    }

    /// Returns the callbacks of all threads so far.
    pub fn all_callbacks() -> u64 {
        Self::total(Self::callbacks).saturating_add(CALLBACKS_WITHOUT.load(Ordering::Relaxed))
    }

    /// Returns the start callbacks of all threads so far.
    pub fn all_events() -> u64 {
        Self::total(|cell| cell.events.get()).saturating_add(Self::starts_without())
    }

    /// Returns the events dropped so far, of all threads.
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
            cell.system_id.store(u32::try_from(own_thread::number()).unwrap_or(0), Ordering::Relaxed);
            // SAFETY: pthread_self has no preconditions.
            cell.handle.store(unsafe { libc::pthread_self() }, Ordering::Relaxed);
            cell.now();
        }
        found
    }

    /// Resets the cell when another thread takes it over.
    fn begin_anew(&self) {
        self.forget_api();
        self.progress.begin_anew();
        for launch in self.launching.forget().into_iter().flatten() {
            if let Some(recorder) = crate::record::recorder::begun() {
                recorder.launches.give_back(launch);
            }
        }
        // the new thread's own counts begin at 0; the old thread's stay in the process' sums
        for (count, retired) in [&self.enqueued_ops, &self.enqueued_bytes, &self.api_time].into_iter().zip(&RETIRED) {
            let amount = count.0.swap(0, Ordering::Relaxed);
            let _ = retired.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |sum| Some(sum.saturating_add(amount)));
        }
    }

    /// Makes another cell, in its final place: on the way over the stack it would take more stack than some threads
    /// have.
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
                // whoever finds the cell sees its initial contents
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

    /// Returns the operations and bytes enqueued, and the nanoseconds in the API, of all threads there ever were.
    pub fn of_all_threads() -> [u64; 3] {
        let counts = |cell: &Self| [cell.enqueued_ops.get(), cell.enqueued_bytes.get(), cell.api_time.get()];
        let retired = RETIRED.each_ref().map(|count| count.load(Ordering::Relaxed));
        Self::all()
            .map(counts)
            .fold(retired, |sums, counts| std::array::from_fn(|place| sums[place].saturating_add(counts[place])))
    }

    /// Returns the cell of that number.
    #[inline]
    pub fn get(number: usize) -> Option<&'static Self> {
        at(CELLS.get(number)?)
    }

    /// Lists all cells.
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
