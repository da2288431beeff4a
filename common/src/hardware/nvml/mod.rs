//! NVML, NVIDIA's management library, looked up at run time: the few functions that say how many bytes went over NVLink
//! and PCIe, and in which condition a GPU is.
//!
//! NVML's calls may take long, and may hang where a GPU has failed. So the library calls them on a thread of its own,
//! for which nobody waits without a deadline.

pub mod condition;
mod functions;
pub mod gpm;
mod layout;
mod library;
pub mod throttle;
pub mod xids;

use super::Ways;
pub use functions::Refusal;
use functions::{Functions, Handle, written};
use layout::{
    ALL_LINKS, FieldValue, NOT_SUPPORTED, NVLINK_COUNT, NVLINK_DATA, NVLINK_RAW, NVLINK_SPEED, NVLINK_STATE, PCIE,
    SUCCESS, bus_id, text,
};
pub use library::NvmlLibrary;
use std::ffi::c_uint;

/// Bytes in NVML's unit of the NVLink counters.
const KIB: u64 = 1024;
/// GPUs of a machine: a larger number is not believed.
const MAX_GPUS: c_uint = 1024;
/// Links of a GPU. Larger numbers are not asked for.
const MAX_LINKS: c_uint = 36;

/// NVML, initialised.
#[derive(Debug)]
pub struct Nvml {
    functions: Functions,
    /// Fields of the hardware's throttle times in this driver.
    hardware_times: Option<[c_uint; 2]>,
}

/// A GPU as NVML knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmlGpu {
    handle: Handle,
    /// Its place on the PCI bus, as [`place`] writes it.
    pub bus: String,
    /// Its UUID, if NVML tells it.
    pub uuid: Option<String>,
    /// Its maximum clock, MHz.
    max_clock: Option<u32>,
    /// Number of its NVLinks.
    nvlinks: c_uint,
}

/// Bytes over NVLink since the driver was loaded, over all links of a GPU: those of everybody who uses the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NvLink {
    /// The data.
    pub data: Ways<u64>,
    /// The data with the protocol's headers, if NVML counts them.
    pub raw: Option<Ways<u64>>,
}

impl Nvml {
    /// Returns all GPUs of the machine that this process may see, in NVML's order, which is not CUDA's.
    ///
    /// # Errors
    /// Says which call failed. GPUs that NVML cannot open are left out.
    pub fn gpus(&self) -> Result<Vec<NvmlGpu>, Refusal> {
        let count = written(|to| self.functions.count(to))?;
        if count > MAX_GPUS {
            let why = format!("nvmlDeviceGetCount says {count} GPUs, more than any machine has");
            return Err(Refusal::never(why));
        }
        let handle = |index| {
            let handle = written(|to| self.functions.by_index(index, to)).ok()?;
            let info = written(|to| self.functions.pci(handle, to)).ok()?;
            Some(self.gpu(handle, &place(&text(&info.bus_id))))
        };
        Ok((0..count).filter_map(handle).collect())
    }

    /// Returns the GPU at this place on the PCI bus.
    ///
    /// # Errors
    /// Says why NVML does not know it.
    pub fn at(&self, bus: &str) -> Result<NvmlGpu, Refusal> {
        let handle = written(|to| self.functions.by_bus(&bus_id(bus), to))?;
        Ok(self.gpu(handle, bus))
    }

    /// Reads the bytes over all NVLinks of a GPU.
    ///
    /// # Errors
    /// Says why NVML does not count them.
    pub fn nvlink(&self, gpu: &NvmlGpu) -> Result<NvLink, Refusal> {
        let [sent, received] = NVLINK_DATA;
        let [raw_sent, raw_received] = NVLINK_RAW;
        let mut values = [sent, received, raw_sent, raw_received].map(|field| FieldValue::request(field, ALL_LINKS));
        self.functions.fields(gpu.handle, &mut values)?;
        let [sent, received, raw_sent, raw_received] = values.map(|value| self.bytes(&value));
        let raw = raw_sent.ok().zip(raw_received.ok()).map(|(sent, received)| Ways { sent, received });
        Ok(NvLink { data: Ways { sent: sent?, received: received? }, raw })
    }

    /// Reads the bytes over each NVLink of a GPU, by the link's number. Empty where NVML does not count by link.
    pub fn links(&self, gpu: &NvmlGpu) -> Vec<(u32, Ways<u64>)> {
        let [sent, received] = NVLINK_DATA;
        let asked = |link| [FieldValue::request(sent, link), FieldValue::request(received, link)];
        let mut values: Vec<FieldValue> = (0..MAX_LINKS).flat_map(asked).collect();
        if self.functions.fields(gpu.handle, &mut values).is_err() {
            return vec![];
        }
        let link = |pair: &[FieldValue]| match pair {
            [sent, received] => {
                Some((sent.scope, Ways { sent: self.bytes(sent).ok()?, received: self.bytes(received).ok()? }))
            }
            _ => None,
        };
        values.chunks(2).filter_map(link).collect()
    }

