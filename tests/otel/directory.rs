//! The directory of the textfiles, in what states it may be, and what of it is removed.

use crate::support::tool;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

fn capture() -> PathBuf {
    tool::captures(&tool::run("net2_single")).remove(0)
}

fn replay(directory: Option<&Path>) -> Command {
    let mut command = tool::tool();
    command.arg("replay").arg(capture()).args(["--format", "json"]);
    if let Some(directory) = directory {
        command.env("NCCL_SCOREP_PROM_DIR", directory);
    }
    command
}

/// A process that does next to nothing for so many milliseconds, twice.
fn idle(directory: &Path, milliseconds: &str) -> Command {
    let mut command = tool::host(env!("HOST_MEMORY_HOST"));
    command.arg(tool::library()).args(["7", "idle", milliseconds]).env("NCCL_ALLGATHERV_ENABLE", "0");
    command
        .env("NCCL_SCOREP_PROM_DIR", directory)
        .env("OTEL_METRIC_EXPORT_INTERVAL", "100")
        .env("NCCL_SCOREP_LOG", "info");
    command
}

/// The summary without what depends on the machine, and what is said.
fn summary(command: &mut Command) -> (Value, String) {
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let mut summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    for field in ["pid", "peak_memory_bytes", "windows"] {
        summary["processes"][0][field] = Value::Null;
    }
    (summary, said)
}

fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        directory.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// One line names the directory and the cause; nothing else changes.
fn check(directory: &Path, cause: &str) {
    let (expected, _) = summary(&mut replay(None));
    let (found, said) = summary(&mut replay(Some(directory)));
    assert_eq!(found, expected, "{cause}");
    let has = |part: &str| said.contains(part);
    let at = format!("{}: ", directory.display());
    assert!(said.lines().count() == 1 && has("to NCCL_SCOREP_PROM_DIR") && has(&at) && has(cause), "{cause}: {said}");
}

#[test]
fn it_is_missing() {
    let place = tempfile::tempdir().unwrap();
    check(&place.path().join("missing"), "No such file or directory");
    // it is not for a job to make it: nobody would read what is in it
    assert!(names(place.path()).is_empty());
}

#[test]
fn it_is_a_file() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("file");
    fs::write(&file, "kept").unwrap();
    check(&file, "Not a directory");
    assert_eq!(fs::read_to_string(&file).unwrap(), "kept");
}

/// A file system of its own with these options, as long as the replay runs; what lies there afterwards.
fn check_mounted(options: &str, cause: &str) {
    let place = tempfile::tempdir().unwrap();
    let mount = format!("mount -t tmpfs -o {options} none \"$0\"");
    let may =
        Command::new("unshare").args(["--mount", "sh", "-c", &mount]).arg(place.path()).stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        return tool::skip("no file system may be mounted here");
    }
    let listed = PathBuf::from(format!("{}.left", place.path().display()));
    let script = format!("{mount} && \"$@\" && ls -A \"$0\" > \"$0.left\"");
    let arguments = ["--mount", "sh", "-c", &script].map(OsStr::new);
    let arguments = [&arguments[..], &[place.path().as_os_str()]].concat();
    let (found, said) = summary(&mut tool::within("unshare", &arguments, &replay(Some(place.path()))));
    assert_eq!(found, summary(&mut replay(None)).0, "{cause}");
    assert!(said.lines().count() == 1 && said.contains(cause), "{cause}: {said}");
    assert_eq!(fs::read_to_string(&listed).unwrap(), "", "{cause}");
    fs::remove_file(listed).unwrap();
}

#[test]
fn it_is_full() {
    check_mounted("size=4k", "No space left on device");
}

#[test]
fn it_is_for_reading_only() {
    check_mounted("ro", "Read-only file system");
}

/// Failures are told once a minute and counted; what comes after has all.
#[test]
fn it_appears_later() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("later");
    let mut host = idle(&directory, "1500").stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    for line in BufReader::new(host.stderr.take().unwrap()).lines().map(Result::unwrap) {
        if line.contains("could not be exported") {
            // some more fail, without a line
            std::thread::sleep(Duration::from_millis(500));
            fs::create_dir(&directory).unwrap();
        }
        said += &(line + "\n");
    }
    assert!(host.wait().unwrap().success(), "{said}");
    assert_eq!(said.matches("could not be exported to NCCL_SCOREP_PROM_DIR").count(), 1, "{said}");
    assert_eq!(said.matches("exported again to NCCL_SCOREP_PROM_DIR").count(), 1, "{said}");
    let written = fs::read_to_string(directory.join(&names(&directory)[0])).unwrap();
    let failed = written.lines().find(|line| line.starts_with("nccl_exports_failed_count_total{")).unwrap();
    assert!(failed.rsplit(' ').next().unwrap().parse::<u64>().unwrap() >= 1, "{failed}");
}

/// Whoever looks while it is written, as often as can be, sees all of it.
#[test]
fn a_file_is_there_whole_or_not_at_all() {
    let place = tempfile::tempdir().unwrap();
    let mut host =
        idle(place.path(), "500").env("OTEL_METRIC_EXPORT_INTERVAL", "1").stdout(Stdio::null()).spawn().unwrap();
    let (mut looks, mut texts) = (0, BTreeSet::new());
    while host.try_wait().unwrap().is_none() {
        for entry in
            place.path().read_dir().unwrap().flatten().filter(|entry| entry.path().extension() == Some("prom".as_ref()))
        {
            let text = fs::read_to_string(entry.path()).unwrap();
            assert!(text.contains("\nnccl_process_info{") && text.ends_with(" 1\n"), "{text}");
            looks += 1;
            texts.insert(text);
        }
    }
    // it has changed meanwhile
    assert!(looks > 10 && texts.len() > 1, "{looks} {}", texts.len());
}

