//! `scorep-nccl env` and `run`: the environment of a job, and errors for wrong use.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "support/site/mod.rs"]
mod site;
#[path = "support/tool/mod.rs"]
mod tool;

use common::config::SETTINGS;
use common::rank::Told;
use site::{Site, texts};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Returns the value of a variable in a job's environment.
fn value<'a>(variables: &'a [(String, String)], name: &str) -> Option<&'a str> {
    variables.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

#[test]
fn a_job_gets_what_both_hosts_need() {
    let site = Site::new();
    let (job, said) = site.environment_of_job(&[], &["--preset", "full", "--summary", "all.%p.json"]);
    let library = format!("{}:{}", site.path("lib").display(), site.path("nccl").display());
    let summary = site.path("work/all.%p.json").display().to_string();
    for (name, expected) in [
        ("LD_LIBRARY_PATH", library.as_str()),
        ("NCCL_PROFILER_PLUGIN", "scorep"),
        ("SCOREP_METRIC_PLUGINS", "nccl_plugin"),
        ("SCOREP_METRIC_NCCL_PLUGIN", "default"),
        ("SCOREP_SUBSTRATE_PLUGINS", "nccl"),
        ("NCCL_SCOREP_PRESET", "full"),
        ("NCCL_SCOREP_SUMMARY", summary.as_str()),
    ] {
        assert_eq!(value(&job, name), Some(expected), "{name}");
    }
    assert_eq!([value(&job, "NCCL_ALLGATHERV_ENABLE"), value(&job, "SCOREP_EXPERIMENT_DIRECTORY")], [None, None]);
    assert_eq!(said, "");
}

#[test]
fn one_rank_says_that_the_ranks_share_a_name() {
    let site = Site::new();
    let said = |variables: &[(&str, &str)], name: &str| {
        let mut run = site.tool();
        run.envs(variables.iter().copied()).args(["run", "--summary", name, "--", "true"]);
        texts(&run.output().unwrap()).1
    };
    let first = said(&[("RANK", "0"), ("WORLD_SIZE", "8")], "all.json");
    assert!(
        first.contains("all.json is the summary's name for all 8 ranks of the job (RANK)") && first.contains("%r"),
        "{first}"
    );
    for (variables, name, part) in [
        (&[("PALS_RANKID", "0")][..], "all.json", "for all ranks of the job (PALS_RANKID)"),
        (
            &[("LOCAL_RANK", "3"), ("LOCAL_WORLD_SIZE", "8")],
            "a.%h.json",
            "for all 8 ranks of a host (LOCAL_WORLD_SIZE)",
        ),
        (&[("SLURM_NTASKS", "8")], "all.json", "for all 8 tasks of a step (SLURM_NTASKS)"),
    ] {
        let said = said(variables, name);
        assert!(said.contains(part), "{variables:?}: {said}");
    }
    for (variables, name) in [
        (&[("RANK", "1"), ("WORLD_SIZE", "8")][..], "all.json"),
        (&[("RANK", "0"), ("WORLD_SIZE", "8")], "all.%r.json"),
        (&[("RANK", "0"), ("WORLD_SIZE", "1")], "all.json"),
        (&[], "all.json"),
        (&[("PALS_RANKID", "1")], "all.json"),
        (&[("LOCAL_RANK", "0"), ("LOCAL_WORLD_SIZE", "1")], "all.%h.json"),
    ] {
        assert_eq!(said(variables, name), "", "{variables:?} {name}");
    }
}