    /// Returns the number of a GPU's NVLinks that are up, and the sum of their rates in Mbit/s in one direction. `None`
    /// where NVML does not tell it.
    pub fn nvlinks_up(&self, gpu: &NvmlGpu) -> Option<(u32, u64)> {
        let asked = |link| [FieldValue::request(NVLINK_STATE, link), FieldValue::request(NVLINK_SPEED, link)];
        let mut values = vec![FieldValue::request(NVLINK_COUNT, 0)];
        values.extend((0..MAX_LINKS).flat_map(asked));
        self.functions.fields(gpu.handle, &mut values).ok()?;
        let (count, links) = values.split_first()?;
        sum_of_links(count, links)
    }

    /// Measures the bytes per second over PCIe, each direction for 20 ms, for which the call waits.
    ///
    /// NVML counts these bytes, too (fields 197 and 198), but in 32 bits, which are full after a tenth of a second at a
    /// GPU's pace.
    ///
    /// # Errors
    /// Says why NVML does not measure them.
    pub fn pcie(&self, gpu: &NvmlGpu) -> Result<Ways<u64>, Refusal> {
        let rate = |direction| {
            let kilobytes = written(|to| self.functions.pcie(gpu.handle, direction, to))?;
            Ok(u64::from(kilobytes) * 1000)
        };
        let [sent, received] = PCIE.map(rate);
        Ok(Ways { sent: sent?, received: received? })
    }

    /// Returns the bytes of a field that counts KiB.
    fn bytes(&self, value: &FieldValue) -> Result<u64, Refusal> {
        let what = format!("NVML's field {}", value.field);
        self.functions.check(&what, value.result)?;
        let whole = value.whole().and_then(|kib| kib.checked_mul(KIB));
        whole.ok_or_else(|| Refusal::never(format!("{what} is no number of KiB")))
    }
}

/// Sums the rates of the links that are up, of which `links` has state and speed in turn. A GPU whose number of links
/// is 0, or is as little supported as their states are, has none. `None` if NVML does not tell the rate of a link that
/// is up, or the state of any.
fn sum_of_links(count: &FieldValue, links: &[FieldValue]) -> Option<(u32, u64)> {
    let known = |value: &FieldValue| value.whole().filter(|_| value.result == SUCCESS);
    let states: Vec<(Option<u64>, Option<u64>)> = links
        .chunks(2)
        .filter_map(|pair| match pair {
            [state, speed] => Some((known(state), known(speed))),
            _ => None,
        })
        .collect();
    let has_none = known(count) == Some(0) || count.result == NOT_SUPPORTED;
    if states.iter().all(|(state, _)| state.is_none()) {
        return has_none.then_some((0, 0));
    }
    let up = || states.iter().filter(|(state, _)| *state == Some(1));
    let sum = up().try_fold(0_u64, |sum, (_, speed)| sum.checked_add((*speed)?))?;
    Some((u32::try_from(up().count()).ok()?, sum.checked_mul(8)?))
}

/// Returns a place on the PCI bus as CUDA and Linux write it: NVML writes the domain with eight digits.
pub fn place(bus: &str) -> String {
    let bus = bus.trim().to_uppercase();
    let short = bus.split_once(':').and_then(|(domain, _)| {
        let zeros = domain.len().checked_sub(4)?;
        domain.get(..zeros).filter(|zeros| zeros.bytes().all(|digit| digit == b'0')).map(|_| zeros)
    });
    short.and_then(|zeros| bus.get(zeros..)).unwrap_or(&bus).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rates_of_links_that_are_up_are_summed() {
        let told = |number: u32| {
            let [a, b, c, d] = number.to_ne_bytes();
            FieldValue { kind: 1, value: [a, b, c, d, 0, 0, 0, 0], ..FieldValue::default() }
        };
        let refused = FieldValue { result: NOT_SUPPORTED, ..FieldValue::default() };
        let link = |state, speed| [told(state), told(speed)];
        // 18 links of an H100; one of three is down, and has a speed of another time
        let all: Vec<FieldValue> = (0..18).flat_map(|_| link(1, 26_562)).collect();
        assert_eq!(sum_of_links(&told(18), &all), Some((18, 3_824_928)));
        let some = [link(1, 25_000), link(0, 25_000), link(1, 25_000)].concat();
        assert_eq!(sum_of_links(&told(3), &some), Some((2, 400_000)));
        assert_eq!(sum_of_links(&told(2), &[link(0, 0), link(0, 0)].concat()), Some((0, 0)));
        // a GPU without NVLink; a driver that knows the number and no states; a link without a speed
        assert_eq!(sum_of_links(&refused, &[refused; 4]), Some((0, 0)));
        assert_eq!(sum_of_links(&told(12), &[refused; 4]), None);
        assert_eq!(sum_of_links(&told(1), &[told(1), refused]), None);
    }

    #[test]
    fn a_place_is_written_in_one_way() {
        for (bus, expected) in [
            ("00000000:0a:00.0", "0000:0A:00.0"),
            ("0000:0A:00.0", "0000:0A:00.0"),
            ("00010000:0a:00.0", "00010000:0A:00.0"),
            ("0:a", "0:A"),
            ("é:1", "É:1"),
            ("", ""),
        ] {
            assert_eq!(place(bus), expected);
        }
    }
}
