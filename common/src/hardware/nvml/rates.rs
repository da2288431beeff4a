//! Rates over single NVLinks, by GPM's samples.

use super::gpm::GpmSample;
use super::layout::{
    GPM_FIRST_LINK, GPM_LINKS, GPM_ROOM, GPM_VERSION, GpmMetric, GpmMetricsGet, GpmSupport, NOT_SUPPORTED, SUCCESS,
};
use super::{Nvml, NvmlGpu, Refusal, Ways};
use std::ffi::c_uint;
use std::time::Instant;

/// Bytes in GPM's unit, MiB/s.
const MIB: f64 = 1_048_576.0;

impl Nvml {
    /// Takes a sample of a GPU.
    ///
    /// # Errors
    /// Says why GPM has none of it.
    pub fn sample(&self, gpu: &NvmlGpu) -> Result<GpmSample, Refusal> {
        let gpm = self.gpm.as_ref().map_err(|why| Refusal { why: why.clone(), is_final: true })?;
        let mut support = GpmSupport { version: GPM_VERSION, is_supported: 0 };
        // SAFETY: the handle is NVML's; the function fills the structure in, whose layout is tested.
        let result = unsafe { (gpm.support)(gpu.handle, &raw mut support) };
        self.check("nvmlGpmQueryDeviceSupport", result)?;
        if support.is_supported == 0 {
            self.check("nvmlGpmQueryDeviceSupport", NOT_SUPPORTED)?;
        }
        let mut handle = 0;
        // SAFETY: the function writes one handle.
        self.check("nvmlGpmSampleAlloc", unsafe { (gpm.alloc)(&raw mut handle) })?;
        let sample = GpmSample { handle, gpm: *gpm, taken: Instant::now() };
        // SAFETY: both handles are NVML's.
        self.check("nvmlGpmSampleGet", unsafe { (gpm.sample)(gpu.handle, handle) })?;
        Ok(sample)
    }

    /// Returns the bytes per second over each NVLink between two samples of a GPU, by the link's number. Samples are
    /// [`LEAST`](super::gpm::LEAST) apart at least.
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
        // SAFETY: the samples live; the function reads and fills in `count` metrics. The structure's layout is tested.
        let result = unsafe { (later.gpm.metrics)(&raw mut *request) };
        self.check("nvmlGpmMetricsGet", result)?;
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
