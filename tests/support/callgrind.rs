//! The host under callgrind: what the calls from each of its functions `counted_...` into the library took, with all
//! that they called.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Instructions a call, by the kind of call.
pub(crate) type Counts = BTreeMap<String, f64>;

/// Of the host's functions.
const PREFIX: &str = "counted_";

pub(crate) fn is_there() -> bool {
    Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Counts with so many calls of each kind, and some more in the environment.
pub(crate) fn count(library: &Path, calls: u64, more: &[(&str, &str)]) -> Counts {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("callgrind.out");
    let mut command = Command::new("valgrind");
    // nothing of the environment besides: neither settings nor what a processor is said to have
    command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
    // names and places in full, so that a line means the same wherever it is
    command.args(["--quiet", "--tool=callgrind", "--compress-strings=no", "--compress-pos=no"]);
    command.arg(format!("--callgrind-out-file={}", file.display()));
    command.arg(env!("HOST_INSTRUCTIONS_HOST")).arg(library).args(["7", &calls.to_string()]);
    // a tick is a nanosecond, so that no window gets old; everything is asked for
    command.env("NCCL_SCOREP_TICK_RATE", "1e9").env("NCCL_SCOREP_PRESET", "full").env("NCCL_SCOREP_TRUST_NCCL", "on");
    command.env("NCCL_SCOREP_LOG", "off");
    // the string functions that every processor has
    command.env("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-AVX_Fast_Unaligned_Load,-ERMS");
    command.envs(more.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    parse(&std::fs::read_to_string(file).unwrap(), calls)
}

/// Callgrind's file has, after a line `fn=CALLER`, for each function called a line `calls=TIMES ...` and then one with
/// a position and what these calls took. Each thread has a stack of its own there, so another thread's instructions are
/// in no call of this one's.
pub(crate) fn parse(text: &str, calls: u64) -> Counts {
    let mut found: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let (mut caller, mut times) = ("", None);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            caller = name;
        } else if let Some(rest) = line.strip_prefix("calls=") {
            times = rest.split(' ').next().and_then(|times| times.parse::<u64>().ok());
        } else if let Some(times) = times.take() {
            let Some(kind) = caller.strip_prefix(PREFIX) else { continue };
            let (all, instructions) = found.entry(kind.to_owned()).or_default();
            *all += times;
            *instructions += line.split(' ').nth(1).unwrap().parse::<u64>().unwrap();
        }
    }
    assert!(found.values().all(|(times, _)| *times > 0 && times % calls == 0), "calls are missing: {found:?}");
    let rounded = |(times, instructions)| (instructions as f64 / times as f64 * 100.0).round() / 100.0;
    found.into_iter().map(|(kind, counted)| (kind, rounded(counted))).collect()
}
