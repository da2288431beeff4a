//! The readings of the node, on a thread of their own: a call of NVML may never return where a GPU has failed, and the
//! adapters' figures go on then.

use super::cost::ReadingCost;
use super::sampler::{Interval, Sampler};
use present::output;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

/// Longest wait for a reading. NVML takes some milliseconds, and for its begin a second.
const PATIENCE: Duration = Duration::from_secs(5);

/// A reading, and all that is known of the GPUs by then.
#[derive(Debug, Default)]
pub(super) struct GpuReading {
    /// The GPUs' places and UUIDs.
    pub(super) gpus: Vec<(String, Option<String>)>,
    /// Why there are none.
    pub(super) absent: Option<String>,
    /// Why NVML does not count the bytes of GPUs, by place.
    pub(super) refusals: Vec<(String, String)>,
    /// The cost of all readings.
    pub(super) cost: ReadingCost,
    interval: Option<Interval>,
}

/// The thread, as others see it.
pub(super) struct GpuReader {
    asks: Sender<()>,
    answers: Receiver<GpuReading>,
    /// Whether a reading is under way that has taken too long.
    is_late: bool,
    /// The last reading.
    pub(super) last: GpuReading,
}

impl GpuReader {
    /// Looks the GPUs up and reads the zero of all counters.
    pub(super) fn start(sysfs: &Path, wants_links: bool) -> Self {
        let (asks, asked) = mpsc::channel();
        let (answer, answers) = mpsc::channel();
        let sysfs = sysfs.to_owned();
        let read = move || {
            let (mut sampler, absent) = Sampler::new(&sysfs, wants_links);
            loop {
                let interval = sampler.read();
                let is_heard = answer.send(GpuReading {
                    gpus: sampler.gpus.iter().map(|gpu| (gpu.bus.clone(), gpu.uuid.clone())).collect(),
                    absent: absent.clone(),
                    refusals: sampler.refusals(),
                    cost: sampler.cost.clone(),
                    interval,
                });
                if is_heard.is_err() || asked.recv().is_err() {
                    return;
                }
            }
        };
        let mut reader = Self { asks, answers, is_late: true, last: GpuReading::default() };
        match thread::Builder::new().name("gpus".into()).spawn(read) {
            Ok(_) => reader.wait(),
            Err(error) => reader.last.absent = Some(format!("no thread to ask NVML with ({error})")),
        }
        reader
    }

    /// Returns an interval of the node; `None` where NVML does not answer in time. An answer that comes too late is that
    /// of a longer interval, and stays out.
    pub(super) fn read(&mut self) -> Option<Interval> {
        if self.is_late {
            self.take(self.answers.try_recv().ok());
            self.last.interval = None;
        }
        if self.is_late || self.asks.send(()).is_err() {
            return None;
        }
        self.wait();
        self.last.interval.take()
    }

    fn wait(&mut self) {
        self.is_late = true;
        self.take(self.answers.recv_timeout(PATIENCE).ok());
        if self.is_late {
            let seconds = PATIENCE.as_secs();
            output::say(format_args!("NVML does not answer within {seconds} s: no figures of GPUs until it does"));
            self.last.interval = None;
        }
    }

    fn take(&mut self, answer: Option<GpuReading>) {
        if let Some(answer) = answer {
            (self.last, self.is_late) = (answer, false);
        }
    }

    /// Returns the UUID of the GPU at this place.
    pub(super) fn uuid(&self, bus: &str) -> Option<&str> {
        self.last.gpus.iter().find(|(place, _)| place == bus)?.1.as_deref()
    }
}
