//! The hand-over between callbacks and the collector, in every interleaving of two threads and every order of memory that the
//! language allows: `RUSTFLAGS="--cfg loom" cargo test -p scorep-nccl-common --test loom --release`.
//!
//! What the recorder and the reader do around the shared state is told again here, since they use statics and the kernel; the state
//! itself (blocks, slots, windows, contexts, threads' cells) is the library's own. The kernel's fence is one in both threads.

#![cfg(loom)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use common::context::{Context, Contexts};
use common::handle::Handle;
use common::pool::{BLOCK_SLOTS, NONE, Pool};
use common::slot::{Kind, Slot};
use common::thread::ThreadCell;
use common::window::{Spare, WINDOWS, Window, WindowState};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};
use loom::thread;

const BLOCK_BYTES: usize = size_of::<Slot>() * BLOCK_SLOTS as usize;
/// The number of a window of another communicator, which a cell keeps in the same place as window 0.
const ELSEWHERE: u32 = 4 * WINDOWS;

/// A thread's cell that lives as long as a static one, given back when the model is over.
struct Cell(*mut ThreadCell);

// SAFETY: a shared reference to a ThreadCell may go to another thread.
unsafe impl Send for Cell {}
// SAFETY: as above.
unsafe impl Sync for Cell {}

impl Cell {
    fn new() -> Self {
        Self(Box::into_raw(Box::new(ThreadCell::default())))
    }

    fn get(&self) -> &'static ThreadCell {
        // SAFETY: not freed before the last use, when the model is over.
        unsafe { &*self.0 }
    }
}