/// Only what this library has written on this machine, and long ago, goes.
#[test]
fn what_is_left_of_others_goes_after_a_while() {
    let place = tempfile::tempdir().unwrap();
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned();
    let make = |name: String, minutes: u64| {
        let file = File::create(place.path().join(&name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(60 * minutes)).unwrap();
        name
    };
    // numbers that no process has
    let mut gone = vec![
        make(format!("scorep-nccl_{host}_99999999.prom"), 11),
        make(format!(".scorep-nccl_{host}_99999999.prom.0123456789abcdef.part"), 11),
        make(format!("scorep-nccl_{host}_99999999-4026532290.prom"), 11),
    ];
    let mut kept = vec![
        make(format!("scorep-nccl_{host}_99999998.prom"), 9),
        make(format!("scorep-nccl_{host}x_99999999.prom"), 10_000),
        make(format!("scorep-nccl_{host}_1_99999999.prom"), 10_000),
        make(format!("scorep-nccl_{host}_99999999.prom.bak"), 10_000),
        make(format!(".other_{host}_99999999.prom.0123456789abcdef.part"), 10_000),
        make("other.prom".into(), 10_000),
    ];
    let link = format!("scorep-nccl_{host}_99999997.prom");
    symlink("other.prom", place.path().join(&link)).unwrap();
    let directory = format!("scorep-nccl_{host}_99999996.prom");
    fs::create_dir(place.path().join(&directory)).unwrap();
    File::open(place.path().join(&directory)).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    kept.extend([link, directory]);

    // ten exports are longer than ten minutes
    summary(replay(Some(place.path())).env("OTEL_METRIC_EXPORT_INTERVAL", "120000"));
    assert!(gone.iter().chain(&kept).all(|name| names(place.path()).contains(name)));
    summary(&mut replay(Some(place.path())));
    let found = names(place.path());
    gone.retain(|name| found.contains(name));
    kept.retain(|name| !found.contains(name));
    assert!(gone.is_empty() && kept.is_empty(), "{gone:?} are left, {kept:?} are gone");
    // and what the two processes have written themselves
    assert_eq!(found.len(), 8 + 2, "{found:?}");
}

/// A link under the name of the file leads nowhere: who may write to the directory may not write to the job's files.
#[test]
fn no_link_is_followed() {
    let place = tempfile::tempdir().unwrap();
    let victim = place.path().join("victim");
    fs::write(&victim, "kept").unwrap();
    fs::set_permissions(&victim, PermissionsExt::from_mode(0o600)).unwrap();
    let textfiles = place.path().join("textfiles");
    fs::create_dir(&textfiles).unwrap();
    let script = r#"
        space=$(readlink /proc/self/ns/pid | tr -dc 0-9)
        [ "$space" = 4026531836 ] && name=$$ || name=$$-$space
        ln -s "$0" "$NCCL_SCOREP_PROM_DIR/scorep-nccl_$(cat /proc/sys/kernel/hostname)_$name.prom"
        exec "$@""#;
    let arguments = ["-c".as_ref(), script.as_ref(), victim.as_os_str()];
    let output = tool::within("sh", &arguments, &idle(&textfiles, "1")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let data = victim.metadata().unwrap();
    assert_eq!((fs::read_to_string(&victim).unwrap().as_str(), data.permissions().mode() & 0o777), ("kept", 0o600));
    let found = names(&textfiles);
    assert!(found.len() == 1 && found[0].ends_with(".prom"), "{found:?}");
    assert!(textfiles.join(&found[0]).symlink_metadata().unwrap().is_file());
}

fn to(endpoint: &str) -> [(&str, &str); 2] {
    [("NCCL_SCOREP_OTEL", "on"), ("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)]
}

/// Who is slow holds up nobody else, and all of them together the end no longer than one.
#[test]
fn an_endpoint_that_does_not_answer_holds_up_no_textfile() {
    use crate::receiver::Receiver;
    use crate::server::Manner;
    let place = tempfile::tempdir().unwrap();
    let receiver = Receiver::new([Manner::Silence]);
    let (_, said) = summary(replay(Some(place.path())).envs(to(&receiver.endpoint())));
    assert!(said.lines().count() == 1 && said.contains("over OpenTelemetry (no answer in time)"), "{said}");
    assert_eq!(names(place.path()).len(), 1);

    let begun = Instant::now();
    let (_, said) = summary(replay(Some(&place.path().join("missing"))).envs(to(&receiver.endpoint())));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let both = ["over OpenTelemetry", "to NCCL_SCOREP_PROM_DIR"].iter().all(|how| said.contains(how));
    assert!(said.lines().count() == 2 && both, "{said}");
}

/// What is wrong with the interval is wrong for both.
#[test]
fn an_interval_that_is_none_is_told_by_each() {
    let place = tempfile::tempdir().unwrap();
    let mut command = replay(Some(place.path()));
    let (_, said) = summary(command.envs(to("http://127.0.0.1:9")).env("OTEL_METRIC_EXPORT_INTERVAL", "secret"));
    assert!(
        said.lines().count() == 2 && said.matches("OTEL_METRIC_EXPORT_INTERVAL is no positive number").count() == 2,
        "{said}"
    );
    assert!(!said.contains("secret") && names(place.path()).is_empty());
}
