//! The settings file in the shipped library: its place below the environment, what is refused, and what lines that are
//! wrong leave in force; and the library in a process that has not asked for it.

use crate::support::{tool, two_users};

use fastrand::Rng;
use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;
use two_users::{OF_THE_JOB, OTHER, Place};

/// How long one process may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Event types of the presets through v5 of the interface.
const API: u32 = 0x706;
const NETWORK: u32 = 0xf5e;
const FULL: u32 = 0xfff;
/// The name that NCCL looks for where no variable names a plugin.
const UNASKED: &str = "libnccl-profiler.so";

/// Makes something under the name of a settings file.
type Maker<'a> = &'a dyn Fn(&Path);

/// A directory with a settings file, in which processes run.
struct Job(TempDir);

/// What a process did: the event types that it asked for, its lines, and the number of its summaries.
#[derive(Debug)]
struct Found {
    mask: u32,
    said: Vec<String>,
    summaries: usize,
}

impl Job {
    fn new(content: &[u8]) -> Self {
        let job = Self(tempfile::tempdir().unwrap());
        fs::write(job.file(), content).unwrap();
        fs::set_permissions(job.file(), Permissions::from_mode(0o644)).unwrap();
        job
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("settings")
    }

    /// Plays a process that reads the file.
    fn play(&self, settings: &[(&str, &str)]) -> Found {
        let file = self.file().display().to_string();
        self.play_with(&tool::library(), &[&[("NCCL_SCOREP_SETTINGS", file.as_str())], settings].concat())
    }

    /// Plays a process that loads the library by this name.
    fn play_with(&self, library: &Path, settings: &[(&str, &str)]) -> Found {
        let mut command = tool::host(env!("HOST_CONFORMANCE_HOST"));
        command.arg(library).args(["5", "masks", "0"]).envs(settings.iter().copied());
        self.found(&mut command)
    }

    fn found(&self, command: &mut Command) -> Found {
        let [printed, said] = ["printed", "said"].map(|name| self.0.path().join(name));
        command.current_dir(&self.0).env("NCCL_ALLGATHERV_ENABLE", "0");
        command.stdout(File::create(&printed).unwrap()).stderr(File::create(&said).unwrap());
        let status = tool::ends(command, PATIENCE, "the job");
        let [printed, said] =
            [printed, said].map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned());
        assert!(status.success(), "{status}\n{said}");
        let mask = printed.lines().find_map(|line| line.strip_prefix("mask ")).unwrap().parse().unwrap();
        let said = said.lines().filter(|line| !line.contains("/dev/shm")).map(str::to_owned).collect();
        let names = self.0.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        let summaries: Vec<_> = names.filter(|name| name.to_string_lossy().ends_with(".json")).collect();
        summaries.iter().for_each(|name| fs::remove_file(self.0.path().join(name)).unwrap());
        Found { mask, said, summaries: summaries.len() }
    }
}

#[test]
fn the_environment_stands_above_the_file_and_the_file_above_the_defaults() {
    let job = Job::new(b"# of all jobs\nNCCL_SCOREP_PRESET=api\nNCCL_SCOREP_SUMMARY=%p.json # here\n");
    for (settings, mask, summaries) in [
        (&[][..], API, 1),
        (&[("NCCL_SCOREP_PRESET", "full")], FULL, 1),
        (&[("NCCL_SCOREP_PRESET", " ")], NETWORK, 1),
        (&[("NCCL_SCOREP_SUMMARY", "")], API, 0),
        (&[("NCCL_SCOREP_SETTINGS", "off")], NETWORK, 0),
        (&[("NCCL_SCOREP_SETTINGS", "")], NETWORK, 0),
        (&[("NCCL_SCOREP_SETTINGS", "./settings")], API, 1),
    ] {
        let found = job.play(settings);
        assert_eq!((found.mask, found.summaries, &found.said), (mask, summaries, &vec![]), "{settings:?}");
    }
}

/// Kubernetes mounts a file of a ConfigMap as a link to a link.
#[test]
fn a_file_behind_links_is_read() {
    let job = Job::new(b"NCCL_SCOREP_PRESET=api");
    fs::rename(job.file(), job.0.path().join("data")).unwrap();
    symlink("data", job.0.path().join("between")).unwrap();
    symlink("between", job.file()).unwrap();
    let found = job.play(&[]);
    assert_eq!((found.mask, found.said), (API, vec![]));
}

