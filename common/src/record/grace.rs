//! Grace periods. After one, every callback that may have seen a window's old state has ended.
//!
//! A thread marks itself as inside a callback with a plain store (`ThreadCell::enter`), then reads the window's state.
//! The collector changes the state, lets the kernel fence all threads of the process (membarrier), then reads the
//! marks. A thread whose mark the collector does not see will see the new state. The collector waits for a thread whose
//! mark it sees. This is the userspace RCU of Desnoyers et al. (IEEE TPDS 23(2), 2012) in its membarrier form: a
//! callback pays two plain stores.

use crate::base::sync::{Ordering, fence};
use crate::clock::monotonic;
use crate::record::thread::ThreadCell;
use std::collections::VecDeque;

const QUERY: libc::c_int = 0;
const PRIVATE_EXPEDITED: libc::c_int = 1 << 3;
const REGISTER_PRIVATE_EXPEDITED: libc::c_int = 1 << 4;
/// Longest duration of a callback that began before callbacks fenced themselves, nanoseconds.
const UNFENCED: u64 = 1_000_000_000;

/// Registers the process for the kernel's fence. Where there is none (a kernel before 4.14, a sandbox), callbacks fence
/// themselves from now on.
pub fn prepare() {
    let offered = membarrier(QUERY);
    let ready = offered > 0
        && offered & libc::c_long::from(PRIVATE_EXPEDITED) != 0
        && membarrier(REGISTER_PRIVATE_EXPEDITED) == 0;
    if !ready {
        ThreadCell::fence_yourselves();
    }
}

fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: membarrier takes a command and two integers, and touches no memory of the library.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) }
}

/// A callback under way, by the mark of its thread.
#[derive(Debug, Clone, Copy)]
struct CallbackUnderWay {
    cell: &'static ThreadCell,
    section: u64,
}

impl CallbackUnderWay {
    fn now(cell: &'static ThreadCell) -> Self {
        Self { cell, section: cell.section() }
    }

    fn is_still(&self) -> bool {
        self.cell.section() == self.section
    }
}

impl PartialEq for CallbackUnderWay {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.cell, other.cell) && self.section == other.section
    }
}

/// A grace period: waits, without blocking, for the callbacks that were under way when it began.
#[derive(Debug)]
pub struct Grace {
    inside: Vec<CallbackUnderWay>,
    /// Earliest end, set if the kernel refused to fence. Callbacks that do not fence themselves yet have ended by then.
    not_before: u64,
}

impl Grace {
    /// Begins a period. Every callback that begins from now on sees what the caller wrote before.
    pub fn begin() -> Self {
        fence(Ordering::SeqCst);
        let mut not_before = 0;
        if membarrier(PRIVATE_EXPEDITED) != 0 && ThreadCell::fence_yourselves() {
            not_before = monotonic().saturating_add(UNFENCED);
        }
        let inside = ThreadCell::all().map(CallbackUnderWay::now).filter(|inside| inside.section % 2 == 1);
        Self { inside: inside.collect(), not_before }
    }

    /// Returns true once all those callbacks have ended.
    pub fn is_over(&mut self) -> bool {
        self.inside.retain(CallbackUnderWay::is_still);
        self.inside.is_empty() && (self.not_before == 0 || monotonic() >= self.not_before)
    }
}

/// Grace periods that several waiters share, because beginning one interrupts all running threads of the process.
#[derive(Debug, Default)]
pub struct Graces {
    /// Periods that are not known to be over, oldest first.
    under_way: VecDeque<Grace>,
    /// Number of periods that have begun.
    begun: u64,
    asked: bool,
    /// Callbacks that nobody waits for any more, by their threads' marks.
    given_up: Vec<CallbackUnderWay>,
}

impl Graces {
    /// Asks for a period that begins after this call. Returns its number.
    pub fn ask(&mut self) -> u64 {
        self.asked = true;
        self.begun + 1
    }

    /// Begins the period that was asked for. Returns false if nobody has asked.
    pub fn begin(&mut self) -> bool {
        if !std::mem::take(&mut self.asked) {
            return false;
        }
        self.follow(Grace::begin());
        true
    }

