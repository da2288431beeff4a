//! The counters of a GPU and of the node's adapters since they were first read.

use super::bytes::{AbsenceReason, AdapterBytes, GpuBytes, PcieRate};
use crate::hardware::nics::Nic;
use crate::hardware::nvml::{Nvml, NvmlGpu, Refusal};
use crate::hardware::{Forward, Ways};
use crate::{conditions, links};
use std::collections::BTreeMap;
use std::time::Instant;

/// Looks at a GPU's condition for one at its errors, which takes longer.
const LOOKS_PER_ERRORS: u64 = 60;

/// A GPU of the process.
#[derive(Debug)]
pub(super) struct WatchedGpu {
    bus: String,
    found: Result<NvmlGpu, String>,
    data: Ways<Forward>,
    raw: Ways<Forward>,
    has_raw: bool,
    /// Times of the first reading and of the last one.
    read: Option<[Instant; 2]>,
    /// Why NVML does not count the bytes over NVLink.
    refused: Option<Refusal>,
    pcie: PcieRate,
    /// Set once NVML has refused to measure PCIe for good.
    no_pcie: bool,
    /// Looks at its condition.
    looks: u64,
}

impl WatchedGpu {
    pub(super) fn new(nvml: &Nvml, bus: String) -> Self {
        let found = nvml.at(&bus).map_err(|refusal| refusal.why);
        if let Ok(gpu) = &found {
            links::note_nvlinks(nvml, gpu);
        }
        Self {
            bus,
            found,
            data: Ways::default(),
            raw: Ways::default(),
            has_raw: true,
            read: None,
            refused: None,
            pcie: PcieRate::default(),
            no_pcie: false,
            looks: 0,
        }
    }

    pub(super) fn is_at(&self, bus: &str) -> bool {
        self.bus == bus
    }

    /// Reads the GPU's condition.
    pub(super) fn watch(&mut self, nvml: &Nvml) {
        let Ok(gpu) = &self.found else { return };
        let errors =
            self.looks.is_multiple_of(LOOKS_PER_ERRORS).then(|| nvml.errors(gpu).errors().map(|(_, errors)| errors));
        self.looks += 1;
        conditions::gpus::note(&self.bus, nvml.vitals(gpu), errors);
    }

    /// Reads the counters of NVLink.
    pub(super) fn read(&mut self, nvml: &Nvml) {
        let Ok(gpu) = &self.found else { return };
        if self.refused.as_ref().is_some_and(|refusal| refusal.is_final()) {
            return;
        }
        match nvml.nvlink(gpu) {
            Ok(counted) => {
                self.refused = None;
                let now = Instant::now();
                self.read.get_or_insert([now; 2])[1] = now;
                advance(&mut self.data, counted.data);
                self.has_raw &= counted.raw.is_some();
                if let Some(raw) = counted.raw {
                    advance(&mut self.raw, raw);
                }
            }
            Err(refusal) => self.refused = Some(refusal),
        }
    }

    /// Measures the rate over PCIe once.
    pub(super) fn measure_pcie(&mut self, nvml: &Nvml) {
        let Ok(gpu) = &self.found else { return };
        if self.no_pcie {
            return;
        }
        match nvml.pcie(gpu) {
            Ok(rate) => self.pcie.add(rate),
            Err(refusal) => self.no_pcie = refusal.is_final(),
        }
    }

    pub(super) fn bytes(&self) -> GpuBytes {
        let (uuid, unknown) = match &self.found {
            Ok(gpu) => (gpu.uuid.clone(), None),
            Err(why) => (None, Some(why.clone())),
        };
        // what was counted before a refusal stands
        let refused = self.refused.as_ref().filter(|_| self.read.is_none()).map(|refusal| refusal.why.clone());
        let why = unknown.or(refused);
        let sums = |of: Ways<Forward>| of.map(|counter| counter.sum());
        GpuBytes {
            bus: self.bus.clone(),
            uuid,
            seconds: self.read.map_or(0.0, |[first, last]| last.duration_since(first).as_secs_f64()),
            is_old: self.refused.is_some() && self.read.is_some(),
            nvlink: why.map_or(Ok(sums(self.data)), |why| Err(AbsenceReason(why))),
            raw: (self.has_raw && self.raw.sent.is_read()).then(|| sums(self.raw)),
            set_back: self.data.sent.set_back() + self.data.received.set_back(),
            pcie: Some(self.pcie).filter(|rate| rate.samples > 0),
        }
    }
}

fn advance(counters: &mut Ways<Forward>, now: Ways<u64>) {
    let _ = counters.sent.read(now.sent);
    let _ = counters.received.read(now.received);
}

/// The node's adapters.
#[derive(Debug, Default)]
pub(super) struct Adapters(BTreeMap<String, Ways<Forward>>);

impl Adapters {
    pub(super) fn read(&mut self, now: Vec<Nic>) {
        now.into_iter().for_each(|nic| advance(self.0.entry(nic.name).or_default(), nic.bytes));
    }

    pub(super) fn bytes(&self) -> Vec<AdapterBytes> {
        let one = |(name, counters): (&String, &Ways<Forward>)| AdapterBytes {
            name: name.clone(),
            bytes: counters.map(|counter| counter.sum()),
        };
        self.0.iter().map(one).collect()
    }
}