/// A bad place is reported before the job starts, and does not stop it.
#[test]
fn a_summary_of_the_environment_is_looked_at_as_well() {
    let site = Site::new();
    let run = |place: &str| {
        texts(&site.tool().env("NCCL_SCOREP_SUMMARY", place).args(["run", "--", "echo", "here"]).output().unwrap())
    };
    for place in ["/proc/nowhere/%p.json", "/tmp"] {
        let (printed, said) = run(place);
        assert!(printed == "here\n" && said.starts_with("scorep-nccl: NCCL_SCOREP_SUMMARY: /"), "{printed} {said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
    let fine = site.path("work/new/all.json").display().to_string();
    assert_eq!((run(&fine), site.path("work/new").exists()), (("here\n".into(), String::new()), false));
}

/// The library reads them so, too.
#[test]
fn a_setting_of_blanks_is_not_set() {
    let blank = [("NCCL_SCOREP_SUMMARY", " "), ("NCCL_SCOREP_CHAIN", "\t"), ("RANK", "0"), ("WORLD_SIZE", "8")];
    let (_, said) = Site::new().environment_of_job(&blank, &[]);
    assert_eq!(said, "");
    // NCCL's own plugin is kept
    let set = [&blank[..], &[("NCCL_PROFILER_PLUGIN", "inspector")]].concat();
    let (job, said) = Site::new().environment_of_job(&set, &[]);
    assert_eq!(value(&job, "NCCL_SCOREP_CHAIN"), Some("inspector"));
    assert!(said.lines().count() == 1 && said.contains("it gets every callback, too"), "{said}");
}

#[test]
fn other_libraries_beside_this_one_hide_none_of_the_programs() {
    let site = Site::new();
    std::fs::write(site.path("lib/libother.so.1"), "").unwrap();
    let output = site.tool().args(["run", "--", "printenv", "LD_LIBRARY_PATH"]).output().unwrap();
    let expected = format!("{}:{}\n", site.path("nccl").display(), site.path("lib").display());
    assert_eq!(texts(&output).0, expected);
}

#[test]
fn a_path_that_is_no_text_stays_as_it_is() {
    let site = Site::new();
    let odd = OsStr::from_bytes(b"/odd\xff/lib");
    let output =
        site.tool().env("LD_LIBRARY_PATH", odd).args(["run", "--", "printenv", "LD_LIBRARY_PATH"]).output().unwrap();
    let expected = [site.path("lib").as_os_str().as_bytes(), b":", odd.as_bytes(), b"\n"].concat();
    assert_eq!(output.stdout, expected, "{}", String::from_utf8_lossy(&output.stdout));
    let script = r#"eval "$(scorep-nccl env)"; printenv LD_LIBRARY_PATH"#;
    let output = site.tool().env("LD_LIBRARY_PATH", odd).args(["run", "--", "sh", "-c", script]).output().unwrap();
    assert_eq!(output.stdout, expected, "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn a_directory_that_no_list_can_hold_is_refused() {
    for name in ["l:b", "l;b"] {
        let site = Site::new();
        std::fs::rename(site.path("lib"), site.path(name)).unwrap();
        let library = site.path(name).join(tool::LIBRARY);
        let output = site.tool().arg("run").arg("--library").arg(library).args(["--", "true"]).output().unwrap();
        let (_, said) = texts(&output);
        assert!(
            output.status.code() == Some(1) && said.contains(name) && said.contains("without `:` and `;`"),
            "{said}"
        );
    }
}

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
fn what_is_set_already_stays() {
    let set = [
        ("SCOREP_METRIC_PLUGINS", "other_plugin"),
        ("SCOREP_METRIC_NCCL_PLUGIN", "nccl_ops"),
        ("SCOREP_SUBSTRATE_PLUGINS", "nccl,other"),
        ("NCCL_PROFILER_PLUGIN", "inspector"),
    ];
    let (job, said) = Site::new().environment_of_job(&set, &[]);
    let names = [
        "SCOREP_METRIC_PLUGINS",
        "SCOREP_METRIC_NCCL_PLUGIN",
        "SCOREP_SUBSTRATE_PLUGINS",
        "NCCL_PROFILER_PLUGIN",
        "NCCL_SCOREP_CHAIN",
    ];
    let values = names.map(|name| value(&job, name).unwrap());
    assert_eq!(values, ["other_plugin,nccl_plugin", "nccl_ops", "nccl,other", "scorep", "inspector"]);
    assert_eq!(said.lines().count(), 1, "{said}");
    // its file name still means this library
    let named = [("NCCL_PROFILER_PLUGIN", "libnccl-profiler-scorep.so")];
    let (job, said) = Site::new().environment_of_job(&named, &[]);
    assert_eq!(
        (value(&job, named[0].0), value(&job, "NCCL_SCOREP_CHAIN"), said.as_str()),
        (Some(named[0].1), None, "")
    );
}

#[test]
fn series_take_the_profiles_place() {
    let (job, _) = Site::new().environment_of_job(&[], &["--series"]);
    let names = [
        "SCOREP_METRIC_PLUGINS",
        "SCOREP_METRIC_NCCL_SERIES_PLUGIN",
        "SCOREP_ENABLE_PROFILING",
        "SCOREP_ENABLE_TRACING",
    ];
    assert_eq!(
        names.map(|name| value(&job, name).unwrap()),
        ["nccl_plugin,nccl_series_plugin", "default", "false", "true"]
    );
}

#[test]
fn an_nccl_that_can_hang_is_kept_from_it() {
    let enabled = |set: &[(&str, &str)]| {
        let (job, said) = Site::new().environment_of_job(set, &[]);
        (value(&job, "NCCL_ALLGATHERV_ENABLE").map(str::to_owned), said.lines().count())
    };
    assert_eq!(enabled(&[("HOST_RELEASE", "22902")]), (Some("0".into()), 1));
    assert_eq!(enabled(&[("HOST_RELEASE", "22902"), ("NCCL_ALLGATHERV_ENABLE", "1")]), (Some("1".into()), 0));
    assert_eq!(enabled(&[("HOST_RELEASE", "23102")]), (None, 0));
    // no event is asked for that could make the job hang
    assert_eq!(enabled(&[("HOST_RELEASE", "22902"), ("NCCL_SCOREP_PRESET", "api")]), (None, 0));
}

#[test]
fn ranks_of_torchrun_have_directories_of_their_own() {
    let directory = |set: &[(&str, &str)], options: &[&str]| {
        let (job, _) = Site::new().environment_of_job(set, options);
        value(&job, "SCOREP_EXPERIMENT_DIRECTORY").map(str::to_owned)
    };
    let torchrun = [("TORCHELASTIC_RUN_ID", "train"), ("RANK", "12")];
    assert_eq!(directory(&torchrun, &[]).as_deref(), Some("scorep-train.rank12"));
    let named = [torchrun[0], torchrun[1], ("SCOREP_EXPERIMENT_DIRECTORY", "/scratch/run")];
    assert_eq!(directory(&named, &[]).as_deref(), Some("/scratch/run.rank12"));
    assert_eq!(directory(&[("SLURM_PROCID", "3")], &[]), None);
    // a RANK that a script has exported is the same for all processes
    let of_slurm = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "3"), ("RANK", "0")];
    assert_eq!(directory(&of_slurm, &["--per-rank"]).as_deref(), Some("scorep-nccl.rank3"));
    assert_eq!(directory(&[("TORCHELASTIC_RUN_ID", "train")], &[]), None);
}

/// The experiment directory and the summary's name have the same number.
#[test]
fn a_process_has_one_rank() {
    let slurm = [("SLURM_STEP_ID", "0"), ("SLURM_PROCID", "1"), ("SLURM_NTASKS", "2")];
    let inner = [&slurm[..], &[("RANK", "9"), ("WORLD_SIZE", "16")]].concat();
    for (set, rank) in [(&slurm[..], "1"), (&inner, "9")] {
        let (job, _) = Site::new().environment_of_job(set, &["--per-rank"]);
        let directory = value(&job, "SCOREP_EXPERIMENT_DIRECTORY").unwrap().to_owned();
        let lookup = |name: &str| set.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned());
        let in_names = Told::by(lookup).rank.unwrap().to_string();
        assert_eq!(
            (directory.as_str(), in_names.as_str()),
            (format!("scorep-nccl.rank{rank}").as_str(), rank),
            "{set:?}"
        );
    }
    // a batch script is no rank
    let script = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "8")];
    let output = Site::new().tool().envs(script).args(["run", "--per-rank", "--", "true"]).output().unwrap();
    assert!(!output.status.success() && texts(&output).1.contains("no launcher has said this process' rank"));
}

