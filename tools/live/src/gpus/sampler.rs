//! Readings of the node's counters, and their steps from one to the next.

use super::condition::{ConditionStep, Conditions};
use super::cost::{PartBegin, ReadingCost, ReadingPart};
use common::hardware::nics;
use common::hardware::nvml::gpm::{self, GpmSample};
use common::hardware::nvml::xids::XidWatch;
use common::hardware::nvml::{NvLink, Nvml, NvmlGpu, NvmlLibrary, Refusal};
use common::hardware::{Forward, Ways};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// A thing whose bytes are counted, in the order of a table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Device {
    /// All NVLinks of the GPU at this place on the PCI bus.
    NvLink(String),
    /// One NVLink of a GPU.
    Link(String, u32),
    /// A GPU's place on PCIe.
    Pcie(String),
    /// A network adapter.
    Adapter(String),
}

/// The step of a device's counters over an interval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CounterStep {
    /// The device.
    pub(super) device: Device,
    /// Bytes of the interval, and since the first reading; `None` for PCIe, whose rate is measured for 20 ms, and for a
    /// link of which only GPM knows, by its rate.
    pub(super) bytes: Option<DeviceBytes>,
    /// Bytes per second.
    pub(super) rate: Ways<f64>,
}

/// Bytes of a device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct DeviceBytes {
    /// Of the interval.
    pub(super) step: Ways<u64>,
    /// Since the first reading.
    pub(super) sum: Ways<u64>,
}

/// An interval.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Interval {
    /// Its length, seconds.
    pub(super) seconds: f64,
    /// The devices that were read at both ends.
    pub(super) rows: Vec<CounterStep>,
    /// The GPUs that were read at both ends.
    pub(super) conditions: Vec<ConditionStep>,
}

/// The node's counters.
pub(super) struct Sampler {
    nvml: Option<Nvml>,
    /// The GPUs in the order of their places.
    pub(super) gpus: Vec<NvmlGpu>,
    /// The reason why NVML does not count the bytes of a GPU, by its place.
    refusals: BTreeMap<String, Refusal>,
    sysfs: PathBuf,
    counters: BTreeMap<Device, Ways<Forward>>,
    wants_links: bool,
    /// GPM's latest sample of each GPU, by its place.
    samples: BTreeMap<String, GpmSample>,
    last: Option<Instant>,
    conditions: Conditions,
    /// `None` where NVML has no events of any GPU.
    xids: Option<XidWatch>,
    /// The cost of the readings.
    pub(super) cost: ReadingCost,
}

impl Sampler {
    /// Of the network adapters alone.
    pub(super) fn of_adapters(sysfs: &Path) -> Self {
        Self::of(None, vec![], sysfs, false)
    }

    /// Of the adapters and the GPUs, which are looked up. Without NVML there are none, and its reason is the second part of
    /// the result.
    pub(super) fn new(sysfs: &Path, wants_links: bool) -> (Self, Option<String>) {
        let found = NvmlLibrary::load().and_then(NvmlLibrary::begin).and_then(|nvml| {
            let gpus = nvml.gpus().map_err(|refusal| refusal.why)?;
            Ok((nvml, gpus))
        });
        let (nvml, mut gpus, why) = match found {
            Ok((nvml, gpus)) if gpus.is_empty() => (Some(nvml), gpus, Some("NVML knows no GPU here".into())),
            Ok((nvml, gpus)) => (Some(nvml), gpus, None),
            Err(why) => (None, vec![], Some(why)),
        };
        gpus.sort_by(|one, other| one.bus.cmp(&other.bus));
        (Self::of(nvml, gpus, sysfs, wants_links), why)
    }

    fn of(nvml: Option<Nvml>, gpus: Vec<NvmlGpu>, sysfs: &Path, wants_links: bool) -> Self {
        Self {
            xids: nvml.as_ref().and_then(|nvml| nvml.watch_xids(&gpus).ok()),
            nvml,
            gpus,
            refusals: BTreeMap::new(),
            sysfs: sysfs.into(),
            counters: BTreeMap::new(),
            wants_links,
            samples: BTreeMap::new(),
            last: None,
            conditions: Conditions::default(),
            cost: ReadingCost::default(),
        }
    }

