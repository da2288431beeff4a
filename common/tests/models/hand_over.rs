//! The hand-over from callbacks to the collector: what is recorded while a window is closed and taken apart, or while a
//! thread or a communicator ends, is found, once.

use crate::{Process, check, later, settings};
use common::config::Settings;
use common::event::{Event, ProxyOp, StateChange};
use common::grace::Grace;
use common::handle::Handle;
use common::thread::ThreadCell;
use common::window::{WINDOWS, WindowState};
use loom::sync::Arc;
use loom::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use loom::thread;

/// What a thread wrote inside a callback, having seen the old state, is seen after a grace period.
#[test]
fn a_grace_period_sees_what_callbacks_wrote() {
    check(None, || {
        let state = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
        let of_thread = state.clone();
        let thread = thread::spawn(move || {
            for _ in 0..2 {
                let _section = ThreadCell::current().unwrap().0.enter();
                if !of_thread.0.load(Ordering::Relaxed) {
                    of_thread.1.store(of_thread.1.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                }
            }
        });
        state.0.store(true, Ordering::Relaxed);
        let mut grace = Grace::begin();
        while !grace.is_over() {
            thread::yield_now();
        }
        let seen = state.1.load(Ordering::Relaxed);
        thread.join().unwrap();
        assert_eq!(seen, state.1.load(Ordering::Relaxed), "written after the grace period");
    });
}

/// A thread ends and its cell goes to another: what both counted is kept.
#[test]
fn what_a_thread_counted_outlives_it() {
    check(None, || {
        let count = || ThreadCell::current().unwrap().0.others.add(1);
        let threads = [thread::spawn(count), thread::spawn(count)];
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(ThreadCell::all().map(|cell| cell.others.get()).sum::<u64>(), 2);
    });
}

/// A communicator ends, is taken apart and made again while a thread starts an operation in it: the operation is
/// refused, or found in what was taken apart, never in the next communicator.
#[test]
fn an_operation_does_not_outlive_its_communicator() {
    check(Some(4), || {
        let (process, mut collector) = Process::new(settings(2));
        let of_thread = process.clone();
        let thread = thread::spawn(move || usize::from(of_thread.operation() != 0));
        collector.end(process.context);
        let (next, mut of_next) = Process::with(process.recorder.clone());
        let made = thread.join().unwrap();
        of_next.end(next.context);
        assert_eq!((collector.operations(), of_next.operations()), (made, 0));
    });
}

/// A child comes as late as that: it is refused, or found in what was taken apart.
#[test]
fn a_child_does_not_outlive_its_communicator() {
    check(Some(4), || {
        let (process, mut collector) = Process::new(settings(2));
        let of_thread = process.clone();
        // no operation known, so that its communicator says where it goes
        let thread = thread::spawn(move || usize::from(of_thread.child(Handle::new(1 << 20, 1).raw()) != 0));
        collector.end(process.context);
        let (next, mut of_next) = Process::with(process.recorder.clone());
        let made = thread.join().unwrap();
        of_next.end(next.context);
        assert_eq!((collector.loose(), of_next.loose()), ((0, made), (0, 0)));
    });
}

/// A window grows old and is taken apart while a thread starts operations: each is found, in this window or in the
/// next.
#[test]
fn no_operation_is_lost_when_a_window_is_old() {
    check(Some(4), || {
        let (process, mut collector) = Process::new(settings(4));
        assert_ne!(process.operation(), 0);
        later();
        let of_thread = process.clone();
        let thread = thread::spawn(move || assert_ne!(of_thread.operation(), 0));
        collector.round();
        thread.join().unwrap();
        collector.end(process.context);
        assert_eq!((collector.operations(), collector.loose()), (2, (0, 0)));
    });
}

/// A window is full and is taken apart while a thread starts operations.
#[test]
fn no_operation_is_lost_when_a_window_is_full() {
    check(Some(2), || {
        let (process, mut collector) = Process::new(Settings { window_events: 2, ..settings(4) });
        let of_thread = process.clone();
        let thread = thread::spawn(move || (0..2).for_each(|_| assert_ne!(of_thread.operation(), 0)));
        collector.round();
        thread.join().unwrap();
        collector.end(process.context);
        assert_eq!((collector.operations(), collector.loose()), (2, (0, 0)));
    });
}

/// All windows but one are being taken apart, and that one grows old: the one that fills next is empty before anything
/// is in it.
#[test]
fn a_window_fills_again_when_it_is_empty() {
    check(Some(2), || {
        let (process, mut collector) = Process::new(settings(8));
        for _ in 0..WINDOWS {
            assert_ne!(process.operation(), 0);
            later();
        }
        let of_thread = process.clone();
        let thread = thread::spawn(move || assert_ne!(of_thread.operation(), 0));
        collector.round();
        thread.join().unwrap();
        collector.end(process.context);
        assert_eq!((collector.operations(), collector.loose()), (1 + WINDOWS as usize, (0, 0)));
    });
}

/// Two threads see that a window is full: it is closed once.
#[test]
fn a_window_is_closed_once() {
    check(None, || {
        let (process, _) = Process::new(settings(1));
        let of_thread = process.clone();
        let thread = thread::spawn(move || u32::from(of_thread.state().rotate(0, 1)));
        let mine = u32::from(process.state().rotate(0, 1));
        assert_eq!(mine + thread.join().unwrap(), 1);
        let with = |state| (0..WINDOWS).filter(|&index| process.state().window(index).state() == state).count();
        assert_eq!((with(WindowState::Filling), with(WindowState::Closing)), (1, 1));
        assert_eq!(process.state().window(process.state().filling()).state(), WindowState::Filling);
    });
}

/// A child comes while its parent's window is taken apart: it is found there, or where the communicator records now.
#[test]
fn no_child_is_lost_when_its_parents_window_closes() {
    check(None, || {
        let (process, mut collector) = Process::new(Settings { deadline_seconds: 0.0, ..settings(4) });
        let parent = process.operation();
        later();
        let of_thread = process.clone();
        let thread = thread::spawn(move || assert_ne!(of_thread.child(parent), 0));
        collector.round();
        thread.join().unwrap();
        collector.end(process.context);
        let (unfinished, orphans) = collector.loose();
        assert_eq!((collector.operations(), unfinished + orphans), (1, 1));
    });
}

/// A transfer is under way while the window of its operation is taken apart: it counts, with its bytes.
#[test]
fn no_transfer_is_lost_when_its_operations_window_closes() {
    check(Some(2), || {
        let (process, mut collector) = Process::new(settings(6));
        let operation = process.operation();
        later();
        let of_thread = process.clone();
        let thread = thread::spawn(move || {
            let Process { recorder, context } = of_thread;
            let pid = i64::from(std::process::id());
            let proxy = Event::ProxyOp(ProxyOp { pid, peer: 1, channel: 0, steps: 1, send: true });
            let proxy = recorder.start(context, operation, &proxy);
            let step = recorder.start(context, proxy, &Event::ProxyStep { step: 0 });
            recorder.state(step, || StateChange::SendWait { bytes: 12 });
            recorder.stop(step);
            recorder.stop(proxy);
        });
        collector.round();
        collector.round();
        thread.join().unwrap();
        collector.end(process.context);
        let sums = collector.figures.totals.channels.values().map(|sum| (sum.transfers, sum.bytes));
        assert_eq!((sums.collect(), collector.loose()), (vec![(1, 12)], (0, 0)));
    });
}

/// Threads that make their first callbacks at a time get cells of their own, which are found in order, without gaps.
#[test]
fn first_callbacks_at_a_time_get_cells_of_their_own() {
    check(None, || {
        let first = || {
            let (cell, number) = ThreadCell::current().unwrap();
            assert!(std::ptr::eq(ThreadCell::get(number).unwrap(), cell));
            cell.others.add(1);
            number
        };
        let thread = thread::spawn(first);
        let numbers = [first(), thread.join().unwrap()];
        // the second may have the cell of the first, which has ended
        let all: Vec<_> = ThreadCell::all().collect();
        assert_eq!(all.len(), numbers.into_iter().max().unwrap() + 1, "{numbers:?}");
        assert_eq!(all.iter().map(|cell| cell.others.get()).sum::<u64>(), 2);
    });
}
