//! The command that `scorep-nccl run` starts: its options, its status and its NCCL; and command lines that are wrong.

use crate::support::site::{Site, texts};
use crate::support::tool;
use std::process::Command;
use std::time::Duration;

/// A process that NCCL's library has started may hold standard output open for any time.
#[test]
fn nobody_waits_for_what_a_library_leaves_behind() {
    let site = Site::new();
    let fifo = site.path("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut run = site.tool();
    run.env("HOST_RELEASE", "22902").env("HOST_LINGERS", &fifo).args([
        "run",
        "--",
        "printenv",
        "NCCL_ALLGATHERV_ENABLE",
    ]);
    run.stdout(std::fs::File::create(site.path("printed")).unwrap());
    let status = tool::ends(&mut run, Duration::from_secs(60), "run");
    assert!(status.success() && std::fs::read(site.path("printed")).unwrap() == b"0\n", "the library was not asked");
    // lets the process that still waits at the FIFO end
    drop(std::fs::File::options().read(true).write(true).open(&fifo).unwrap());
}

#[test]
fn the_commands_own_status_is_that_of_the_run() {
    let site = Site::new();
    let status = |command: &[&str]| site.tool().args(["run", "--"]).args(command).output().unwrap().status.code();
    assert_eq!(status(&["sh", "-c", "exit 7"]), Some(7));
    assert_eq!(status(&["no-such-command"]), Some(127));
    assert_eq!(status(&["/etc/passwd"]), Some(126));
}

#[test]
fn wrong_use_says_what_is_wrong_and_fails() {
    let site = Site::new();
    std::fs::write(site.path("work/broken.jsonl"), "{").unwrap();
    for (arguments, part) in [
        (&["fly"][..], "unrecognized subcommand 'fly'"),
        (&["run"], "<CMD>"),
        (&["run", "--preset", "fast", "--", "true"], "api, light, network, full"),
        (&["env", "--shell", "cmd"], "bash, fish, csh"),
        (&["run", "--per-rank", "--", "true"], "RANK"),
        (&["run", "--library", "/nowhere.so", "--", "true"], "/nowhere.so"),
        (&["replay", "/nowhere"], "/nowhere"),
        (&["replay", "broken.jsonl"], "broken.jsonl"),
    ] {
        let output = site.tool().args(arguments).output().unwrap();
        let (_, said) = texts(&output);
        assert!(!output.status.success() && said.contains(part), "{arguments:?}: {said}");
        // clap adds the usage after an empty line
        let told = said.lines().take_while(|line| !line.is_empty()).count();
        assert!(told <= 3, "{arguments:?}: {said}");
    }
}

#[test]
fn a_command_needs_no_dashes_and_keeps_its_own_options() {
    let site = Site::new();
    let printed = |arguments: &[&str]| {
        let output = site.tool().arg("run").args(arguments).output().unwrap();
        let (printed, said) = texts(&output);
        assert!(output.status.success(), "{arguments:?}: {said}");
        printed
    };
    for command in
        [&["sh", "-c", "echo $0 $1", "--series", "--"][..], &["--", "sh", "-c", "echo $0 $1", "--series", "--"]]
    {
        assert_eq!(printed(command), "--series --\n", "{command:?}");
    }
    assert_eq!(printed(&["--preset", "full", "printenv", "NCCL_SCOREP_PRESET"]), "full\n");
    // a misspelt option is not taken for the command
    let output = site.tool().args(["run", "--sumary", "x", "--", "true"]).output().unwrap();
    assert!(!output.status.success() && texts(&output).1.contains("--sumary"));
}

/// The Python's virtual environment is not activated.
#[test]
fn the_nccl_of_the_python_that_is_started_is_cured() {
    let site = Site::new();
    let packages = "venv/lib/python3.11/site-packages/nvidia/nccl/lib";
    for directory in [packages, "venv/bin"] {
        std::fs::create_dir_all(site.path(directory)).unwrap();
    }
    site.library(
        &format!("{packages}/libnccl.so.2"),
        "int ncclGetVersion(int *version) { *version = 22902; return 0; }",
    );
    site.script("venv/bin/python", "printenv NCCL_ALLGATHERV_ENABLE || echo unset");
    std::fs::remove_file(site.path("nccl/libnccl.so.2")).unwrap();
    let output = site.tool().args(["run", "../venv/bin/python", "-u", "train.py"]).output().unwrap();
    let (printed, said) = texts(&output);
    assert_eq!((printed.as_str(), said.lines().count()), ("0\n", 1), "{said}");
}