#[test]
fn shells_read_what_env_prints_and_once_is_enough() {
    let site = Site::new();
    let printed = |command: &mut Command| {
        let output = command.output().unwrap();
        let (printed, said) = texts(&output);
        assert!(output.status.success() && said.is_empty(), "{said}");
        printed
    };
    let statements = printed(site.tool().args(["env", "--shell", "bash"]));
    assert_eq!(statements.lines().count(), 5, "{statements}");
    let script = r#"eval "$(scorep-nccl env)"; test "$NCCL_PROFILER_PLUGIN" = scorep && scorep-nccl env"#;
    let path = std::env::join_paths([site.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().env("PATH", path).args(["-c", script]);
    assert_eq!(printed(&mut shell), "");
}

/// The commands are those of docs/install.md for each shell.
#[test]
fn other_shells_read_it_as_documented() {
    let site = Site::new();
    let page = include_str!("../docs/install.md").replace("\\|", "|");
    for (shell, statement) in [("fish", "scorep-nccl env | source"), ("tcsh", "eval \"`scorep-nccl env`\"")] {
        assert!(page.contains(statement), "{statement}");
        let path = std::env::join_paths([site.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
        let mut command = Command::new(shell);
        command.env_clear().env("PATH", path).env("HOME", site.path("home")).env("SCOREP_METRIC_PLUGINS", "a  b,it's");
        command.args(["-c", &format!("{statement}; printenv NCCL_PROFILER_PLUGIN; printenv SCOREP_METRIC_PLUGINS")]);
        match command.output() {
            Ok(output) => {
                assert_eq!(texts(&output), ("scorep\na  b,it's,nccl_plugin\n".into(), String::new()), "{shell}")
            }
            Err(_) => tool::skip(&format!("no {shell}")),
        }
    }
}

#[test]
fn a_job_scripts_shell_is_known_though_the_users_is_another() {
    let site = Site::new();
    for (shell, statement) in [("/bin/bash", "export "), ("/usr/bin/fish", "set -gx "), ("/usr/bin/tcsh", "setenv ")] {
        if !Path::new(shell).exists() {
            continue;
        }
        std::fs::write(site.path("work/job"), format!("#!{shell}\nscorep-nccl env\ntrue\n")).unwrap();
        std::fs::set_permissions(site.path("work/job"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = std::env::join_paths([site.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
        let mut job = Command::new(site.path("work/job"));
        let printed = tool::succeed(job.env("SHELL", "/bin/tcsh").env("HOME", site.path("home")).env("PATH", path));
        assert!(
            printed.lines().count() > 1 && printed.lines().all(|line| line.starts_with(statement)),
            "{shell}: {printed}"
        );
    }
}

#[test]
fn all_settings_are_listed() {
    let listed = tool::succeed(Site::new().tool().args(["env", "--all"]));
    for setting in SETTINGS {
        assert!(listed.contains(setting.name), "{}", setting.name);
    }
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

#[test]
fn a_summary_has_its_directory_before_the_job_begins() {
    let site = Site::new();
    let run = |summary: &str, command: &[&str]| {
        let output = site.tool().args(["run", "--summary", summary, "--"]).args(command).output().unwrap();
        (output.status.code(), texts(&output))
    };
    let made = site.path("work/new/er/x.json");
    let directory = made.parent().unwrap();
    assert_eq!(run("new/er/x.json", &["test", "-d", directory.to_str().unwrap()]).0, Some(0));
    assert_eq!(run("-", &["printenv", "NCCL_SCOREP_SUMMARY"]).1.0, "/dev/stdout\n");
    // a directory whose name depends on the process is created by that process
    assert_eq!(run("of/%p/x.json", &["ls"]).1.0.lines().collect::<Vec<_>>(), ["new"]);
    for place in ["new/er", "/proc/nowhere/x.json"] {
        let (status, (printed, said)) = run(place, &["echo", "begun"]);
        assert!(status == Some(1) && printed.is_empty() && said.contains(place) && said.lines().count() == 1, "{said}");
    }
}

/// The library itself creates a directory that is named after the process.
#[test]
fn a_process_makes_the_directory_of_its_summary() {
    let site = Site::new();
    let mut run = site.tool();
    run.args(["run", "--summary", "of/%p/x.json", env!("HOST_ALL_REDUCE_HOST"), "libnccl-profiler-scorep.so", "5"]);
    let (_, said) = texts(&run.output().unwrap());
    let made: Vec<_> = site.path("work/of").read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(made.len() == 1 && made[0].join("x.json").is_file(), "{made:?} {said}");
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

/// One rank prints the lines that concern the whole job, whichever launcher has started the ranks.
#[test]
fn one_rank_speaks_for_all() {
    let site = Site::new();
    for (variable, more) in [("OMPI_COMM_WORLD_RANK", "SLURM_PROCID"), ("PALS_RANKID", ""), ("FLUX_TASK_RANK", "")] {
        let lines = |rank: &str| {
            let mut run = site.tool();
            run.env(variable, rank).env("NCCL_PROFILER_PLUGIN", "inspector").args([
                "run",
                "sh",
                "-c",
                "true",
                "torchrun",
                "torch.distributed.run",
            ]);
            if !more.is_empty() {
                run.env(more, "0");
            }
            texts(&run.output().unwrap()).1.lines().count()
        };
        assert_eq!([lines("0"), lines("1")], [2, 0], "{variable}");
    }
}

#[test]
fn a_library_without_its_names_is_not_run_with() {
    let site = Site::new();
    std::fs::remove_file(site.path("lib/libnccl_plugin.so")).unwrap();
    let output = site.tool().args(["run", "--", "true"]).output().unwrap();
    let (_, said) = texts(&output);
    assert!(output.status.code() == Some(1) && said.contains("lib/libnccl_plugin.so is missing"), "{said}");
}
