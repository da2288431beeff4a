//! Mutated recordings, by seed (tests/support/mutations). The tool replays each of them with at most 2 GiB of address
//! space and 10 s of processor time. It gives figures, or an error that names the file: no signal, no panic, and no
//! file left behind.
//!
//! `SCOREP_NCCL_SEEDS=1000..2000 cargo test --test command_line fuzz_recordings::` tries other seeds. With
//! `SCOREP_NCCL_KEEP=DIR`,
//! recordings that failed stay in DIR.

use crate::support::{mutations, tool};

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use fastrand::Rng;

/// Seeds of every test run: they take about a minute on two processors.
const SEEDS: std::ops::Range<u64> = 0..300;
/// Number of replays at the same time.
const AT_A_TIME: usize = 2;
/// Limits of the tool and of each process that it starts: KiB of address space, and seconds of processor time.
const LIMITED: &str = "ulimit -v 2097152; ulimit -t 10; exec \"$@\"";
/// Longest time that a replay may take.
const PATIENCE: Duration = Duration::from_secs(200);

fn seeds() -> std::ops::Range<u64> {
    let Ok(range) = std::env::var("SCOREP_NCCL_SEEDS") else { return SEEDS };
    let (first, end) = range.split_once("..").unwrap();
    first.parse().unwrap()..end.parse().unwrap()
}

#[test]
#[ignore = "fuzzing"]
fn mutated_recordings_give_figures_or_an_error() {
    let captures: Vec<PathBuf> = tool::runs().iter().flat_map(|(_, run)| tool::captures(run)).collect();
    let seeds = Mutex::new(seeds());
    let tried = seeds.lock().unwrap().clone().count();
    let (wrong, played) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| {
                while let Some(seed) = { seeds.lock().unwrap().next() } {
                    let (has_figures, trouble) = replay(seed, &captures);
                    wrong.lock().unwrap().extend(trouble);
                    played.fetch_add(usize::from(has_figures), Ordering::Relaxed);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} are wrong:\n{}", wrong.len(), wrong.join("\n"));
    let played = played.into_inner();
    tool::say(&format!("{played} of {tried} gave figures"));
    assert!(
        tried < 50 || (tried / 5..tried - tried / 5).contains(&played),
        "too many or too few are refused: {played} are not"
    );
}

/// Replays the recordings of a seed; returns whether there are figures, and the error of the test.
fn replay(seed: u64, captures: &[PathBuf]) -> (bool, Option<String>) {
    let mut rng = Rng::with_seed(seed);
    let directory = tempfile::tempdir().unwrap();
    let place = |name: &str| directory.path().join(name);
    let run = place("run");
    fs::create_dir(&run).unwrap();
    fs::create_dir(place("tmp")).unwrap();
    for number in 0..rng.choice([1, 1, 1, 3]).unwrap() {
        fs::write(run.join(format!("odd.r{number}.jsonl.gz")), mutations::mutated(captures, &mut rng)).unwrap();
    }
    let mut command = tool::tool();
    command.arg("replay").arg(&run);
    match seed % 4 {
        0 => &mut command,
        1 => command.args(["--format", "json"]),
        2 => command.arg("--otf2").arg(place("archive")),
        _ => command.args(["--lateness", "--format", "json"]),
    };
    let mut command = tool::within("sh", &["-c", LIMITED, "sh"].map(OsStr::new), &command);
    command.env("TMPDIR", place("tmp")).env("NCCL_SCOREP_LOG", "warn");
    command.stdout(fs::File::create(place("stdout")).unwrap()).stderr(fs::File::create(place("stderr")).unwrap());
    let status = tool::ends(&mut command, PATIENCE, &format!("seed {seed}"));
    let [stdout, stderr] =
        ["stdout", "stderr"].map(|name| String::from_utf8_lossy(&fs::read(place(name)).unwrap()).into_owned());
    let wrong = match status.code() {
        Some(0) => (seed % 2 == 1 && serde_json::from_str::<serde_json::Value>(&stdout).is_err())
            .then_some("the summary is none"),
        Some(1 | 2) => (!stderr.contains(&*run.to_string_lossy())).then_some("the error names no file"),
        _ => Some("it did not end by itself"),
    };
    let ended = stderr.contains("panicked")
        || stderr.contains("internal fault")
        || stderr.contains("replay process ended with");
    let wrong = wrong.or(ended.then_some("a fault of the tool's own"));
    let wrong = wrong.or((fs::read_dir(place("tmp")).unwrap().count() > 0).then_some("temporary files are left"));
    let trouble = wrong.map(|wrong| {
        keep(&run, seed);
        let said: String = stderr.chars().take(500).collect();
        format!("seed {seed}: {wrong}: {status}\n{said}")
    });
    (status.success(), trouble)
}

/// Keeps the recordings in the directory that SCOREP_NCCL_KEEP names.
fn keep(run: &Path, seed: u64) {
    if let Some(keep) = std::env::var_os("SCOREP_NCCL_KEEP") {
        let place = Path::new(&keep).join(seed.to_string());
        fs::create_dir_all(&place).unwrap();
        for file in fs::read_dir(run).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), place.join(file.file_name())).unwrap();
        }
    }
}