impl Drop for Cell {
    fn drop(&mut self) {
        // SAFETY: made by Box::into_raw; no reference is used after this.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

/// What one process shares: the recording memory, one communicator, and the cell of the thread that makes callbacks.
struct Shared {
    pool: Pool,
    contexts: Contexts,
    cell: Cell,
    raw: u64,
}

impl Shared {
    /// With room for so many blocks.
    fn new(blocks: usize) -> Arc<Self> {
        let (pool, contexts) = (Pool::new(blocks * BLOCK_BYTES).unwrap(), Contexts::new().unwrap());
        let raw = contexts.open(true, 0).unwrap().raw();
        Arc::new(Self { pool, contexts, cell: Cell::new(), raw })
    }

    fn context(&self) -> &Context {
        self.contexts.at(0).unwrap()
    }

    fn window(&self, index: u32) -> &Window {
        self.context().window(index)
    }

    /// As `Recorder::is_of`.
    fn is_of(&self, spare: &Spare, window: u32) -> bool {
        let block = self.pool.block(spare.block);
        block.is_some_and(|block| block.generation() == spare.generation && block.window() == window)
    }

    /// As `Recorder::keep`.
    fn keep(&self, cell: &ThreadCell, window: u32, spare: Spare) {
        if let Some((other, left)) = cell.keep(window, spare).filter(|(other, left)| self.is_of(left, *other)) {
            self.window(other).leave(left);
        }
    }

    /// As `Recorder::place`, with a window that is never full.
    fn place(&self, cell: &ThreadCell, window: u32) -> Option<(u32, u32, u32)> {
        if let Some(place) = cell.place(&self.pool, window) {
            return Some(place);
        }
        let home = self.window(window);
        if let Some(spare) = home.adopt().filter(|spare| self.is_of(spare, window)) {
            self.keep(cell, window, spare);
            return cell.place(&self.pool, window);
        }
        let block = self.pool.take()?;
        let entry = self.pool.block(block).unwrap();
        entry.assign(window);
        self.keep(cell, window, Spare { block, place: 0, generation: entry.generation() });
        home.add(&self.pool, block);
        cell.place(&self.pool, window)
    }

    fn write(&self, (block, place, generation): (u32, u32, u32), kind: Kind, parent: u64) -> u64 {
        self.pool.slot(block, place).unwrap().start(generation, kind, parent, 7, [1, 2, 3, 4]);
        self.pool.handle(block, place, generation).raw()
    }

    /// As `Recorder::ordered`: an operation of the communicator, inside a callback.
    fn operation(&self, cell: &ThreadCell) -> Option<u64> {
        let (context, _) = self.contexts.find(self.raw)?;
        let place = self.place(cell, context.filling())?;
        Some(self.write(place, Kind::Coll, 0))
    }

    /// As `Recorder::child`.
    fn child(&self, cell: &ThreadCell, parent: u64) -> Option<u64> {
        let beside = Handle::parse(parent).and_then(|parent| {
            let window = self.pool.find(parent)?.1.window();
            self.contexts.window(window)?.takes_children().then_some(window)
        });
        let window = match beside {
            Some(window) => window,
            None => self.contexts.find_for_child(self.raw)?.0.filling(),
        };
        let place = self.place(cell, window)?;
        Some(self.write(place, Kind::KernelCh, parent))
    }

    /// As `Grace`, for the one thread there is.
    fn grace(&self) {
        fence(Ordering::SeqCst);
        let section = self.cell.get().section();
        while section % 2 == 1 && self.cell.get().section() == section {
            thread::yield_now();
        }
    }

    fn blocks(&self, window: u32) -> Vec<u32> {
        let next = |&block: &u32| Some(self.pool.block(block)?.next()).filter(|&next| next != NONE);
        std::iter::successors(self.window(window).newest(), next).collect()
    }

    /// The events in a window, as `Reader` finds them.
    fn events(&self, window: u32) -> usize {
        let of_block = |block: u32| {
            let generation = self.pool.block(block).unwrap().generation();
            let slots = (0..BLOCK_SLOTS).map(|place| self.pool.slot(block, place).unwrap());
            slots.take_while(|slot| slot.read(generation).is_some()).count()
        };
        self.blocks(window).into_iter().map(of_block).sum()
    }

    /// As `Reader::close`: takes a closed window apart and gives the number of events found in it.
    fn take_apart(&self, window: u32) -> usize {
        self.grace();
        assert!(self.window(window).change(WindowState::Closing, WindowState::Processing));
        self.grace();
        let (events, blocks) = (self.events(window), self.blocks(window));
        self.window(window).clear();
        blocks.into_iter().for_each(|block| self.pool.give_back(block));
        assert!(self.window(window).change(WindowState::Processing, WindowState::Ready));
        events
    }

    /// Events in all windows, when no other thread is left.
    fn all_events(&self) -> usize {
        (0..WINDOWS).map(|window| self.events(window)).sum()
    }
}

/// What a thread wrote inside a callback, having seen the old state, is seen after a grace period.
#[test]
fn a_grace_period_sees_what_callbacks_wrote() {
    loom::model(|| {
        let shared = Shared::new(1);
        let state = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
        let (of_thread, states) = (shared.clone(), state.clone());
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                let _section = of_thread.cell.get().enter();
                if !states.0.load(Ordering::Relaxed) {
                    states.1.store(states.1.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            }
        });
        state.0.store(true, Ordering::Relaxed);
        shared.grace();
        let seen = state.1.load(Ordering::Relaxed);
        thread.join().unwrap();
        assert_eq!(seen, state.1.load(Ordering::Relaxed), "written after the grace period");
    });
}

/// An event is seen as a whole or not at all, and its stop with it.
#[test]
fn a_slot_is_read_as_a_whole() {
    loom::model(|| {
        let shared = Shared::new(1);
        let of_thread = shared.clone();
        let block = shared.pool.take().unwrap();
        let thread = thread::spawn(move || {
            let slot = of_thread.pool.slot(block, 0).unwrap();
            slot.start(1, Kind::Coll, 9, 7, [1, 2, 3, 4]);
            slot.stop(1, 11);
        });
        if let Some(event) = shared.pool.slot(block, 0).unwrap().read(1) {
            assert_eq!((event.parent, event.start, event.payload()), (9, 7, [1, 2, 3, 4]));
            assert!(event.stop.is_none_or(|stop| stop == 11));
        }
        thread.join().unwrap();
        assert_eq!(shared.pool.slot(block, 0).unwrap().read(1).unwrap().stop, Some(11));
    });
}

/// No block has two owners, however it comes and goes: also when the first of the free ones comes back between a look and the
/// exchange, with another behind it.
#[test]
fn a_block_has_one_owner() {
    /// Not the model's: its threads run one at a time, so this is what is so at the moment.
    type Owned = std::sync::Arc<[std::sync::atomic::AtomicBool; 2]>;
    const AT_ONCE: std::sync::atomic::Ordering = std::sync::atomic::Ordering::SeqCst;
    fn take(shared: &Shared, owned: &Owned) -> Option<u32> {
        let block = shared.pool.take()?;
        assert!(!owned[block as usize].swap(true, AT_ONCE), "block {block} has two owners");
        Some(block)
    }
    fn give_back(shared: &Shared, owned: &Owned, block: u32) {
        owned[block as usize].store(false, AT_ONCE);
        shared.pool.give_back(block);
    }
    loom::model(|| {
        let (shared, owned) = (Shared::new(2), Owned::default());
        let both = [take(&shared, &owned).unwrap(), take(&shared, &owned).unwrap()];
        both.into_iter().for_each(|block| give_back(&shared, &owned, block));
        let (of_thread, owned_there) = (shared.clone(), owned.clone());
        let thread = thread::spawn(move || {
            if let Some(block) = take(&of_thread, &owned_there) {
                thread::yield_now();
                give_back(&of_thread, &owned_there, block);
            }
        });
        let mine = [take(&shared, &owned), take(&shared, &owned)];
        mine[0].into_iter().for_each(|block| give_back(&shared, &owned, block));
        thread.join().unwrap();
        mine[1].into_iter().for_each(|block| give_back(&shared, &owned, block));
        let left = std::iter::from_fn(|| shared.pool.take()).count();
        assert_eq!(left, 2, "a block is lost or doubled");
    });
}

/// A window is closed and taken apart while a thread starts operations: each is found, in this window or in the next.
#[test]
fn no_operation_is_lost_when_a_window_rotates() {
    loom::model(|| {
        let shared = Shared::new(3);
        let of_thread = shared.clone();
        let thread = thread::spawn(move || {
            let cell = of_thread.cell.get();
            let mut made = 0;
            for _ in 0..2 {
                let _section = cell.enter();
                made += usize::from(of_thread.operation(cell).is_some());
            }
            made
        });
        assert!(shared.context().rotate(0, 1));
        let found = shared.take_apart(0);
        let made = thread.join().unwrap();
        assert_eq!((found + shared.all_events(), made), (2, 2));
    });
}

/// Two threads see that a window is full: it is closed once.
#[test]
fn a_window_is_rotated_once() {
    loom::model(|| {
        let shared = Shared::new(1);
        let of_thread = shared.clone();
        let thread = thread::spawn(move || u32::from(of_thread.context().rotate(0, 1)));
        let mine = u32::from(shared.context().rotate(0, 1));
        assert_eq!(mine + thread.join().unwrap(), 1);
        let with = |state: WindowState| (0..WINDOWS).filter(|&index| shared.window(index).state() == state).count();
        assert_eq!((with(WindowState::Filling), with(WindowState::Closing)), (1, 1));
        assert_eq!(shared.window(shared.context().filling()).state(), WindowState::Filling);
    });
}

/// A child comes while its parent's window goes from CLOSING to PROCESSING: it is found there, or where the communicator records now.
#[test]
fn no_child_is_lost_when_its_parents_window_closes() {
    loom::model(|| {
        let shared = Shared::new(3);
        let parent = shared.operation(shared.cell.get()).unwrap();
        assert!(shared.context().rotate(0, 1));
        let of_thread = shared.clone();
        let thread = thread::spawn(move || {
            let cell = of_thread.cell.get();
            let _section = cell.enter();
            usize::from(of_thread.child(cell, parent).is_some())
        });
        let found = shared.take_apart(0);
        let made = thread.join().unwrap();
        assert_eq!((found + shared.all_events(), made), (2, 1));
    });
}

/// A thread leaves its block to its window while the collector takes that window apart: whoever finds the block later does not write
/// into memory that serves another window.
#[test]
fn a_spare_block_of_a_window_taken_apart_is_not_used() {
    loom::model(|| {
        let shared = Shared::new(3);
        assert!(shared.operation(shared.cell.get()).is_some());
        assert!(shared.context().rotate(0, 1));
        let of_thread = shared.clone();
        let thread = thread::spawn(move || {
            let cell = of_thread.cell.get();
            let _section = cell.enter();
            of_thread.keep(cell, ELSEWHERE, Spare { block: NONE, place: 0, generation: 0 });
        });
        let found = shared.take_apart(0);
        thread.join().unwrap();
        assert_eq!(found, 1);
        // the window comes round again, and so does its spare block
        (1..WINDOWS).for_each(|window| assert!(shared.context().rotate(window, 1)));
        assert_eq!(shared.context().filling(), 0);
        let cell = Cell::new();
        assert!(shared.operation(cell.get()).is_some());
        assert_eq!(shared.all_events(), 1);
    });
}

/// Two threads may want what a third has left: no place is given out twice.
#[test]
fn a_spare_block_is_adopted_by_one() {
    loom::model(|| {
        let shared = Shared::new(2);
        assert!(shared.operation(shared.cell.get()).is_some());
        shared.keep(shared.cell.get(), ELSEWHERE, Spare { block: NONE, place: 0, generation: 0 });
        let of_thread = shared.clone();
        let thread = thread::spawn(move || {
            let cell = Cell::new();
            let _section = cell.get().enter();
            of_thread.operation(cell.get())
        });
        let mine = {
            let _section = shared.cell.get().enter();
            shared.operation(shared.cell.get())
        };
        let theirs = thread.join().unwrap();
        assert!(mine.is_some() && theirs.is_some() && mine != theirs);
        assert_eq!(shared.all_events(), 3);
    });
}

/// A communicator ends, is taken apart and made again while a thread starts an operation in it: the operation is refused, or found in
/// what was taken apart, never in the next communicator.
#[test]
fn an_operation_does_not_outlive_its_communicator() {
    loom::model(|| {
        let shared = Shared::new(2);
        let of_thread = shared.clone();
        let thread = thread::spawn(move || {
            let cell = of_thread.cell.get();
            let _section = cell.enter();
            usize::from(of_thread.operation(cell).is_some())
        });
        let ended = shared.contexts.end(shared.raw).unwrap();
        shared.context().forget();
        assert!(shared.window(0).change(WindowState::Filling, WindowState::Closing));
        let found = shared.take_apart(0);
        shared.contexts.release(ended.index(), ended.generation());
        assert!(shared.contexts.open(true, 0).is_some());
        let made = thread.join().unwrap();
        assert_eq!((found, shared.all_events()), (made, 0));
    });
}
