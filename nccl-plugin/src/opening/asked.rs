//! The event types to ask NCCL for: the preset's or the mask's, without the types that cause trouble in this release of
//! NCCL.

use crate::interface::kind::event;
use crate::opening::release::{self, Release, Trouble};
use common::config::{Preset, Settings};

/// API calls and operations. Every preset has them: they say what the job did and what the recording lacks.
const OPERATIONS: u64 = event::COLL | event::P2P | event::GROUP_API | event::COLL_API | event::P2P_API | event::CE_COLL;
/// All event types of all versions.
const EVERY: u64 = (1 << 16) - 1;

/// Returns the event types of a preset.
pub fn of_preset(preset: Preset) -> u64 {
    match preset {
        Preset::Api => OPERATIONS,
        Preset::Light => OPERATIONS | event::KERNEL_CH,
        Preset::Network => OPERATIONS | event::KERNEL_CH | event::PROXY_OP | event::PROXY_STEP,
        Preset::Full => EVERY,
    }
}

/// Returns the event types that the settings ask for, in any release: the mask's, or else the preset's with the source
/// of GPU times that the settings choose.
pub fn wanted(settings: &Settings) -> u64 {
    let of_preset = of_preset(settings.preset);
    let has_gpu_times = matches!(settings.preset, Preset::Light | Preset::Network);
    let stamps = if has_gpu_times && !settings.gpu_time.has_stamps() { event::KERNEL_CH } else { 0 };
    let launches = if has_gpu_times && settings.gpu_time.has_events() { event::KERNEL_LAUNCH } else { 0 };
    settings.mask.unwrap_or(of_preset & !stamps | launches)
}

/// Returns whether CUDA events time the launches that NCCL reports.
pub fn times_launches(settings: &Settings, asked: u64, lookup: impl Fn(&str) -> Option<String>) -> bool {
    // in group mode, NCCL makes no CUDA call between its barriers, so the library must not either
    let in_group_mode = lookup("NCCL_LAUNCH_MODE").is_some_and(|mode| mode.trim().eq_ignore_ascii_case("group"));
    settings.gpu_time.has_events() && asked & event::KERNEL_LAUNCH != 0 && !in_group_mode
}

/// The event types to ask NCCL for, and why some are left out.
#[derive(Debug, Clone)]
pub struct AskedTypes {
    /// Event types, as NCCL's bits.
    pub mask: u64,
    /// Trouble for which types were left out.
    pub left_out: Vec<&'static Trouble>,
    /// Whether NCCL reports launches and, where CUDA is present, events time them.
    pub has_events: bool,
}

/// Returns the event types to ask a release for. `known` are the types of the interface version in use.
pub fn types(settings: &Settings, release: Release, known: u64, lookup: impl Fn(&str) -> Option<String>) -> AskedTypes {
    let wanted = wanted(settings) & known;
    let troubles =
        release::troubles(release, &lookup).filter(|trouble| !settings.trust_nccl && trouble.types & wanted != 0);
    let left_out: Vec<&Trouble> = troubles.collect();
    // NCCL enables kernel channels, too, if it is asked for kernel phases
    let implied = |types: u64| if types & event::KERNEL_CH != 0 { types | event::KERNEL_PHASE } else { types };
    let mask = left_out.iter().fold(wanted, |mask, trouble| mask & !implied(trouble.types));
    AskedTypes { mask, left_out, has_events: times_launches(settings, mask, lookup) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::config::GpuTime;

    fn mask(change: impl FnOnce(&mut Settings), release: i32) -> u64 {
        let mut settings = Settings::default();
        change(&mut settings);
        types(&settings, Release(release), EVERY, |_| None).mask
    }

    #[test]
    fn presets_are_what_they_say() {
        let of = |preset| mask(|settings| settings.preset = preset, 22_809);
        assert_eq!(of(Preset::Api) & (event::KERNEL_CH | event::PROXY_OP | event::PROXY_STEP), 0);
        assert_eq!(of(Preset::Light) & (event::KERNEL_CH | event::PROXY_STEP), event::KERNEL_CH);
        assert_eq!(of(Preset::Network) & event::PROXY_STEP, event::PROXY_STEP);
        assert_eq!(of(Preset::Network) & event::KERNEL_PHASE, 0);
        assert_eq!(of(Preset::Full), EVERY);
    }

    #[test]
    fn gpu_times_come_from_where_they_are_wanted_from() {
        let of = |preset, gpu_time| {
            let change = |settings: &mut Settings| (settings.preset, settings.gpu_time) = (preset, gpu_time);
            mask(change, 22_809) & (event::KERNEL_CH | event::KERNEL_LAUNCH)
        };
        for preset in [Preset::Light, Preset::Network] {
            assert_eq!(of(preset, GpuTime::Auto), event::KERNEL_CH | event::KERNEL_LAUNCH);
            assert_eq!(of(preset, GpuTime::Stamps), event::KERNEL_CH);
            assert_eq!(of(preset, GpuTime::Events), event::KERNEL_LAUNCH);
            assert_eq!(of(preset, GpuTime::Off), 0);
        }
        for gpu_time in [GpuTime::Auto, GpuTime::Stamps, GpuTime::Events, GpuTime::Off] {
            assert_eq!(of(Preset::Api, gpu_time), 0);
            assert_eq!(of(Preset::Full, gpu_time), event::KERNEL_CH | event::KERNEL_LAUNCH);
        }
    }

    #[test]
    fn launches_are_timed_where_events_are_wanted_and_cuda_may_be_called() {
        let timed = |gpu_time, asked, mode: Option<&str>| {
            let settings = Settings { gpu_time, ..Settings::default() };
            times_launches(&settings, asked, |_| mode.map(str::to_owned))
        };
        assert!(timed(GpuTime::Auto, event::KERNEL_LAUNCH, None) && timed(GpuTime::Events, EVERY, Some("PARALLEL")));
        assert!(!timed(GpuTime::Stamps, EVERY, None) && !timed(GpuTime::Auto, OPERATIONS, None));
        assert!(!timed(GpuTime::Auto, EVERY, Some("GROUP")));
    }

    #[test]
    fn a_mask_takes_the_presets_place() {
        assert_eq!(mask(|settings| settings.mask = Some(0x46), 22_809), 0x46);
        assert_eq!(mask(|settings| settings.mask = Some(0), 22_809), 0);
    }

    #[test]
    fn trouble_takes_types_away_unless_nccl_is_trusted() {
        let of = |trust: bool| {
            mask(
                |settings| {
                    settings.preset = Preset::Full;
                    settings.trust_nccl = trust;
                },
                23_007,
            )
        };
        assert_eq!(of(false), EVERY & !event::KERNEL_CH & !event::KERNEL_PHASE);
        assert_eq!(of(true), EVERY);
        // also for a mask of the user's
        assert_eq!(mask(|settings| settings.mask = Some(0x46), 22_902), 0x06);
    }
}