    /// Returns the reasons why NVML does not count the bytes of GPUs, by place.
    pub(super) fn refusals(&self) -> Vec<(String, String)> {
        self.refusals.iter().map(|(bus, refusal)| (bus.clone(), refusal.why.clone())).collect()
    }

    /// Reads all counters. Returns the interval since the reading before.
    pub(super) fn read(&mut self) -> Option<Interval> {
        let begin = PartBegin::now();
        let mut now = BTreeMap::new();
        let mut rates = vec![];
        if let Some(nvml) = &self.nvml {
            for gpu in &self.gpus {
                self.refusals.remove(&gpu.bus);
                match nvml.nvlink(gpu) {
                    Ok(NvLink { data, .. }) => {
                        now.insert(Device::NvLink(gpu.bus.clone()), data);
                        let links = if self.wants_links { nvml.links(gpu) } else { vec![] };
                        now.extend(links.into_iter().map(|(link, of)| (Device::Link(gpu.bus.clone(), link), of)));
                    }
                    Err(refusal) => _ = self.refusals.insert(gpu.bus.clone(), refusal),
                }
            }
        }
        now.extend(nics::read(&self.sysfs).into_iter().map(|nic| (Device::Adapter(nic.name), nic.bytes)));
        let moment = Instant::now();
        let seconds = self.last.replace(moment).map(|last| moment.duration_since(last).as_secs_f64());
        let rows = self.advance(now, seconds.unwrap_or(f64::INFINITY));
        self.cost.add(ReadingPart::Counters, &begin);
        if let Some(xids) = &self.xids {
            let begin = PartBegin::now();
            self.conditions.take_xids(xids);
            self.cost.add(ReadingPart::Xids, &begin);
        }
        let begin = PartBegin::now();
        let read = |nvml| self.conditions.read(nvml, &self.gpus, self.xids.as_ref());
        let conditions = self.nvml.as_ref().map(read).unwrap_or_default();
        self.cost.add(ReadingPart::Conditions, &begin);
        let mut of_links = BTreeMap::new();
        if self.wants_links {
            let begin = PartBegin::now();
            of_links = self.link_rates();
            self.cost.add(ReadingPart::Links, &begin);
        }
        let seconds = seconds?;
        let begin = PartBegin::now();
        if let Some(nvml) = &self.nvml {
            // after the counters, since each measurement takes 20 ms
            let measured = self.gpus.iter().filter_map(|gpu| Some((gpu.bus.clone(), nvml.pcie(gpu).ok()?)));
            rates.extend(measured.map(|(bus, rate)| CounterStep {
                device: Device::Pcie(bus),
                bytes: None,
                rate: rate.map(|bytes| bytes as f64),
            }));
            self.cost.add(ReadingPart::Pcie, &begin);
        }
        let mut rows: Vec<CounterStep> = with_links(rows, &of_links).into_iter().chain(rates).collect();
        rows.sort_by(|one, other| one.device.cmp(&other.device));
        Some(Interval { seconds, rows, conditions })
    }

    /// Takes a sample of each GPU by GPM, and returns the rates over its links since the sample before, by its place.
    /// Empty for a GPU whose samples are too close, and where GPM has none.
    fn link_rates(&mut self) -> BTreeMap<String, Vec<(u32, Ways<f64>)>> {
        let (Some(nvml), mut rates) = (&self.nvml, BTreeMap::new()) else { return BTreeMap::new() };
        for gpu in &self.gpus {
            if self.samples.get(&gpu.bus).is_some_and(|earlier| earlier.taken.elapsed() < gpm::LEAST) {
                continue;
            }
            let Ok(sample) = nvml.sample(gpu) else { continue };
            if let Some(Ok(found)) = self.samples.get(&gpu.bus).map(|earlier| nvml.link_rates(earlier, &sample)) {
                rates.insert(gpu.bus.clone(), found);
            }
            self.samples.insert(gpu.bus.clone(), sample);
        }
        rates
    }

    /// Takes in readings, and returns the steps of the counters that were read before.
    fn advance(&mut self, now: BTreeMap<Device, Ways<u64>>, seconds: f64) -> Vec<CounterStep> {
        let row = |(device, now): (Device, Ways<u64>)| {
            let counters = self.counters.entry(device.clone()).or_default();
            let was_read = counters.sent.is_read();
            let step = Ways {
                sent: counters.sent.read(now.sent).unwrap_or(0),
                received: counters.received.read(now.received).unwrap_or(0),
            };
            let sum = counters.map(|counter| counter.sum());
            let rate = step.map(|bytes| bytes as f64 / seconds);
            was_read.then_some(CounterStep { device, bytes: Some(DeviceBytes { step, sum }), rate })
        };
        now.into_iter().filter_map(row).collect()
    }
}