#[test]
fn a_wrong_line_is_named_by_file_and_number_and_the_others_hold() {
    let lines = "NCCL_SCOREP_MEMORY_MB=many\nthe password\nNCCL_SCOREP_PRESTE=api\nNCCL_SCOREP_PRESET=full\n\
                 NCCL_SCOREP_PRESET=api\n";
    let job = Job::new(lines.as_bytes());
    let found = job.play(&[("NCCL_SCOREP_WINDOW_EVENTS", "-1")]);
    let file = job.file().display().to_string();
    let begins = [
        format!("{file}:1: NCCL_SCOREP_MEMORY_MB=many is not understood"),
        "NCCL_SCOREP_WINDOW_EVENTS=-1 is not understood".to_owned(),
        format!("{file}, line 2: "),
        format!("{file}, line 4: "),
        format!("{file}: "),
    ];
    assert_eq!((found.mask, found.said.len()), (API, begins.len()), "{:#?}", found.said);
    for begin in begins {
        let begin = format!("scorep-nccl: warning: {begin}");
        assert!(found.said.iter().any(|line| line.starts_with(&begin)), "{begin}: {:#?}", found.said);
    }
    assert!(found.said.iter().all(|line| !line.contains("password")), "{:#?}", found.said);
    let silent = job.play(&[("NCCL_SCOREP_LOG", "off")]);
    assert_eq!((silent.mask, silent.said), (API, vec![]));
}

