//! A shelf: a fixed number of places for items that callbacks and the library's threads pass to each other.
//!
//! A signal handler may leave a callback at any instruction, so that the thread never completes what it was about. On a
//! shelf nobody waits for such a thread: each change is one exchange of a word, and a thread that is left between two
//! of them loses its item and its place. (A ring such as crossbeam's `ArrayQueue` first reserves a place and marks it
//! later, and whoever takes items waits for the mark, for ever.)
//!
//! Two stacks hold the numbers of the empty and of the full places. The thread that takes a number from a stack has the
//! place to itself until it puts the number on a stack again.

use crate::base::sync::{AtomicU32, AtomicU64, Ordering, UnsafeCell};
use std::mem::MaybeUninit;

/// Places of a shelf for what there is once: a handler that leaves a callback may cost one.
pub const FEW: u16 = 4;

/// Bits of a stack for a place.
const PLACE_BITS: u32 = u16::BITS;
/// The number of no place.
const NONE: u16 = u16::MAX;

/// A place: its item, and the number of the place below it in its stack.
#[derive(Debug)]
struct Place<T> {
    below: AtomicU32,
    item: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Place<T> {
    fn below(&self) -> u16 {
        self.below.load(Ordering::Relaxed) as u16
    }
}

/// Items on their way between threads.
#[derive(Debug)]
pub struct Shelf<T> {
    places: Box<[Place<T>]>,
    empty: Stack,
    full: Stack,
}

// SAFETY: an item is only touched by the thread that has taken its place's number from a stack, and stacks order what
// one thread does before it puts a number there before what the next one does with it. So items move between threads,
// which `Send` allows, and are never shared.
unsafe impl<T: Send> Sync for Shelf<T> {}

impl<T> Shelf<T> {
    /// Makes an empty shelf with this number of places.
    pub fn new(places: u16) -> Self {
        let place = |_| Place { below: AtomicU32::new(NONE.into()), item: UnsafeCell::new(MaybeUninit::uninit()) };
        let shelf = Self { places: (0..places).map(place).collect(), empty: Stack::new(), full: Stack::new() };
        (0..places).rev().for_each(|place| shelf.empty.put(&shelf.places, place));
        shelf
    }

    /// Returns whether no item is there.
    pub fn is_empty(&self) -> bool {
        self.full.first() == NONE
    }

    /// Puts an item on the shelf.
    ///
    /// # Errors
    /// Gives the item back if all places are taken.
    pub fn put(&self, item: T) -> Result<(), T> {
        let Some((number, place)) = self.empty.take(&self.places) else { return Err(item) };
        // SAFETY: this thread has taken the place's number, so nobody else touches its item.
        place.item.with_mut(|place| unsafe { (*place).write(item) });
        self.full.put(&self.places, number);
        Ok(())
    }

    /// Takes the item that was put there last.
    pub fn take(&self) -> Option<T> {
        let (number, place) = self.full.take(&self.places)?;
        // SAFETY: this thread has taken the place's number. It was on the stack of full places, so an item was written.
        let item = place.item.with_mut(|item| unsafe { (*item).assume_init_read() });
        self.empty.put(&self.places, number);
        Some(item)
    }

    /// Takes all items, in the order in which they were put there. Not for callbacks, because it allocates.
    pub fn take_all(&self) -> Vec<T> {
        let mut items = Vec::new();
        let mut number = self.full.take_chain();
        while let Some(place) = self.places.get(usize::from(number)) {
            // read before the number is put back
            let below = place.below();
            // SAFETY: this thread has taken the number with all below it, and the stack had full places only.
            items.push(place.item.with_mut(|item| unsafe { (*item).assume_init_read() }));
            self.empty.put(&self.places, number);
            number = below;
        }
        items.reverse();
        items
    }
}

impl<T> Drop for Shelf<T> {
    fn drop(&mut self) {
        self.take_all();
    }
}

/// A stack of places: the number of its changes, 48 bits, and the first place. With the number of changes, a thread that
/// was away for a while does not take a stack for unchanged because the same place is first again.
#[derive(Debug)]
struct Stack(AtomicU64);

impl Stack {
    fn new() -> Self {
        Self(AtomicU64::new(NONE.into()))
    }

    fn first(&self) -> u16 {
        first(self.0.load(Ordering::Acquire))
    }

