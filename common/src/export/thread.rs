//! The exporters' threads, one each, so that one who is slow holds up no other. A fault in one ends its exports alone: the recording goes on.

use super::families::families;
use super::identity::Identity;
use super::peers::Peers;
use super::{Exporter, Family, Way};
use crate::config::Settings;
use crate::{control, log, own_thread, spread, summary};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender};
use once_cell::sync::OnceCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long an export may wait for the collector's sums.
const FOR_SUMS: Duration = Duration::from_secs(10);
/// How long the end of the process waits for the last export of all of them, and how long that may take itself.
const AT_END: Duration = Duration::from_millis(1900);
const LAST: Duration = Duration::from_millis(1700);
/// Between two lines about exports that fail.
const A_MINUTE: Duration = Duration::from_secs(60);

/// Asks a thread for one more export; it answers when that is done.
type Orders = Sender<Sender<()>>;

/// Those of all threads.
static ORDERS: OnceCell<Vec<Orders>> = OnceCell::new();

/// An exporter, or why there is none.
type Made = Result<Box<dyn Exporter>, String>;

/// Starts a thread for each that could be made.
pub(super) fn begin(asked: impl Iterator<Item = (Way, Made)>, identity: &Identity, settings: &Settings) {
    let start = |(way, made): (Way, Made)| {
        let how = way.how;
        let exporter = made.map_err(|why| log::warn(&format!("nothing is exported {how}: {why}"))).ok()?;
        let peers = Peers::new(settings.otel_most_peers);
        Work { way, exporter, identity: identity.clone(), peers, failed: 0, fails: false, told: None }.start()
    };
    let orders: Vec<Orders> = asked.filter_map(start).collect();
    if !orders.is_empty() {
        spread::want();
    }
    // it is called once
    let _ = ORDERS.set(orders);
}

/// Has everything exported once more, and waits for that a little: not again where a measurement and then the process ends, and nothing
/// has happened in between.
pub(super) fn last() {
    static EXPORTED: AtomicU64 = AtomicU64::new(0);
    let Some(orders) = ORDERS.get().filter(|orders| !orders.is_empty()) else { return };
    let callbacks = summary::callbacks();
    if EXPORTED.swap(callbacks, Ordering::Relaxed) == callbacks {
        return;
    }
    let deadline = Instant::now() + AT_END;
    let (done, answers) = crossbeam_channel::bounded(orders.len());
    // one that is not taken yet does the same
    let sent = orders.iter().filter(|order| order.try_send(done.clone()).is_ok()).count();
    // so that nobody is left to answer where all threads are gone
    drop(done);
    for _ in 0..sent {
        if answers.recv_deadline(deadline).is_err() {
            return;
        }
    }
}

struct Work {
    way: Way,
    exporter: Box<dyn Exporter>,
    identity: Identity,
    peers: Peers,
    failed: u64,
    /// Whether the last export failed.
    fails: bool,
    /// When a failure was told last.
    told: Option<Instant>,
}

impl Work {
    /// Does it on a thread of its own; gives what asks that for more.
    fn start(self) -> Option<Orders> {
        let (orders, inbox) = crossbeam_channel::bounded(1);
        let Way { thread, how, .. } = self.way;
        let guarded = move || {
            if catch_unwind(AssertUnwindSafe(|| self.run(&inbox))).is_err() {
                log::warn(&format!(
                    "a fault in the export {how} was stopped; nothing is exported {how} from here on, all else goes on"
                ));
            }
        };
        match own_thread::spawn(thread, guarded) {
            Ok(_) => Some(orders),
            Err(error) => {
                log::warn(&format!("no thread to export with ({error}): nothing is exported {how}"));
                None
            }
        }
    }

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
        let Way { how, out, .. } = self.way;
        match self.exporter.export(&families, patience.saturating_sub(begun.elapsed())) {
            Ok(()) => {
                if std::mem::take(&mut self.fails) {
                    log::info(&format!("figures are exported again {how}"));
                }
            }
            Err(why) => {
                self.failed += 1;
                self.fails = true;
                if self.told.is_none_or(|told| told.elapsed() >= A_MINUTE) {
                    self.told = Some(Instant::now());
                    log::warn(&format!(
                        "figures could not be exported {how} ({why}); all of them go with the next export ({out})"
                    ));
                }
            }
        }
    }
}
