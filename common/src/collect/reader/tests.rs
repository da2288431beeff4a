use super::*;
use crate::base::mapping::{Mapping, Zeroed};
use crate::event::handle::Handle;
use crate::event::kind::EventKind;

struct Zero(Window);
// SAFETY: `Window` consists of atomic integers, for which zeros are valid, and it has no drop.
unsafe impl Zeroed for Zero {}

/// Counts the reported events.
#[derive(Default)]
struct Count {
    begun: u32,
    ended: u32,
    passed: u32,
    abandoned: u32,
}

impl Listener for Count {
    fn begun(&mut self, _: &Pool, _: &SlotContent) {
        self.begun += 1;
    }

    fn ended(&mut self, _: &SlotContent) {
        self.ended += 1;
    }

    fn passed(&mut self, _: &Pool, _: &SlotContent) {
        self.passed += 1;
    }

    fn awaits(&mut self, _: u64) -> bool {
        true
    }

    fn abandoned(&mut self, _: &SlotContent) {
        self.abandoned += 1;
    }
}

#[test]
fn a_child_that_begins_when_its_window_has_waited_for_too_long_may_end() {
    crate::record::grace::prepare();
    let (pool, windows) = (Pool::new(2 * 4096).unwrap(), Mapping::<Zero>::new(1).unwrap());
    let (window, mut reader, mut told, mut graces) =
        (&windows[0].0, WindowReader::default(), Count::default(), Graces::default());
    let block = pool.take().unwrap();
    window.add(&pool, block);
    let generation = pool.block(block).unwrap().generation();
    let start = |place| {
        let handle = Handle::of_event(EventKind::Coll, Pool::index(block, place), generation);
        pool.slot(block, place).unwrap().start(handle, 0, 100, [0; 4]);
    };
    start(0);
    window.change(WindowState::Ready, WindowState::Filling);
    window.change(WindowState::Filling, WindowState::Closing);
    // a patience of one nanosecond is over at once
    let mut close = |reader: &mut WindowReader, told: &mut Count, patience| {
        reader.read(&pool, window, &mut u32::MAX.clone(), told);
        let is_closed = reader.close(&pool, window, patience, &mut graces, told);
        graces.begin();
        is_closed
    };
    assert!(!close(&mut reader, &mut told, 1) && window.takes_children());
    start(1);
    while window.takes_children() {
        assert!(!close(&mut reader, &mut told, u64::MAX / 2));
    }
    assert!(!close(&mut reader, &mut told, u64::MAX / 2), "not all has ended");
    (0..2).for_each(|place| pool.slot(block, place).unwrap().stop(generation, 200));
    while !close(&mut reader, &mut told, u64::MAX / 2) {}
    assert_eq!((told.begun, told.ended, told.abandoned), (2, 2, 0));
    assert_eq!(window.state(), WindowState::Ready);
}

#[test]
fn what_is_left_is_read_later_and_told_once() {
    let (pool, windows) = (Pool::new(4 * 4096).unwrap(), Mapping::<Zero>::new(1).unwrap());
    let (window, mut reader, mut told) = (&windows[0].0, WindowReader::default(), Count::default());
    let blocks: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
    for (&block, begin) in blocks.iter().zip([100, 300, 200, 400]) {
        window.add(&pool, block);
        let generation = pool.block(block).unwrap().generation();
        for place in 0..BLOCK_SLOTS {
            let handle = Handle::of_event(EventKind::Coll, Pool::index(block, place), generation);
            pool.slot(block, place).unwrap().start(handle, 0, begin + u64::from(place), [0; 4]);
        }
        pool.slot(block, 0).unwrap().stop(generation, 500);
    }
    let mut most = BLOCK_SLOTS;
    assert_eq!(reader.read(&pool, window, &mut most, &mut told), Some(200), "the third block begins before the second");
    assert_eq!((most, told.begun, told.passed, reader.is_idle()), (0, BLOCK_SLOTS - 1, 1, false));
    assert_eq!(reader.read(&pool, window, &mut most, &mut told), Some(200));
    most = u32::MAX;
    assert_eq!(reader.read(&pool, window, &mut most, &mut told), None);
    assert_eq!((told.begun, told.passed, told.ended), (4 * (BLOCK_SLOTS - 1), 4, 0));
    for &block in &blocks {
        let generation = pool.block(block).unwrap().generation();
        (1..BLOCK_SLOTS).for_each(|place| pool.slot(block, place).unwrap().stop(generation, 600));
    }
    reader.read(&pool, window, &mut most, &mut told);
    assert_eq!((told.begun, told.passed, told.ended), (4 * (BLOCK_SLOTS - 1), 4, 4 * (BLOCK_SLOTS - 1)));
    assert!(reader.is_idle());
}