#[test]
fn what_is_no_trusted_file_is_refused_with_one_line_and_nothing_waits_for_it() {
    let fifo = |path: &Path| {
        let path = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the path is a C string, which lives as long as the call.
        assert_eq!(unsafe { libc::mkfifo(path.as_ptr(), 0o600) }, 0);
    };
    let mode = |path: &Path, mode| {
        fs::write(path, "NCCL_SCOREP_PRESET=api").unwrap();
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    let places: [(&str, Maker<'_>); 8] = [
        ("No such file or directory", &|_| {}),
        ("it is no regular file", &fifo),
        ("it is no regular file", &|path| fs::create_dir(path).unwrap()),
        ("it is no regular file", &|path| symlink("/dev/zero", path).unwrap()),
        ("Too many levels of symbolic links", &|path| symlink("settings", path).unwrap()),
        ("everybody may write to it (`chmod go-w`)", &|path| mode(path, 0o646)),
        ("its group may write to it (`chmod go-w`)", &|path| mode(path, 0o664)),
        ("it has 67108864 bytes", &|path| {
            fs::write(path, "NCCL_SCOREP_PRESET=api\n").unwrap();
            File::options().write(true).open(path).unwrap().set_len(64 << 20).unwrap();
        }),
    ];
    for (why, make) in places {
        let job = Job::new(b"");
        fs::remove_file(job.file()).unwrap();
        make(&job.file());
        let found = job.play(&[]);
        let begin = format!("scorep-nccl: warning: {}: this settings file is not used: {why}", job.file().display());
        assert_eq!((found.mask, found.said.len()), (NETWORK, 1), "{why}: {:#?}", found.said);
        let line = &found.said[0];
        assert!(line.starts_with(&begin) && line.ends_with("set NCCL_SCOREP_SETTINGS=off to have no file"), "{line}");
    }
}

#[test]
fn arbitrary_contents_do_no_harm() {
    const PARTS: [&[u8]; 12] = [
        b"NCCL_SCOREP_",
        b"NCCL_SCOREP_PRESET",
        b"NCCL_SCOREP_MIN_BYTES",
        b"api",
        b"=",
        b"\n",
        b"\r\n",
        b"#",
        b" ",
        b"\0",
        b"\xff\xfe",
        b"\x1b[31m",
    ];
    for seed in 0..30 {
        let mut rng = Rng::with_seed(seed);
        let length = rng.usize(..1000);
        let content: Vec<u8> = (0..length).flat_map(|_| rng.choice(PARTS).unwrap().to_vec()).collect();
        let found = Job::new(&content).play(&[]);
        // wrong values, lines, repeated lines and names
        assert!(found.said.len() <= 2 + 3, "seed {seed}: {:#?}", found.said);
        let is_line = |line: &String| line.starts_with("scorep-nccl: warning: ") && !line.contains("a fault in");
        assert!(found.said.iter().all(is_line), "seed {seed}: {:#?}", found.said);
    }
}

#[test]
fn a_file_of_another_user_is_refused_unless_the_library_is_theirs() {
    let Some(place) = Place::new(0o1777) else { return };
    place.other_does("umask 022; echo NCCL_SCOREP_SUMMARY=of_file.%p.json > theirs");
    let settings = [("NCCL_SCOREP_SETTINGS", "theirs")];
    let has_summary = || {
        let names = place.path("shared").read_dir().unwrap().map(|entry| entry.unwrap().file_name());
        names.into_iter().any(|name| name.to_string_lossy().starts_with("of_file."))
    };
    let said = place.play_with(&settings);
    assert!(said.contains(&format!("it belongs to user {OTHER}, who is neither root")) && !has_summary(), "{said}");
    chown(place.path("library.so"), Some(OTHER), None).unwrap();
    let said = place.play_with(&settings);
    assert!(!said.contains("it belongs to user") && has_summary(), "{said}");
}

/// Its caller chose the environment, and has not its rights.
#[test]
fn a_set_uid_program_takes_no_setting_of_its_environment() {
    let Some(place) = Place::new(0o1777) else { return };
    place.copy(Path::new(env!("HOST_CONFORMANCE_HOST")), "raised");
    let job = Job::new(b"");
    fs::set_permissions(&job.0, Permissions::from_mode(0o1777)).unwrap();
    let play = |mode| {
        fs::set_permissions(place.path("raised"), Permissions::from_mode(mode)).unwrap();
        let mut command = place.by(OF_THE_JOB);
        command.arg(place.path("raised")).arg(place.path("library.so")).args(["5", "masks", "0"]);
        command.env("NCCL_SCOREP_PRESET", "api").env("NCCL_SCOREP_SUMMARY", "%p.json");
        job.found(&mut command)
    };
    let plain = play(0o755);
    assert_eq!((plain.mask, plain.summaries, plain.said), (API, 1, vec![]));
    if !has_set_uid(&place.path("raised")) {
        return tool::skip("no set-uid programs here");
    }
    let raised = play(0o4755);
    assert_eq!((raised.mask, raised.summaries), (NETWORK, 0));
    assert!(raised.said.len() == 1 && raised.said[0].contains("more rights than its caller"), "{:?}", raised.said);
}

/// Whether the system heeds set-uid bits where that file is.
fn has_set_uid(file: &Path) -> bool {
    let path = CString::new(file.as_os_str().as_bytes()).unwrap();
    let mut found = std::mem::MaybeUninit::<libc::statvfs>::zeroed();
    // SAFETY: the path is a C string, and the structure, for which zeros are valid, lives as long as the call.
    let flags = unsafe {
        assert_eq!(libc::statvfs(path.as_ptr(), found.as_mut_ptr()), 0);
        found.assume_init().f_flag
    };
    let status = fs::read_to_string("/proc/self/status").unwrap();
    flags & libc::ST_NOSUID == 0 && !status.lines().any(|line| line == "NoNewPrivs:\t1")
}

/// The library under a name.
fn link(job: &Job, name: &str) -> PathBuf {
    let link = job.0.path().join(name);
    let _ = symlink(tool::library(), &link);
    link
}

/// The number of threads once there is a communicator.
fn threads(library: &Path, settings: &[(&str, &str)]) -> u32 {
    let mut command = tool::host(env!("HOST_MEMORY_HOST"));
    command.arg(library).args(["5", "threads_with_nccl"]).env("NCCL_SCOREP_LINKS", "off");
    let printed = tool::succeed(command.envs(settings.iter().copied()));
    printed.lines().find_map(|line| line.strip_prefix("communicator ")).unwrap().trim().parse().unwrap()
}

#[test]
fn where_nobody_asked_for_the_library_and_nobody_reads_its_figures_it_does_nothing() {
    let job = Job::new(b"NCCL_SCOREP_PRESET=full");
    let file = job.file().display().to_string();
    let unasked = link(&job, UNASKED);
    for settings in [&[][..], &[("NCCL_SCOREP_SETTINGS", file.as_str())], &[("NCCL_PROFILER_PLUGIN", "")]] {
        let found = job.play_with(&unasked, settings);
        assert_eq!((found.mask, found.said), (0, vec![]), "{settings:?}");
        assert_eq!(threads(&unasked, settings), 1, "{settings:?}");
    }
    let found = job.play_with(&unasked, &[("NCCL_SCOREP_LOG", "info")]);
    assert!(
        found.said.len() == 1 && found.said[0].contains("nothing is recorded, since no setting"),
        "{:?}",
        found.said
    );
}

#[test]
fn an_output_or_a_variable_that_asks_for_the_library_begins_the_recording() {
    let job = Job::new(b"NCCL_SCOREP_SUMMARY=/dev/null");
    let file = job.file().display().to_string();
    let unasked = link(&job, UNASKED);
    for setting in [
        ("NCCL_SCOREP_SETTINGS", file.as_str()),
        ("NCCL_SCOREP_SUMMARY", "/dev/null"),
        ("NCCL_PROFILER_PLUGIN", UNASKED),
        ("SCOREP_METRIC_PLUGINS", "nccl_plugin"),
    ] {
        assert_eq!(job.play_with(&unasked, &[setting]).mask, NETWORK, "{setting:?}");
    }
    // the collector's and the one for the end
    assert_eq!(threads(&unasked, &[("NCCL_PROFILER_PLUGIN", UNASKED)]), 3);
    // under its own name it was asked for
    let asked = link(&job, "libnccl-profiler-scorep.so");
    assert_eq!((job.play_with(&asked, &[]).mask, threads(&asked, &[])), (NETWORK, 3));
}
