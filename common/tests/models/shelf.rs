//! Items that pass between threads over a shelf.

use common::shelf::Shelf;
use loom::sync::Arc;
use loom::thread;

/// Two threads put an item each on a shelf of two places and take one; whatever is left is taken at once in the end.
/// Each item, which lies on the heap, comes back once.
#[test]
fn each_item_comes_back_once() {
    crate::check(Some(3), || {
        let shelf = Arc::new(Shelf::new(2));
        let passes = |shelf: &Shelf<Box<u32>>, item: u32| {
            let back = shelf.put(Box::new(item)).err();
            [back, shelf.take()]
        };
        let other = thread::spawn({
            let shelf = Arc::clone(&shelf);
            move || passes(&shelf, 1)
        });
        let own = passes(&shelf, 2);
        let other = other.join().unwrap();
        let left = shelf.take_all();
        let mut all: Vec<u32> = own.into_iter().chain(other).flatten().chain(left).map(|item| *item).collect();
        all.sort_unstable();
        assert_eq!(all, [1, 2]);
    });
}

/// One thread takes all while the other one puts two there: the first one is never behind the second one.
#[test]
fn all_items_come_in_the_order_of_one_thread() {
    crate::check(Some(3), || {
        let shelf = Arc::new(Shelf::new(2));
        let other = thread::spawn({
            let shelf = Arc::clone(&shelf);
            move || (shelf.put(Box::new(1)).is_ok(), shelf.put(Box::new(2)).is_ok())
        });
        let mut taken = shelf.take_all();
        assert_eq!(other.join().unwrap(), (true, true));
        taken.extend(shelf.take_all());
        assert_eq!(taken.into_iter().map(|item| *item).collect::<Vec<u32>>(), [1, 2]);
    });
}
