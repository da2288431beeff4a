//! NVML's GPU performance monitoring (GPM): rates over single NVLinks, of Hopper GPUs and newer ones.
//!
//! NVML's fields count the bytes of all links, and some drivers give that sum for each link. GPM counts by link. It
//! gives no bytes, but the rate between two samples. Drivers before 520 lack it.

use super::functions::{Functions, Handle, written};
use super::layout::{GPM_FIRST_LINK, GPM_LINKS, GPM_ROOM, GPM_VERSION, GpmMetric, GpmMetricsGet, GpmSupport};
use super::layout::{NOT_SUPPORTED, SUCCESS};
use super::{Nvml, NvmlGpu, Refusal, Ways};
use std::ffi::c_uint;
use std::time::{Duration, Instant};

/// Least time between two samples, by NVML's documentation: GPM refreshes its counters every 100 ms.
pub const LEAST: Duration = Duration::from_millis(100);
/// Bytes in GPM's unit, MiB/s.
const MIB: f64 = 1_048_576.0;

/// GPM's counters of a GPU at a moment.
#[derive(Debug)]
pub struct GpmSample {
    handle: Handle,
    functions: Functions,
    /// When it was taken.
    pub taken: Instant,
}

impl Drop for GpmSample {
    fn drop(&mut self) {
        // a failure leaves the memory to the process
        let _ = self.functions.gpm_free(self.handle);
    }
}

impl Nvml {
    /// Takes a sample of a GPU.
    ///
    /// # Errors
    /// Says why GPM has none of it.
    pub fn sample(&self, gpu: &NvmlGpu) -> Result<GpmSample, Refusal> {
        let functions = self.functions;
        let mut support = GpmSupport { version: GPM_VERSION, is_supported: 0 };
        functions.gpm_support(gpu.handle, &mut support)?;
        if support.is_supported == 0 {
            functions.check("nvmlGpmQueryDeviceSupport", NOT_SUPPORTED)?;
        }
        let handle = written(|to| functions.gpm_alloc(to))?;
        let sample = GpmSample { handle, functions, taken: Instant::now() };
        functions.gpm_sample(gpu.handle, handle)?;
        Ok(sample)
    }

    /// Returns the bytes per second over each NVLink between two samples of a GPU, by the link's number. Samples are
    /// [`LEAST`] apart at least.
    ///
    /// # Errors
    /// Says why GPM has no rates of them.
    pub fn link_rates(&self, earlier: &GpmSample, later: &GpmSample) -> Result<Vec<(u32, Ways<f64>)>, Refusal> {
        let mut request = Box::new(GpmMetricsGet {
            version: GPM_VERSION,
            count: 2 * GPM_LINKS,
            samples: [earlier.handle, later.handle],
            metrics: [GpmMetric::default(); GPM_ROOM],
        });
        for (metric, of) in request.metrics.iter_mut().zip(0..2 * GPM_LINKS) {
            metric.metric = GPM_FIRST_LINK + of;
        }
        self.functions.gpm_metrics(&mut request)?;
        let rate = |metric: &GpmMetric| {
            // a sample that is too close to the other gives no number
            (metric.result == SUCCESS && metric.value.is_finite()).then_some(metric.value * MIB)
        };
        let link = |(link, pair): (c_uint, &[GpmMetric])| match pair {
            [received, sent] => Some((link, Ways { sent: rate(sent)?, received: rate(received)? })),
            _ => None,
        };
        Ok((0..GPM_LINKS).zip(request.metrics.chunks(2)).filter_map(link).collect())
    }
}
