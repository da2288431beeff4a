//! The exporters' threads, one each, so that one who is slow holds up no other. A fault in one ends its exports alone:
//! the recording goes on.

use super::exporter::{Exporter, Way};
use super::families::{Family, families};
use super::identity::Identity;
use super::peer_labels::PeerLabels;
use crate::base::answer::{self, Missing, Reply};
use crate::base::{log, own_thread};
use crate::config::Settings;
use crate::control;
use crate::record::thread::ThreadCell;
use crate::sums::histograms;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use once_cell::sync::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long an export may wait for the collector's sums.
const FOR_SUMS: Duration = Duration::from_secs(10);
/// How long the end of the process waits for last exports in all, and how long one may take itself.
const AT_END: Duration = Duration::from_millis(1900);
const LAST: Duration = Duration::from_millis(1700);
/// Between two lines about exports that fail.
const A_MINUTE: Duration = Duration::from_secs(60);

/// Asks a thread for one more export; it answers when that is done.
type Orders = Sender<Reply<()>>;

/// Those of all threads, and who tells of their failures.
static ORDERS: OnceCell<Vec<(Orders, Teller)>> = OnceCell::new();

/// An exporter, or why there is none.
type Made = Result<Box<dyn Exporter>, String>;

/// Starts a thread for each that could be made.
pub(super) fn begin(asked: impl Iterator<Item = (Way, Made)>, identity: &Identity, settings: &Settings) {
    // of all, so that they have the same labels
    let peers = Arc::new(Mutex::new(PeerLabels::new(settings.otel_most_peers)));
    let start = |(way, made): (Way, Made)| {
        let how = way.how;
        let exporter = made.map_err(|why| log::warn(&format!("nothing is exported {how}: {why}"))).ok()?;
        let teller = Teller { way, told: Arc::default() };
        let work = Work {
            teller: teller.clone(),
            exporter,
            identity: identity.clone(),
            peers: peers.clone(),
            failed: 0,
            outage: false,
        };
        Some((work.start()?, teller))
    };
    let orders: Vec<_> = asked.filter_map(start).collect();
    if !orders.is_empty() {
        histograms::want();
    }
    // it is called once
    let _ = ORDERS.set(orders);
}

/// Has everything exported once more, and waits for that a little: not again where a measurement and then the process
/// ends, and nothing has happened in between.
pub(super) fn last() {
    static EXPORTED: AtomicU64 = AtomicU64::new(0);
    /// Milliseconds, by all calls.
    static WAITED: AtomicU64 = AtomicU64::new(0);
    let Some(orders) = ORDERS.get().filter(|orders| !orders.is_empty()) else { return };
    let callbacks = ThreadCell::all_callbacks();
    if EXPORTED.swap(callbacks, Ordering::Relaxed) == callbacks {
        return;
    }
    let begun = Instant::now();
    let deadline = begun + AT_END.saturating_sub(Duration::from_millis(WAITED.load(Ordering::Relaxed)));
    // one that is not taken yet does the same
    let sent = orders.iter().filter_map(|(orders, teller)| {
        let (done, answer) = answer::pair();
        orders.try_send(done).ok().map(|()| (answer, teller))
    });
    for (answer, teller) in sent.collect::<Vec<_>>() {
        if answer.wait(deadline.saturating_duration_since(Instant::now())) == Err(Missing::TooLate) {
            teller.tell("no answer before the process ends");
        }
    }
    WAITED.fetch_add(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Tells of one exporter's failures.
#[derive(Clone)]
struct Teller {
    way: Way,
    /// When it did so last.
    told: Arc<Mutex<Option<Instant>>>,
}

impl Teller {
    /// Tells of a failure, unless one was told less than a minute ago. Whether it did.
    fn tell(&self, why: &str) -> bool {
        {
            // not held for longer: the line takes memory, and the end of the process may wait for the lock
            let mut told = lock(&self.told);
            if told.is_some_and(|told| told.elapsed() < A_MINUTE) {
                return false;
            }
            *told = Some(Instant::now());
        }
        let Way { how, out, .. } = self.way;
        log::warn(&format!(
            "figures could not be exported {how} ({why}); the next export, if there is one, has all of them ({out})"
        ));
        true
    }
}

/// A fault in another exporter is no reason to stop.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Work {
    teller: Teller,
    exporter: Box<dyn Exporter>,
    identity: Identity,
    peers: Arc<Mutex<PeerLabels>>,
    failed: u64,
    /// Whether a failure was told and exports fail since then: the end of that is told, too.
    outage: bool,
}

impl Work {
    /// Does it on a thread of its own; gives what asks that for more.
    fn start(self) -> Option<Orders> {
        let (orders, inbox) = crossbeam_channel::bounded(1);
        let Way { thread, how, .. } = self.teller.way;
        let guarded = move || {
            if catch_unwind(AssertUnwindSafe(|| self.run(&inbox))).is_err() {
                log::warn(&format!(
                    "a fault in the export {how} was stopped; nothing is exported {how} from here on, all else goes on"
                ));
            }
        };
        match own_thread::spawn(thread, guarded) {
            Ok(()) => Some(orders),
            Err(error) => {
                log::warn(&format!("no thread to export with ({error}): nothing is exported {how}"));
                None
            }
        }
    }

    fn run(mut self, orders: &Receiver<Reply<()>>) {
        loop {
            match orders.recv_timeout(self.exporter.interval()) {
                Ok(done) => {
                    self.export(LAST);
                    done.give(());
                }
                Err(RecvTimeoutError::Timeout) => self.export(Duration::MAX),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn export(&mut self, patience: Duration) {
        let begun = Instant::now();
        // a collector that is busy for so long has the next export's figures ready
        let Some(sums) = control::sums(FOR_SUMS.min(patience)) else {
            return self.fail("the figures are not ready in time");
        };
        let families: Vec<Family> = families(&sums, &self.identity, &mut lock(&self.peers), self.failed);
        match self.exporter.export(&families, patience.saturating_sub(begun.elapsed())) {
            Ok(()) => {
                if std::mem::take(&mut self.outage) {
                    log::warn(&format!("figures are exported again {}", self.teller.way.how));
                }
            }
            Err(why) => self.fail(&why),
        }
    }

    fn fail(&mut self, why: &str) {
        self.failed += 1;
        self.outage |= self.teller.tell(why);
    }
}
