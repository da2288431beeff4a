//! Blocks of slots, and who may write to them.

use crate::{Process, check, later, settings};
use common::clock::CLOCK;
use common::config::Settings;
use common::event::Event;
use common::handle::Handle;
use common::kind::EventKind;
use common::pool::Pool;
use common::window::WINDOWS;
use loom::sync::Arc;
use loom::thread;

/// An event is seen as a whole or not at all, and its stop with it.
#[test]
fn a_slot_is_read_as_a_whole() {
    check(None, || {
        let pool = Arc::new(Pool::new(1).unwrap());
        let of_thread = pool.clone();
        let block = pool.take().unwrap();
        let thread = thread::spawn(move || {
            let slot = of_thread.slot(block, 0).unwrap();
            slot.start(Handle::of_event(EventKind::Coll, 0, 1), 9, 7, [1, 2, 3, 4]);
            slot.stop(1, 11);
        });
        if let Some(event) = pool.slot(block, 0).unwrap().read(1) {
            assert_eq!((event.parent, event.start, event.payload()), (9, 7, [1, 2, 3, 4]));
            assert!(event.stop.is_none_or(|stop| stop == 11));
        }
        thread.join().unwrap();
        assert_eq!(pool.slot(block, 0).unwrap().read(1).unwrap().stop, Some(11));
    });
}

/// Who sees an event's stop sees what was reported of it before.
#[test]
fn a_stop_brings_what_came_before() {
    check(None, || {
        let pool = Arc::new(Pool::new(1).unwrap());
        let of_thread = pool.clone();
        let block = pool.take().unwrap();
        let thread = thread::spawn(move || {
            let slot = of_thread.slot(block, 0).unwrap();
            slot.start(Handle::of_event(EventKind::KernelCh, 0, 1), 9, 7, [1, 0, 0, 0]);
            slot.kernel_stop(1, 5);
            slot.stop(1, 11);
        });
        let stopped = pool.slot(block, 0).unwrap().read(1).filter(|event| event.stop.is_some());
        assert!(stopped.is_none_or(|event| event.kernel() == Some((1, 5))));
        thread.join().unwrap();
    });
}

/// No block has two owners, however it comes and goes: also when the first of the free ones comes back between a look
/// and the exchange, with another behind it.
#[test]
fn a_block_has_one_owner() {
    /// Not the model's: its threads run one at a time, so this is what is so at the moment.
    type Owned = std::sync::Arc<[std::sync::atomic::AtomicBool; 2]>;
    const AT_ONCE: std::sync::atomic::Ordering = std::sync::atomic::Ordering::SeqCst;
    fn take(pool: &Pool, owned: &Owned) -> Option<u32> {
        let block = pool.take()?;
        assert!(!owned[block as usize].swap(true, AT_ONCE), "block {block} has two owners");
        Some(block)
    }
    fn give_back(pool: &Pool, owned: &Owned, block: u32) {
        owned[block as usize].store(false, AT_ONCE);
        pool.give_back(block);
    }
    check(None, || {
        let (pool, owned) = (Arc::new(Pool::new(settings(2).memory_bytes).unwrap()), Owned::default());
        let both = [take(&pool, &owned).unwrap(), take(&pool, &owned).unwrap()];
        both.into_iter().for_each(|block| give_back(&pool, &owned, block));
        let (of_thread, owned_there) = (pool.clone(), owned.clone());
        let thread = thread::spawn(move || {
            if let Some(block) = take(&of_thread, &owned_there) {
                thread::yield_now();
                give_back(&of_thread, &owned_there, block);
            }
        });
        let mine = [take(&pool, &owned), take(&pool, &owned)];
        mine[0].into_iter().for_each(|block| give_back(&pool, &owned, block));
        thread.join().unwrap();
        mine[1].into_iter().for_each(|block| give_back(&pool, &owned, block));
        let left = std::iter::from_fn(|| pool.take()).count();
        assert_eq!(left, 2, "a block is lost or doubled");
    });
}

/// A thread goes on to the next window and leaves its block to the one before, which the collector takes apart: whoever
/// finds the block when that window fills again does not use it.
#[test]
fn a_spare_block_of_a_window_taken_apart_is_not_used() {
    check(Some(3), || {
        let (process, mut collector) = Process::new(settings(6));
        assert_ne!(process.operation(), 0);
        later();
        let of_thread = process.clone();
        let thread = thread::spawn(move || {
            collector.round();
            collector
        });
        assert_ne!(of_thread.operation(), 0);
        let mut collector = thread.join().unwrap();
        let mut made = 2;
        while process.state().filling() != 0 {
            collector.round();
            later();
            assert_ne!(process.operation(), 0);
            made += 1;
        }
        collector.end(process.context);
        assert_eq!((collector.operations(), collector.loose()), (made, (0, 0)));
    });
}

/// A thread has a block at hand while its window is taken apart and fills again: it does not go on in that block.
#[test]
fn a_block_at_hand_dies_with_its_window() {
    check(Some(1), || {
        let (process, mut collector) = Process::new(settings(8));
        assert_ne!(process.operation(), 0);
        let of_thread = process.clone();
        let thread = thread::spawn(move || {
            for _ in 0..WINDOWS {
                later();
                assert_ne!(of_thread.operation(), 0);
                collector.round();
            }
            collector
        });
        assert_ne!(process.operation(), 0);
        let mut collector = thread.join().unwrap();
        collector.end(process.context);
        assert_eq!((collector.operations(), collector.loose()), (2 + WINDOWS as usize, (0, 0)));
    });
}

/// Two threads may want what one has left: no place is given out twice.
#[test]
fn a_spare_block_is_adopted_by_one() {
    check(None, || {
        let (process, mut collector) = Process::new(settings(6));
        let parent = process.operation();
        later();
        // in the next window, so that the parent's is left with what was free of its block
        assert_ne!(process.operation(), 0);
        let of_thread = process.clone();
        let thread = thread::spawn(move || of_thread.child(parent));
        let mine = process.child(parent);
        let theirs = thread.join().unwrap();
        assert!(mine != 0 && theirs != 0 && mine != theirs);
        collector.end(process.context);
        assert_eq!(collector.operations(), 2);
    });
}

/// A step starts again, as receives do, while the window of its first start is given up and its slot serves another
/// event: that one keeps its start.
#[test]
fn a_step_that_starts_again_does_not_touch_another_event() {
    check(Some(3), || {
        let (process, mut collector) = Process::new(Settings { deadline_seconds: 0.0, ..settings(4) });
        let parent = process.operation();
        assert_ne!(process.operation(), 0);
        let start_step =
            |process: &Process| process.recorder.start(process.context, parent, &Event::ProxyStep { step: 0 });
        // the first in a block, as the operation will be that takes the block next
        assert_ne!(start_step(&process), 0);
        later();
        let of_thread = process.clone();
        let thread = thread::spawn(move || {
            collector.round();
            later();
            (of_thread.operation(), CLOCK.now())
        });
        start_step(&process);
        let (operation, time) = thread.join().unwrap();
        assert_eq!(process.event(operation).map(|event| event.start), Some(time));
    });
}