    fn put<T>(&self, places: &[Place<T>], number: u16) {
        let Some(place) = places.get(usize::from(number)) else { return };
        let mut stack = self.0.load(Ordering::Relaxed);
        loop {
            place.below.store(first(stack).into(), Ordering::Relaxed);
            // whoever takes the number sees what was done before: all changes are exchanges, which go on what this
            // one has released
            match self.0.compare_exchange_weak(stack, changed(stack, number), Ordering::Release, Ordering::Relaxed) {
                Ok(_) => return,
                Err(other) => stack = other,
            }
        }
    }

    fn take<'a, T>(&self, places: &'a [Place<T>]) -> Option<(u16, &'a Place<T>)> {
        let mut stack = self.0.load(Ordering::Acquire);
        loop {
            let number = first(stack);
            let place = places.get(usize::from(number))?;
            match self.0.compare_exchange_weak(
                stack,
                changed(stack, place.below()),
                Ordering::Acquire,
                Ordering::Acquire,
            ) {
                Ok(_) => return Some((number, place)),
                Err(other) => stack = other,
            }
        }
    }

    /// Takes all numbers: returns the first one, from which `below` leads on.
    fn take_chain(&self) -> u16 {
        let mut stack = self.0.load(Ordering::Acquire);
        while first(stack) != NONE {
            match self.0.compare_exchange_weak(stack, changed(stack, NONE), Ordering::Acquire, Ordering::Acquire) {
                Ok(_) => return first(stack),
                Err(other) => stack = other,
            }
        }
        NONE
    }
}

fn first(stack: u64) -> u16 {
    stack as u16
}

/// Returns a stack with another first place, one change later.
fn changed(stack: u64, first: u16) -> u64 {
    (stack >> PLACE_BITS).wrapping_add(1) << PLACE_BITS | u64::from(first)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn items_come_back_once_and_all_in_order() {
        let shelf = Shelf::new(3);
        assert!(shelf.is_empty() && shelf.take().is_none() && shelf.take_all().is_empty());
        assert_eq!([1, 2, 3, 4].map(|item| shelf.put(item)), [Ok(()), Ok(()), Ok(()), Err(4)]);
        assert_eq!(shelf.take(), Some(3));
        assert_eq!(shelf.put(5), Ok(()));
        assert_eq!(shelf.take_all(), [1, 2, 5]);
        assert!(shelf.is_empty());
    }

    #[test]
    fn what_is_left_on_the_shelf_goes_with_it() {
        let item = Arc::new(());
        let shelf = Shelf::new(2);
        assert!(shelf.put(item.clone()).is_ok());
        drop(shelf);
        assert_eq!(Arc::strong_count(&item), 1);
    }

    /// A handler has left one thread between its two exchanges, while it put an item there, and another one while it
    /// took one.
    #[test]
    fn nobody_waits_for_a_thread_that_was_left() {
        let shelf = Shelf::new(4);
        assert_eq!([1, 2].map(|item| shelf.put(item)), [Ok(()), Ok(())]);
        shelf.empty.take(&shelf.places).unwrap();
        shelf.full.take(&shelf.places).unwrap();
        assert_eq!(shelf.put(3), Ok(()));
        assert_eq!(shelf.put(4), Err(4), "two places are lost");
        assert_eq!(shelf.take_all(), [1, 3]);
        assert_eq!((shelf.put(5), shelf.take()), (Ok(()), Some(5)));
    }

    #[test]
    fn each_item_of_many_threads_comes_back_once() {
        const EACH: usize = 20_000;
        let shelf = Shelf::new(64);
        let taken = std::sync::Mutex::new(vec![0u8; 4 * EACH]);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let (shelf, taken) = (&shelf, &taken);
                scope.spawn(move || {
                    for item in 0..EACH {
                        let mut item = thread * EACH + item;
                        while let Err(back) = shelf.put(item) {
                            item = back;
                            std::thread::yield_now();
                        }
                        let some =
                            if item.is_multiple_of(16) { shelf.take_all() } else { shelf.take().into_iter().collect() };
                        let mut taken = taken.lock().unwrap();
                        some.into_iter().for_each(|item: usize| taken[item] += 1);
                    }
                });
            }
        });
        shelf.take_all().into_iter().for_each(|item| taken.lock().unwrap()[item] += 1);
        assert!(taken.into_inner().unwrap().iter().all(|&times| times == 1));
    }
}
