//! The exporters' threads, one for each exporter, so that a slow one delays no other. A fault in a thread ends its
//! exports alone: the recording goes on.

use super::exporter::{Exporter, ExporterWords};
use super::families::families;
use super::family::Family;
use super::identity::ProcessIdentity;
use super::peer_labels::PeerLabels;
use crate::base::answer::{self, AnswerFailure, Reply};
use crate::base::{log, moments, own_thread};
use crate::config::Settings;
use crate::control;
use crate::record::thread::ThreadCell;
use crate::sums::histograms;
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use once_cell::sync::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Time for which an export waits for the collector's sums.
const FOR_SUMS: Duration = Duration::from_secs(10);
/// Time for which the end of the process waits for all last exports.
const AT_END: Duration = Duration::from_millis(1900);
/// Time that a last export may take.
const LAST: Duration = Duration::from_millis(1700);
/// Least time between two warnings about exports that fail.
const A_MINUTE: Duration = Duration::from_secs(60);

/// Orders one more export from a thread, which answers when it is done.
type ExportOrders = Sender<Reply<()>>;

/// The orders to all threads, each with the teller of its exporter's failures.
static ORDERS: OnceCell<Vec<(ExportOrders, Teller)>> = OnceCell::new();

/// Set when an exporter could not begin.
static LACKS_ONE: AtomicBool = AtomicBool::new(false);

/// An exporter, or why there is none.
type MadeExporter = Result<Box<dyn Exporter>, String>;

/// Starts a thread for each exporter that could be made.
pub(super) fn begin(
    asked: impl Iterator<Item = (ExporterWords, MadeExporter)>,
    identity: &ProcessIdentity,
    settings: &Settings,
) {
    // shared, so that all exporters have the same labels
    let peers = Arc::new(Mutex::new(PeerLabels::new(settings.otel_most_peers)));
    let start = |(way, made): (ExporterWords, MadeExporter)| {
        let how = way.how;
        let exporter = made.map_err(|why| log::warn(&format!("nothing is exported {how}: {why}"))).ok()?;
        let teller = Teller { way, told: Arc::default(), has_failed: Arc::default() };
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
    let begun = asked.map(start).collect::<Vec<_>>();
    LACKS_ONE.store(begun.iter().any(Option::is_none), Ordering::Relaxed);
    let orders: Vec<_> = begun.into_iter().flatten().collect();
    if !orders.is_empty() {
        histograms::want();
    }
    // never set before: `begin` is called once
    let _ = ORDERS.set(orders);
}

/// Has everything exported once more, and waits for it a little. Does nothing if nothing has happened since the last
/// call, as when a measurement ends and then the process.
pub(super) fn last() {
    static EXPORTED: AtomicU64 = AtomicU64::new(0);
    /// Milliseconds, summed over all calls.
    static WAITED: AtomicU64 = AtomicU64::new(0);
    let Some(orders) = ORDERS.get().filter(|orders| !orders.is_empty()) else { return };
    let callbacks = ThreadCell::all_callbacks();
    if EXPORTED.swap(callbacks, Ordering::Relaxed) == callbacks {
        return;
    }
    let begun = Instant::now();
    let left = AT_END.saturating_sub(Duration::from_millis(WAITED.load(Ordering::Relaxed)));
    let deadline = moments::after(begun, left);
    // an order that is not taken yet has the same effect
    let sent = orders.iter().filter_map(|(orders, teller)| {
        let (done, answer) = answer::pair();
        orders.try_send(done).ok().map(|()| (answer, teller))
    });
    for (answer, teller) in sent.collect::<Vec<_>>() {
        if answer.wait(deadline.saturating_duration_since(Instant::now())) == Err(AnswerFailure::TooLate) {
            teller.tell("no answer before the process ends");
        }
    }
    WAITED.fetch_add(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Relaxed);
}

/// Returns whether an exporter could not begin, or failed when it exported last.
pub(super) fn have_failed() -> bool {
    let failed = |(_, teller): &(ExportOrders, Teller)| teller.has_failed.load(Ordering::Relaxed);
    LACKS_ONE.load(Ordering::Relaxed) || ORDERS.get().is_some_and(|orders| orders.iter().any(failed))
}

/// Notes one exporter's failures, and warns of them.
#[derive(Clone)]
struct Teller {
    way: ExporterWords,
    /// Time of the last warning.
    told: Arc<Mutex<Option<Instant>>>,
    /// Whether the last export has failed.
    has_failed: Arc<AtomicBool>,
}

impl Teller {
    /// Notes a failure. Warns of it, unless the last warning is less than a minute old. Returns whether it did.
    fn tell(&self, why: &str) -> bool {
        self.has_failed.store(true, Ordering::Relaxed);
        {
            // the lock is released before the line, which allocates, since the end of the process may wait for it
            let mut told = lock(&self.told);
            if told.is_some_and(|told| told.elapsed() < A_MINUTE) {
                return false;
            }
            *told = Some(Instant::now());
        }
        let ExporterWords { how, out, .. } = self.way;
        log::warn(&format!(
            "figures could not be exported {how} ({why}); the next export, if there is one, has all of them ({out})"
        ));
        true
    }
}

/// Locks a mutex, also after a panic of another exporter's thread.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Work {
    teller: Teller,
    exporter: Box<dyn Exporter>,
    identity: ProcessIdentity,
    peers: Arc<Mutex<PeerLabels>>,
    failed: u64,
    /// Whether a failure was told and all exports have failed since. Then the first success is told, too.
    outage: bool,
}

impl Work {
    /// Runs the exports on a thread of their own. Returns the sender of orders.
    fn start(self) -> Option<ExportOrders> {
        let (orders, inbox) = crossbeam_channel::bounded(1);
        let ExporterWords { thread, how, .. } = self.teller.way;
        let has_failed = self.teller.has_failed.clone();
        let guarded = move || {
            if catch_unwind(AssertUnwindSafe(|| self.run(&inbox))).is_err() {
                has_failed.store(true, Ordering::Relaxed);
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
        // a collector that is busy for longer has the next export's sums ready
        let Some(sums) = control::sums(FOR_SUMS.min(patience)) else {
            return self.fail("the figures are not ready in time");
        };
        let families: Vec<Family> = families(&sums, &self.identity, &mut lock(&self.peers), self.failed);
        match self.exporter.export(&families, patience.saturating_sub(begun.elapsed())) {
            Ok(()) => {
                self.teller.has_failed.store(false, Ordering::Relaxed);
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
