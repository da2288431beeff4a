//! The exporters' thread. A fault in it ends the exports alone: the recording goes on.

use super::families::families;
use super::identity::Identity;
use super::peers::Peers;
use super::{Exporter, Family};
use crate::config::Settings;
use crate::{control, log, otel, own_thread, spread, summary};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use once_cell::sync::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long an export may wait for the collector's sums.
const FOR_SUMS: Duration = Duration::from_secs(10);
/// How long the end of the process waits for last exports in all, and how long one may take itself.
const AT_END: Duration = Duration::from_millis(1900);
const LAST: Duration = Duration::from_millis(1700);
/// Between two lines about exports that fail.
const A_MINUTE: Duration = Duration::from_secs(60);

/// Asks the thread for one more export; it answers when that is done.
static ORDERS: OnceCell<Sender<Sender<()>>> = OnceCell::new();

/// Starts the thread, where an exporter can be made.
pub(super) fn begin(settings: &Settings) {
    let identity = Identity::of_process();
    let exporter = match otel::exporter(&identity) {
        Ok(exporter) => exporter,
        Err(why) => return log::warn(&format!("nothing is exported over OpenTelemetry: {why}")),
    };
    let (orders, inbox) = crossbeam_channel::bounded(1);
    if ORDERS.set(orders).is_err() {
        return;
    }
    spread::want();
    let work = Work { exporter, identity, peers: Peers::new(settings.otel_most_peers), failed: 0, outage: false };
    let guarded = move || {
        if catch_unwind(AssertUnwindSafe(|| work.run(&inbox))).is_err() {
            log::warn("a fault in the export over OpenTelemetry was stopped; nothing is exported from here on, all else goes on");
        }
    };
    if let Err(error) = own_thread::spawn("scorep-nccl-exp", guarded) {
        log::warn(&format!("no thread to export with ({error}): nothing is exported"));
    }
}

/// Has everything exported once more, and waits for that a little: not again where a measurement and then the process ends, and nothing
/// has happened in between.
pub(super) fn last() {
    static EXPORTED: AtomicU64 = AtomicU64::new(0);
    static WAITED: AtomicU64 = AtomicU64::new(0);
    let Some(orders) = ORDERS.get() else { return };
    let callbacks = summary::callbacks();
    if EXPORTED.swap(callbacks, Ordering::Relaxed) == callbacks {
        return;
    }
    let (done, answer) = crossbeam_channel::bounded(1);
    // one that is not taken yet does the same
    if orders.try_send(done).is_ok() {
        let begun = Instant::now();
        let waited = Duration::from_millis(WAITED.load(Ordering::Relaxed));
        // one before may still be under way
        if answer.recv_timeout(AT_END.saturating_sub(waited)) == Err(RecvTimeoutError::Timeout) {
            tell("no answer before the process ends");
        }
        let now = begun.elapsed().as_millis();
        WAITED.fetch_add(u64::try_from(now).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

/// Tells of a failure, unless one was told less than a minute ago. Whether it did.
fn tell(why: &str) -> bool {
    static TOLD: Mutex<Option<Instant>> = Mutex::new(None);
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.is_some_and(|told| told.elapsed() < A_MINUTE) {
        return false;
    }
    *told = Some(Instant::now());
    log::warn(&format!(
        "figures could not be exported over OpenTelemetry ({why}); the next export, if there is one, has all of them \
         (OTEL_EXPORTER_OTLP_ENDPOINT says where to)"
    ));
    true
}

struct Work {
    exporter: Box<dyn Exporter>,
    identity: Identity,
    peers: Peers,
    failed: u64,
    /// Whether a failure was told and exports fail since then: the end of that is told, too.
    outage: bool,
}

impl Work {
    fn run(mut self, orders: &Receiver<Sender<()>>) {
        loop {
            match orders.recv_timeout(self.exporter.interval()) {
                Ok(done) => {
                    self.export(LAST);
                    let _ = done.send(());
                }
                Err(RecvTimeoutError::Timeout) => self.export(Duration::MAX),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn export(&mut self, patience: Duration) {
        let begun = Instant::now();
        // a collector that is busy for so long has the next export's figures ready
        let Some(sums) = control::sums(FOR_SUMS.min(patience)) else { return };
        let families: Vec<Family> = families(&sums, &self.identity, &mut self.peers, self.failed);
        let outcome = self.exporter.export(&families, patience.saturating_sub(begun.elapsed()));
        match outcome {
            Ok(()) => {
                if std::mem::take(&mut self.outage) {
                    log::info("figures are exported again");
                }
            }
            Err(why) => {
                self.failed += 1;
                self.outage |= tell(&why);
            }
        }
    }
}
