//! Settings with hostile values, by seed, in a small job. The job comes to its end, and one line reports each wrong
//! value. Where all values are wrong, the figures are those of the defaults (tests/c/nccl/nccl_host.c). Other seeds
//! also make arbitrary callbacks (tests/c/nccl/fuzz_host.c).
//!
//! `SCOREP_NCCL_SEEDS=1000..2000 cargo test --test nccl fuzz_settings::` tries other seeds.

use crate::support::{host, tool};

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use common::config::SETTINGS;
use fastrand::Rng;
use host::play_with;

/// Seeds of every test run.
const SEEDS: std::ops::Range<u64> = 0..100;
/// Scenarios that take a few milliseconds.
const SCENARIOS: [&str; 5] = ["ranks", "datatypes", "two_threads", "copy_engine", "every_type"];
/// Scenarios whose expected handles do not depend on settings.
const WITH_ANY: &[&str] = SCENARIOS.split_at(3).0;
/// Playing time of arbitrary callbacks.
const MILLISECONDS: u32 = 50;
/// Longest time that the job may take to end.
const PATIENCE: Duration = Duration::from_secs(100);
/// Settings that accept any text: names and directories.
const ANY_TEXT: [&str; 6] = [
    "NCCL_SCOREP_SETTINGS",
    "NCCL_SCOREP_SUMMARY",
    "NCCL_SCOREP_STATUS",
    "NCCL_SCOREP_CHAIN",
    "NCCL_SCOREP_RECORD",
    "NCCL_SCOREP_PROM_DIR",
];

/// With these settings NCCL gets a handle for every event, which the host of arbitrary callbacks does not expect.
const LISTENERS: [&str; 2] = ["NCCL_SCOREP_RECORD", "NCCL_SCOREP_CHAIN"];
/// Settings on which the other host relies: it expects a handle for every event of the default preset, and its summary.
const ASKED: [&str; 5] =
    ["NCCL_SCOREP_PRESET", "NCCL_SCOREP_MASK", "NCCL_SCOREP_MIN_BYTES", "NCCL_SCOREP_MEMORY_MB", "NCCL_SCOREP_SUMMARY"];

/// Returns a value that is wrong for every setting that does not accept any text.
fn wrong_value(rng: &mut Rng) -> OsString {
    let length = rng.choice([1, 100, 5000, 100_000]).unwrap();
    let bytes: Vec<u8> = match rng.u8(..10) {
        0 => vec![0xff; length],
        1 => vec![b'x'; length],
        2 => "\u{10ffff}".repeat(length / 4 + 1).into_bytes(),
        3 => b"1\n2\r\x1b[31m".to_vec(),
        4 => b"-1".to_vec(),
        5 => b"1e999".to_vec(),
        6 => b"0x".to_vec(),
        7 => b"1,2;3".to_vec(),
        8 => b"nan".to_vec(),
        _ => (0..length).map(|_| rng.u8(1..)).chain([0xff]).collect(),
    };
    OsString::from_vec(bytes)
}

/// Returns a valid value of the setting, however odd. Names and directories may also lead nowhere.
fn odd_value(name: &str, rng: &mut Rng) -> OsString {
    let values: &[&str] = match name {
        "NCCL_SCOREP_PRESET" => &["light", "full", "api", " network "],
        "NCCL_SCOREP_MASK" => &["0", "4294967295", "0xffffffff"],
        "NCCL_SCOREP_MIN_BYTES" => &["18446744073709551615", "1"],
        "NCCL_SCOREP_GPU_TIME" => &["auto", "stamps", "events", "off"],
        "NCCL_SCOREP_REGRESSION" => &["min", "AVG"],
        "NCCL_SCOREP_WINDOW_EVENTS" => &["64", "100000000"],
        "NCCL_SCOREP_WINDOW_SECONDS"
        | "NCCL_SCOREP_DEADLINE_SECONDS"
        | "NCCL_SCOREP_SETTLE_SECONDS"
        | "NCCL_SCOREP_TICK_RATE" => &["1e-300", "5e-324", "1e300", "1e20", "99999999999999999999", "0.001"],
        "NCCL_SCOREP_RECORD_MB" | "NCCL_SCOREP_LANE_MB" => &["1", "65536"],
        "NCCL_SCOREP_MEMORY_MB" => &["1", "8192"],
        "NCCL_SCOREP_GPU_TICK" => &["1", "1000"],
        "NCCL_SCOREP_LANE_PAIRS" => &["0", "1000"],
        "NCCL_SCOREP_GATHER_KB" => &["0", "1048576"],
        "NCCL_SCOREP_OTEL_MAX_PEERS" => &["0", "65536"],
        "NCCL_SCOREP_LOG" => &["warn", "info"],
        "NCCL_SCOREP_LANES" => &["on", "tried", "always", "off"],
        "NCCL_SCOREP_TRUST_NCCL" | "NCCL_SCOREP_HOST_REGIONS" | "NCCL_SCOREP_OTEL" => &["on", "off"],
        _ => &["", " ", "/proc/nowhere/%p/%h/%", "/dev/null", "/dev/full", "/proc/self/x", "%", "\n"],
    };
    if ANY_TEXT.contains(&name) && rng.bool() { wrong_value(rng) } else { rng.choice(values).unwrap().into() }
}

