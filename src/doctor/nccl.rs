//! Checks of the NCCL that a job will use, and of the known troubles of its release.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use crate::installed::nccl_files::{self, InstalledNccl};
use nccl_plugin::kind::event;
use nccl_plugin::release::{self, NEWEST_KNOWN, Release};
use nccl_plugin::{asked, asked::AskedTypes};
use std::path::PathBuf;

/// First releases with a feature that a finding is about: profiler plugins, GPU times, and sends to self that NCCL
/// counts among its kernels.
const PLUGINS: Release = Release(22_300);
const GPU_TIMES: Release = Release(22_700);
const SELF_COUNTED: Release = Release(23_102);
/// NCCL's switch, on by default, for the way in which NCCL executes ncclBroadcast since 2.29.
const ALLGATHERV: &str = "NCCL_ALLGATHERV_ENABLE";

/// Returns all findings on NCCL.
pub(crate) fn check(around: &Surroundings, programs: &[PathBuf]) -> Vec<DoctorFinding> {
    let found: Vec<InstalledNccl> = nccl_files::find(&|name| around.raw(name), programs).collect();
    let Some(first) = found.first() else {
        let what = "no libnccl.so.2 in LD_LIBRARY_PATH, Python's packages or the loader's cache; a program may have NCCL inside, or in a container";
        return vec![DoctorFinding::new(Code::NcclMissing, what, "none, if the program brings its own")];
    };
    let mut findings = several(&found);
    match first.release {
        None => {
            let what = format!("{} could not be asked for its release", first.path.display());
            findings.push(DoctorFinding::new(Code::NcclUnknown, what, "ldd tells which libraries it lacks"));
        }
        Some(release) => {
            findings.push(introduced(first, release));
            findings.extend(of_release(around, release));
        }
    }
    findings
}

fn introduced(nccl: &InstalledNccl, release: Release) -> DoctorFinding {
    let path = nccl.path.display();
    if release < PLUGINS {
        let what = format!("NCCL {release} ({path}) has no profiler plugins");
        return DoctorFinding::new(Code::NcclOld, what, "use NCCL 2.23 or later, better 2.28");
    }
    let interface = (1..=7).rev().find(|&version| release::speaks(release, version)).unwrap_or(7);
    DoctorFinding::good(Code::NcclGood, format!("NCCL {release} ({path}), profiler interface v{interface}"))
}

/// Notes that the program may load any of several NCCLs.
fn several(found: &[InstalledNccl]) -> Vec<DoctorFinding> {
    let told = |nccl: &InstalledNccl| {
        let release = nccl.release.map_or_else(|| "of unknown release".into(), |release| release.to_string());
        format!("{release} ({})", nccl.path.display())
    };
    if found.iter().all(|nccl| nccl.release == found[0].release) {
        return Vec::new();
    }
    let what = format!(
        "several NCCL: {}. What follows is of the first",
        found.iter().map(told).collect::<Vec<_>>().join(", ")
    );
    let cure = "NCCL_SCOREP_LOG=info makes each process tell which one it uses";
    vec![DoctorFinding::new(Code::NcclSeveral, what, cure)]
}

/// Returns the findings on a release in an environment.
fn of_release(around: &Surroundings, release: Release) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut tell = |code, what: String, cure: &str| findings.push(DoctorFinding::new(code, what, cure));
    let settings = around.settings().0;
    // all event types of all versions of the interface
    let AskedTypes { mask, left_out, has_events } =
        asked::types(&settings, release, u64::MAX, |name| around.text(name));
    // NCCL reports launches only from v5 of the interface on
    let has_events = has_events && release >= release::of_interface(5);
    for trouble in left_out.iter().filter(|_| !has_events) {
        let (name, value) = trouble.cure;
        let what = format!("GPU times are off, since with NCCL {release} {}", trouble.what);
        tell(Code::NcclNoGpuTimes, what, &format!("set {name}={value} in the job (`scorep-nccl run` does)"));
    }
    if settings.trust_nccl {
        for trouble in release::troubles(release, |name| around.text(name)).filter(|trouble| trouble.types & mask != 0)
        {
            let (name, value) = trouble.cure;
            let what = format!("NCCL_SCOREP_TRUST_NCCL=on, and with NCCL {release} {}", trouble.what);
            tell(Code::NcclHang, what, &format!("set {name}={value}, or NCCL_SCOREP_TRUST_NCCL=off"));
        }
    }
    if release > NEWEST_KNOWN {
        tell(
            Code::NcclNewer,
            format!("NCCL {release} is newer than the newest that was tried, {NEWEST_KNOWN}"),
            "look for a newer scorep-nccl",
        );
    }
    if (PLUGINS..GPU_TIMES).contains(&release) {
        let what = format!("NCCL {release} tells neither the GPU's times nor the sizes of transfers");
        tell(Code::NcclUntimed, what, "use NCCL 2.27 or later to have them");
    }
    if mask & event::KERNEL_CH == 0 || release < GPU_TIMES {
        return findings;
    }
    if release >= SELF_COUNTED && !has_events && around.text(ALLGATHERV).as_deref() != Some("0") {
        let what = format!(
            "with NCCL {release}, ncclBroadcast is not reported, and GPU times of a communicator end with its first"
        );
        tell(Code::NcclBroadcast, what, "set NCCL_ALLGATHERV_ENABLE=0 in the job, if it broadcasts");
    }
    if release < SELF_COUNTED && !has_events {
        let what = format!("with NCCL {release}, GPU times of a communicator end with its first all-to-all");
        tell(Code::NcclAllToAll, what, "use NCCL 2.31.2 or later, if the job has all-to-all");
    }
    if release >= SELF_COUNTED {
        let what = format!("with NCCL {release}, kernel events make operations of 128 KiB to 4 MiB 4 to 13 % slower");
        tell(Code::NcclKernelCost, what, "NCCL_SCOREP_PRESET=api does without GPU times");
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codes(release: i32, pairs: &[(&str, &str)]) -> Vec<&'static str> {
        of_release(&Surroundings::of(pairs), Release(release)).iter().map(|finding| finding.code.name()).collect()
    }

    #[test]
    fn each_release_has_its_trouble() {
        let (cured, stamps) = (("NCCL_ALLGATHERV_ENABLE", "0"), ("NCCL_SCOREP_GPU_TIME", "stamps"));
        assert_eq!(codes(22_504, &[]), ["nccl-untimed"]);
        assert_eq!(codes(22_705, &[]), ["nccl-alltoall"]);
        assert_eq!(codes(22_809, &[stamps]), ["nccl-alltoall"]);
        assert_eq!(codes(22_902, &[stamps]), ["nccl-no-gpu-times"]);
        assert_eq!(codes(22_902, &[stamps, ("NCCL_SCOREP_TRUST_NCCL", "on")]), ["nccl-hang", "nccl-alltoall"]);
        assert_eq!(codes(23_007, &[stamps, cured]), ["nccl-alltoall"]);
        assert_eq!(codes(23_102, &[stamps]), ["nccl-broadcast", "nccl-kernel-cost"]);
        assert_eq!(codes(23_203, &[stamps, cured]), ["nccl-kernel-cost"]);
        // with CUDA events, the default, these troubles do not occur
        assert!(codes(22_809, &[]).is_empty() && codes(22_902, &[]).is_empty());
        assert_eq!(codes(23_203, &[]), ["nccl-kernel-cost"]);
        assert_eq!(codes(24_000, &[("NCCL_SCOREP_PRESET", "api")]), ["nccl-newer"]);
    }
}