    /// Waits for a period, except for callbacks that are given up.
    fn follow(&mut self, mut grace: Grace) {
        self.given_up.retain(CallbackUnderWay::is_still);
        grace.inside.retain(|inside| !self.given_up.contains(inside));
        if let Some(before) = self.under_way.back() {
            grace.not_before = grace.not_before.max(before.not_before);
        }
        self.under_way.push_back(grace);
        self.begun += 1;
    }

    /// Waits no more for the callbacks that the periods under way have waited for until now, since a callback whose
    /// signal handler ends the process never ends. All other callbacks are waited for as ever. Returns how many
    /// callbacks are given up. The caller guarantees that nothing is recorded any more with which their events could
    /// mix.
    pub fn give_up(&mut self) -> usize {
        let before = self.given_up.len();
        for inside in self.under_way.iter_mut().flat_map(|grace| grace.inside.drain(..)) {
            if inside.is_still() && !self.given_up.contains(&inside) {
                self.given_up.push(inside);
            }
        }
        self.given_up.len() - before
    }

    /// Returns true once the period of that number is over.
    pub fn is_over(&mut self, number: u64) -> bool {
        while self.under_way.front_mut().is_some_and(Grace::is_over) {
            self.under_way.pop_front();
        }
        number <= self.begun - self.under_way.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn those_asked_for_together_begin_together_and_not_before() {
        prepare();
        let mut graces = Graces::default();
        assert!(!graces.begin(), "nobody has asked");
        let numbers = [graces.ask(), graces.ask()];
        assert!(!numbers.map(|number| graces.is_over(number)).contains(&true));
        assert!(graces.begin());
        let later = graces.ask();
        while numbers.map(|number| graces.is_over(number)).contains(&false) {
            std::thread::yield_now();
        }
        assert!(!graces.is_over(later));
    }

    #[test]
    fn a_callback_that_is_given_up_is_not_waited_for_and_all_others_are() {
        prepare();
        let [left, other] = [(); 2].map(|()| ThreadCell::new().unwrap());
        std::mem::forget(left.enter());
        let mut graces = Graces::default();
        let inside = |cells: &[&'static ThreadCell]| Grace {
            inside: cells.iter().map(|&cell| CallbackUnderWay::now(cell)).collect(),
            not_before: 0,
        };
        graces.follow(inside(&[left]));
        assert!(!graces.is_over(1));
        assert_eq!((graces.give_up(), graces.give_up()), (1, 0));
        assert!(graces.is_over(1));
        // a period that begins later waits for the other callback alone
        let section = other.enter();
        graces.follow(inside(&[left, other]));
        assert!(!graces.is_over(2));
        drop(section);
        assert!(graces.is_over(2));
    }

    #[test]
    fn one_is_not_kept_waiting_by_those_that_begin_after_it() {
        let cell = ThreadCell::new().unwrap();
        let inside = || Grace { inside: vec![CallbackUnderWay::now(cell)], not_before: 0 };
        let first = cell.enter();
        let mut graces = Graces { under_way: [inside()].into(), begun: 1, ..Graces::default() };
        assert!(!graces.is_over(1));
        drop(first);
        let _second = cell.enter();
        graces.under_way.push_back(inside());
        graces.begun = 2;
        assert_eq!([graces.is_over(1), graces.is_over(2), graces.is_over(3)], [true, false, false]);
    }

    #[test]
    fn lasts_until_the_callbacks_under_way_have_ended() {
        prepare();
        let (inside, is_inside) = mpsc::channel();
        let (leave, may_leave) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            let (cell, _) = ThreadCell::current().unwrap();
            let section = cell.enter();
            inside.send(()).unwrap();
            may_leave.recv().unwrap();
            drop(section);
            inside.send(()).unwrap();
            let _another = cell.enter();
            may_leave.recv().unwrap();
        });
        is_inside.recv().unwrap();
        let mut grace = Grace::begin();
        assert!(!grace.is_over());
        leave.send(()).unwrap();
        is_inside.recv().unwrap();
        while !grace.is_over() {
            std::thread::yield_now();
        }
        leave.send(()).unwrap();
        thread.join().unwrap();
    }
}
