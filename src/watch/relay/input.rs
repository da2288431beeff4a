//! Standard input as the looks of all relays. A thread reads it, so a channel that stands holds no look up.

use super::piece::LONGEST_LINE;
use super::receiver::Relays;
use crate::statuses::StatusReading;
use std::io::{self, BufRead, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

/// Longest line that is read, bytes: a channel may put a label before the relay's, or a torn line. Of a longer one the
/// rest is dropped.
const LONGEST: u64 = 4 * LONGEST_LINE as u64;

/// Lines of relays on standard input.
pub(in crate::watch) struct RelayInput {
    begin: Instant,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    relays: Mutex<Relays>,
    has_ended: AtomicBool,
}

impl RelayInput {
    /// Begins to read.
    ///
    /// # Errors
    /// When the system has no further thread.
    pub(in crate::watch) fn begin() -> io::Result<Self> {
        let (begin, shared) = (Instant::now(), Arc::<Shared>::default());
        let of_thread = Arc::clone(&shared);
        thread::Builder::new().name("relays".into()).spawn(move || {
            // an input that fails has ended
            let _ = read(&mut io::stdin().lock(), &of_thread, begin);
            of_thread.has_ended.store(true, Ordering::Release);
        })?;
        Ok(Self { begin, shared })
    }

    /// Returns whether all lines were read.
    pub(in crate::watch) fn has_ended(&self) -> bool {
        self.shared.has_ended.load(Ordering::Acquire)
    }

    /// Returns whether the relays have said something, and others have had this time to begin, seconds.
    pub(in crate::watch) fn is_ready(&self, time: f64) -> bool {
        let now = self.begin.elapsed().as_secs_f64();
        self.has_ended() || self.shared.relays().first_look.is_some_and(|first| first + time <= now)
    }

    /// Returns the newest look of each relay.
    pub(in crate::watch) fn look(&self) -> StatusReading {
        let relays = self.shared.relays();
        let mut reading = relays.reading(self.begin.elapsed().as_secs_f64());
        reading.foreign = relays.lost_line();
        reading
    }

    /// Returns how many lines and messages were lost.
    pub(in crate::watch) fn lost(&self) -> u64 {
        self.shared.relays().lost
    }
}

impl Shared {
    fn relays(&self) -> MutexGuard<'_, Relays> {
        self.relays.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(from: &mut impl BufRead, to: &Shared, begin: Instant) -> io::Result<()> {
    let mut line = vec![];
    loop {
        line.clear();
        if from.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.len() as u64 == LONGEST && !line.ends_with(b"\n") {
            to.relays().lose(&String::from_utf8_lossy(&line));
            from.skip_until(b'\n')?;
            continue;
        }
        to.relays().take(line.trim_ascii_end(), begin.elapsed().as_secs_f64());
    }
}
