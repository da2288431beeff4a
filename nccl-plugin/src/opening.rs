//! What happens once a process, when NCCL opens the plugin first: what is asked for is settled, and a person is told.

use crate::asked::{self, Asked};
use crate::kind::event;
use crate::logger::Logger;
use crate::release::{self, Release};
use common::config::Settings;
use common::{log, notes, recorder};
use std::sync::OnceLock;

/// The types asked for in this process.
static ASKED: OnceLock<u64> = OnceLock::new();
/// Kernel events need shared memory; with less than this NCCL has been seen to fail (NVIDIA/nccl #2326: 64 MiB, a container's default).
const LEAST_SHARED_MEMORY: u64 = 128 << 20;

/// The event types to ask for, through interface `version` with its `known` types; settled by the first call.
pub(crate) fn mask(version: u32, known: u64, logger: Logger) -> u64 {
    *ASKED.get_or_init(|| {
        let Some(recorder) = recorder::begin() else { return 0 };
        let settings = recorder.settings();
        // another NCCL than the one that calls may be in the process, too
        let found = release::running(logger.address()).filter(|&found| release::speaks(found, version));
        let release = found.unwrap_or_else(|| release::of_interface(version));
        let asked = asked::types(settings, release, known, |name| std::env::var(name).ok());
        introduce(&logger, version, found, settings, &asked);
        warn(&asked, release);
        asked.mask
    })
}

/// One line on what is there.
fn introduce(logger: &Logger, version: u32, found: Option<Release>, settings: &Settings, asked: &Asked) {
    let nccl = found.map_or_else(|| "of unknown release".into(), |release| release.to_string());
    let types = match settings.mask {
        Some(_) => "mask".into(),
        None => format!("preset {}", settings.preset.name()),
    };
    let scorep = if recorder::CLOCK.is_score_p() { "with Score-P" } else { "without Score-P" };
    let line = format!(
        "scorep-nccl {}: NCCL {nccl}, profiler interface v{version}, {types} (0x{:x}), {scorep}",
        env!("CARGO_PKG_VERSION"),
        asked.mask
    );
    logger.info(&line);
    log::info(&line);
}

/// What a person must know.
fn warn(asked: &Asked, release: Release) {
    for trouble in &asked.left_out {
        let (name, value) = trouble.cure;
        let line = format!("GPU times are off: with NCCL {release}, {}. Set {name}={value} to have them", trouble.what);
        log::warn(&line);
        notes::add(line);
    }
    if asked.mask & event::KERNEL_CH != 0
        && let Some(size) = shared_memory().filter(|&size| size < LEAST_SHARED_MEMORY)
    {
        log::warn(&format!(
            "/dev/shm has {} MiB; NCCL's kernel events need more and can fail with less than {} MiB. Enlarge it, or set \
             NCCL_SCOREP_PRESET=api",
            size >> 20,
            LEAST_SHARED_MEMORY >> 20
        ));
    }
    if let images @ 2.. = crate::image::count() {
        let line = format!(
            "{images} copies of this library are loaded: NCCL and Score-P do not reach the same one. Make the other names symbolic \
             links to libscorep_substrate_nccl.so"
        );
        log::warn(&line);
        notes::add(line);
    }
}

/// Size of /dev/shm in bytes.
fn shared_memory() -> Option<u64> {
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: statvfs reads the path and fills in the structure, which is valid as zeros besides.
    let found = unsafe { (libc::statvfs(c"/dev/shm".as_ptr(), found.as_mut_ptr()) == 0).then(|| found.assume_init()) }?;
    Some(found.f_blocks.saturating_mul(found.f_frsize))
}