/// Leaves the rows of single links out where they are none: some drivers give the bytes of all links for each. GPM's
/// rates, by the GPU's place, stand for those and for links without counters.
fn with_links(rows: Vec<CounterStep>, of_gpm: &BTreeMap<String, Vec<(u32, Ways<f64>)>>) -> Vec<CounterStep> {
    let sent = |row: &CounterStep| row.bytes.map_or(0, |bytes| bytes.sum.sent.saturating_add(bytes.sum.received));
    let (mut whole, mut of_links): (BTreeMap<String, u64>, BTreeMap<String, u64>) = Default::default();
    for row in &rows {
        match &row.device {
            Device::NvLink(bus) => _ = whole.insert(bus.clone(), sent(row)),
            Device::Link(bus, _) => {
                let sum = of_links.entry(bus.clone()).or_default();
                *sum = sum.saturating_add(sent(row));
            }
            _ => {}
        }
    }
    // the links are read a moment after the whole
    let is_too_much = |bus: &String| of_links.get(bus).zip(whole.get(bus)).is_some_and(|(links, all)| links / 2 > *all);
    let (none, rows): (Vec<CounterStep>, Vec<CounterStep>) =
        rows.into_iter().partition(|row| matches!(&row.device, Device::Link(bus, _) if is_too_much(bus)));
    let is_there = |bus: &String, link| {
        let device = Device::Link(bus.clone(), link);
        !of_links.contains_key(bus) || none.iter().any(|row| row.device == device)
    };
    let by_gpm = of_gpm.iter().flat_map(|(bus, rates)| rates.iter().map(move |&(link, rate)| (bus, link, rate)));
    let by_gpm = by_gpm
        .filter(|(bus, link, _)| whole.contains_key(*bus) && is_there(bus, *link))
        .map(|(bus, link, rate)| CounterStep { device: Device::Link(bus.clone(), link), bytes: None, rate });
    let by_gpm: Vec<CounterStep> = by_gpm.collect();
    rows.into_iter().chain(by_gpm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(device: Device, bytes: u64) -> CounterStep {
        let both = |bytes| Ways { sent: bytes, received: bytes };
        CounterStep { device, bytes: Some(DeviceBytes { step: both(bytes), sum: both(bytes) }), rate: Ways::default() }
    }

    #[test]
    fn links_that_each_have_the_bytes_of_all_are_left_out() {
        let of = |of_link: u64| {
            let links = (0..4).map(|link| row(Device::Link("a".into(), link), of_link));
            let rate = Ways { sent: 7.0, received: 8.0 };
            let by_gpm = [("a".into(), vec![(3, rate), (4, rate)]), ("b".into(), vec![(0, rate)])].into();
            let rows = with_links([row(Device::NvLink("a".into()), 1000)].into_iter().chain(links).collect(), &by_gpm);
            let links = rows.into_iter().filter(|row| matches!(row.device, Device::Link(..)));
            links.map(|row| row.bytes.is_some()).collect::<Vec<bool>>()
        };
        // link 3 is one of the four, and GPM knows its rate
        assert_eq!([of(250), of(300), of(1000)], [vec![true; 4], vec![true; 4], vec![false]]);
    }

    #[test]
    fn a_device_has_a_row_from_its_second_reading_on() {
        let mut sampler = Sampler::of_adapters(Path::new("/nonexistent"));
        let mut rows = |bytes: u64| {
            let now = [(Device::Adapter("a".into()), Ways { sent: bytes, received: 5 })];
            sampler.advance(now.into(), 0.5)
        };
        assert_eq!(rows(100), []);
        let [CounterStep { bytes, rate, .. }] = rows(130).try_into().unwrap();
        assert_eq!((bytes.unwrap().step.sent, rate), (30, Ways { sent: 60.0, received: 0.0 }));
        let [CounterStep { bytes, rate, .. }] = rows(10).try_into().unwrap();
        assert_eq!((bytes.unwrap().sum.sent, rate.sent), (30, 0.0));
    }
}