fn seeds() -> std::ops::Range<u64> {
    let Ok(range) = std::env::var("SCOREP_NCCL_SEEDS") else { return SEEDS };
    let (first, end) = range.split_once("..").unwrap();
    first.parse().unwrap()..end.parse().unwrap()
}

#[test]
#[ignore = "fuzzing"]
fn wrong_settings_leave_the_defaults_and_odd_ones_do_no_harm() {
    seeds().for_each(fuzz);
}

fn fuzz(seed: u64) {
    let mut rng = Rng::with_seed(seed);
    // every other seed has only wrong values
    let is_odd = seed % 2 == 1;
    let is_arbitrary = is_odd && rng.bool();
    let unfit: &[&str] = match (is_odd, is_arbitrary) {
        (false, _) => &ANY_TEXT,
        (true, true) => &LISTENERS,
        (true, false) => &ASKED,
    };
    let names = SETTINGS.iter().map(|setting| setting.name);
    let mut chosen: Vec<&str> = names.filter(|name| !unfit.contains(name)).collect();
    rng.shuffle(&mut chosen);
    chosen.truncate(rng.usize(1..6));
    let mut wrong = Vec::new();
    let settings: Vec<(&str, OsString)> = chosen
        .into_iter()
        .map(|name| {
            if is_odd && (ANY_TEXT.contains(&name) || rng.bool()) {
                return (name, odd_value(name, &mut rng));
            }
            wrong.push(name);
            (name, wrong_value(&mut rng))
        })
        .collect();
    let settings: Vec<(&str, &OsStr)> = settings.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
    let version = rng.u32(5..=7);
    let (run, lines) = if is_arbitrary {
        (None, arbitrary(seed, version, &settings))
    } else {
        let run = play_with(rng.choice(if is_odd { WITH_ANY } else { &SCENARIOS }).unwrap(), version, &settings, 0);
        let lines = run.lines();
        (Some(run), lines)
    };
    let what = format!("seed {seed}: v{version}, {:.1000}\n{}", format!("{settings:?}"), lines.join("\n"));
    for name in &wrong {
        let told = format!("{name}=");
        let count = lines.iter().filter(|line| line.contains(&told) && line.contains("the default holds")).count();
        assert_eq!(count, 1, "lines that say that {name} is wrong; {what}");
    }
    assert!(lines.iter().all(|line| line.starts_with("scorep-nccl: ") && !line.contains("a fault in")), "{what}");
    if let Some(mut run) = run.filter(|_| !is_odd) {
        assert_eq!(lines.len(), wrong.len(), "{what}");
        // the lines about the settings are checked; the host expects no other line
        run.output.stderr.clear();
        run.check();
    }
}

/// Runs a job of arbitrary callbacks (tests/c/nccl/fuzz_host.c) and returns its lines. Settings may have any effect on
/// it, but no harm.
fn arbitrary(seed: u64, version: u32, settings: &[(&str, &OsStr)]) -> Vec<String> {
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let mut command = tool::host(env!("HOST_FUZZ_HOST"));
    command.arg(tool::library()).args([version.to_string(), seed.to_string(), MILLISECONDS.to_string()]);
    // relative paths lead into this directory
    command.current_dir(&directory).env("NCCL_SCOREP_SUMMARY", place("summary")).envs(settings.iter().copied());
    command.stdout(File::create(place("stdout")).unwrap()).stderr(File::create(place("stderr")).unwrap());
    let status = tool::ends(&mut command, PATIENCE, &format!("seed {seed}"));
    let said = String::from_utf8_lossy(&std::fs::read(place("stderr")).unwrap()).into_owned();
    assert!(status.success(), "seed {seed}: {status}, {settings:?}\n{said}");
    said.lines().filter(|line| !line.contains("/dev/shm")).map(str::to_owned).collect()
}
