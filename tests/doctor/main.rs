//! `scorep-nccl doctor`: no findings on a sound site, and the right finding for each fault.

mod faults;
use crate::support::{site, tool};

use serde_json::Value;
use site::{Site, replace};
use std::fs;

/// Runs the doctor in a job of a site; returns the report and the exit status.
fn examine(site: &Site, settings: &[(&str, &str)]) -> (Value, i32) {
    let (mut variables, _) = Site::new().environment_of_job(settings, &[]);
    // the environment of a sound site, with this site's paths
    let sound = variables.iter().find(|(name, _)| name == "LD_LIBRARY_PATH").unwrap().1.clone();
    let first = sound.split(':').next().unwrap().trim_end_matches("/lib").to_owned();
    let here = site.path("").display().to_string();
    for (_, value) in &mut variables {
        *value = value.replace(&first, here.trim_end_matches('/'));
    }
    let mut command = site.tool();
    command.env_clear().envs(variables).envs(settings.iter().copied());
    for (name, _) in settings.iter().filter(|(_, value)| value.is_empty()) {
        command.env_remove(name);
    }
    let setting = |wanted| settings.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
    // a container may have little shared memory, and one processor
    let (shared, processors) = (setting("SHARED").unwrap_or(&here), setting("PROCESSORS").unwrap_or("2"));
    command.args(["doctor", "--json", "--shared-memory", shared, "--processors", processors]);
    command.args(setting("COMMAND").map(|command| command.split(' ')).into_iter().flatten());
    let output = command.output().unwrap();
    let (printed, said) = site::texts(&output);
    let report: Value = serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}{said}"));
    (report, output.status.code().unwrap())
}

fn codes(report: &Value) -> Vec<&str> {
    report["findings"].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap()).collect()
}

#[test]
fn where_all_is_well_the_doctor_is_green() {
    let (report, status) = examine(&Site::new(), &[]);
    assert_eq!((codes(&report), status), (vec!["library", "nccl", "scorep", "scorep-thread-model"], 0), "{report:#}");
}

#[test]
fn each_release_that_was_tried_is_well() {
    for (version, library) in [("8.4", "libscorep_measurement.so.11"), ("9.4", "libscorep_measurement.so.13.1.0")] {
        let site = Site::new();
        site.score_p(version, library);
        let (report, _) = examine(&site, &[]);
        assert_eq!(codes(&report)[..3], ["library", "nccl", "scorep"], "{report:#}");
        let said = report["findings"][2]["what"].as_str().unwrap();
        assert!(said.contains(version) && said.contains("lanes"), "{said}");
    }
}

/// By Score-P's own estimate, and ten lanes of 2 MiB.
#[test]
fn the_doctor_says_how_much_memory_a_trace_takes() {
    let site = Site::new();
    site.profile("40MB");
    let memory = |profiling: &str, total: &str| {
        let settings =
            [("SCOREP_ENABLE_TRACING", "true"), ("SCOREP_ENABLE_PROFILING", profiling), ("SCOREP_TOTAL_MEMORY", total)];
        let (report, status) = examine(&site, &settings);
        (report.to_string(), status)
    };
    for (profiling, sum, less) in [
        ("true", "a trace takes 60M: 40M by `scorep-score -c 3 ", "59M"),
        ("false", "a trace takes 40M: 20M by `scorep-score -c 0 ", "39M"),
    ] {
        let (said, status) = memory(profiling, less);
        assert!(said.contains(sum), "{said}");
        assert_eq!((status, memory(profiling, "60M").1), (1, 0));
    }
}

#[test]
fn a_program_whose_threads_score_p_knows_is_well() {
    let site = Site::new();
    for libraries in
        [&["mpp_mpi", "adapter_cuda_event", "thread_create_wait_pthread"][..], &["mpp_mockup", "thread_mockup"]]
    {
        site.instrumented(libraries);
        let (report, status) = examine(&site, &[("COMMAND", "./program --option")]);
        assert_eq!((codes(&report), status), (vec!["library", "nccl", "scorep"], 0), "{report:#}");
    }
}

/// The NCCL of a virtual environment that is not activated, and an NCCL in LD_PRELOAD.
#[test]
fn the_nccl_that_a_program_would_load_is_found() {
    let source = |release| format!("int ncclGetVersion(int *version) {{ *version = {release}; return 0; }}");
    let site = Site::new();
    let packages = "venv/lib/python3.11/site-packages/nvidia/nccl/lib";
    for directory in [packages, "venv/bin", "preloaded"] {
        fs::create_dir_all(site.path(directory)).unwrap();
    }
    site.script("venv/bin/python", "exit 0");
    site.library(&format!("{packages}/libnccl.so.2"), &source(22_703));
    site.library("preloaded/libnccl.so.2.26.2", &source(22_602));
    fs::remove_file(site.path("nccl/libnccl.so.2")).unwrap();
    let found = |settings: &[(&str, &str)]| {
        let (report, _) = examine(&site, settings);
        let of = |finding: &&Value| finding["code"] == "nccl";
        report["findings"]
            .as_array()
            .unwrap()
            .iter()
            .find(of)
            .map(|finding| finding["what"].as_str().unwrap().to_owned())
    };
    let command = ("COMMAND", "srun ../venv/bin/python -u train.py");
    assert_eq!(found(&[]), None);
    assert!(found(&[command]).unwrap().starts_with("NCCL 2.27.3 "));
    let preloaded = site.path("preloaded/libnccl.so.2.26.2").display().to_string();
    assert!(found(&[command, ("LD_PRELOAD", &preloaded)]).unwrap().starts_with("NCCL 2.26.2 "));
}

#[test]
fn nobody_is_told_to_link_a_file_to_itself() {
    let site = Site::new();
    site.library(&format!("lib/{}", tool::LIBRARY), "int nothing;");
    let (report, _) = examine(&site, &[]);
    for finding in report["findings"].as_array().unwrap() {
        let cure = finding["cure"].as_str().unwrap();
        assert!(!cure.contains(&format!("make {0} a symbolic link to {0}", tool::LIBRARY)), "{report:#}");
    }
}

/// The finding names the file under the library's name, whatever it is, and not a wrong directory or machine.
#[test]
fn what_is_under_the_librarys_name_is_said() {
    let name = "libnccl-profiler-scorep.so";
    let executable = fs::read("/bin/sh").unwrap();
    for (link, content, part) in [
        (Some(name), None, "is a symbolic link to itself"),
        (Some("gone.so"), None, "is a symbolic link to gone.so, which is missing"),
        (None, Some(&executable[..]), "is no library"),
        (None, Some(b"no library"), "is no library"),
    ] {
        let site = Site::new();
        let path = site.path("lib").join(name);
        if let Some(content) = content {
            replace(&path, content);
        }
        if let Some(link) = link {
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(link, &path).unwrap();
        }
        let (report, _) = examine(&site, &[]);
        let findings = report["findings"].as_array().unwrap();
        for other in ["library-not-found", "library-missing"] {
            assert!(!codes(&report).contains(&other), "{part}: {report:#}");
        }
        let said =
            |finding: &&Value| finding["code"] == "library-broken" && finding["what"].as_str().unwrap().contains(part);
        let finding = findings.iter().find(said).unwrap_or_else(|| panic!("{part}: {report:#}"));
        let cure = finding["cure"].as_str().unwrap();
        assert!(cure.ends_with(&format!("a symbolic link to {}", tool::LIBRARY)), "{name}: {cure}");
    }
}

#[test]
fn a_person_reads_a_line_and_a_way_out_for_each_finding() {
    let site = Site::new();
    let output = site.tool().arg("doctor").output().unwrap();
    let (printed, said) = site::texts(&output);
    assert_eq!((output.status.code(), said.as_str()), (Some(2), ""));
    for part in [
        "FAILS   libnccl-profiler-scorep.so",
        "[library-not-found]",
        "-> start the job through `scorep-nccl run --`",
        "It will not work.",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // all symptoms have one cause: the job was not started through `run`
    assert_eq!(printed.matches("FAILS").count(), 1, "{printed}");
}

/// A program without it aborts, whatever plugin NCCL loads.
#[test]
fn the_page_on_score_p_begins_with_the_thread_model() {
    let first = include_str!("../../docs/score-p.md").split("\n\n").nth(1).unwrap();
    assert!(first.contains("--thread=pthread") && first.contains("aborts the program"), "{first}");
}

/// Before the job is started through `run`, so that it need not be asked again.
#[test]
fn what_the_installed_library_lacks_is_said_though_no_host_finds_it() {
    if let Err(missing) = tool::shipped(tool::LIBRARY) {
        return tool::skip(&missing);
    }
    let (report, _) = examine(&Site::new(), &[("LD_LIBRARY_PATH", "/nowhere"), ("NCCL_SCOREP_OTEL", "on")]);
    assert!(["library-not-found", "otel-missing"].iter().all(|code| codes(&report).contains(code)), "{report:#}");
}

/// Each setting with file and line, or the environment.
#[test]
fn the_origin_of_each_setting_is_said_where_there_is_a_file() {
    let site = Site::new();
    faults::file(&site, "\nNCCL_SCOREP_PRESET=api\nNCCL_SCOREP_LOG=off\nNCCL_SCOREP_STATUS=/proc/nowhere\n", 0o644);
    let settings = [("NCCL_SCOREP_SETTINGS", "settings"), ("NCCL_SCOREP_LOG", "info"), ("NCCL_SCOREP_MIN_BYTES", "8")];
    // an empty value of a setting, which the test's own function takes for none
    let mut command = site.tool();
    command.args(["doctor", "--json"]).envs(settings).env("NCCL_SCOREP_STATUS", "");
    let report: Value = serde_json::from_str(&site::texts(&command.output().unwrap()).0).unwrap();
    let of = |code: &str| -> Vec<String> {
        let findings = report["findings"].as_array().unwrap().iter().filter(|finding| finding["code"] == code);
        findings.map(|finding| finding["what"].as_str().unwrap().to_owned()).collect()
    };
    let origins = [
        "NCCL_SCOREP_SETTINGS=settings (environment)",
        "NCCL_SCOREP_STATUS=(the default) (environment, in place of settings:4)",
        "NCCL_SCOREP_PRESET=api (settings:2)",
        "NCCL_SCOREP_MIN_BYTES=8 (environment)",
        "NCCL_SCOREP_LOG=info (environment, in place of settings:3)",
    ];
    assert_eq!(of("setting-origin"), origins);
    assert_eq!((of("settings-file").len(), of("setting-path").len()), (1, 0), "{report:#}");
}

/// Without an output it does nothing, and with one NCCL needs no variable.
#[test]
fn a_library_that_nccl_loads_unasked_is_said() {
    let site = Site::new();
    std::os::unix::fs::symlink(tool::LIBRARY, site.path("lib/libnccl-profiler.so")).unwrap();
    for (summary, word) in [("", "it records nothing, since no setting names an output"), ("a.%p.json", "; it records")]
    {
        let mut command = site.tool();
        command.args(["doctor", "--json", "--shared-memory", "/"]).env("NCCL_SCOREP_SUMMARY", summary);
        let libraries = [site.path("lib"), site.path("nccl")];
        let output = command.env("LD_LIBRARY_PATH", std::env::join_paths(libraries).unwrap()).output().unwrap();
        let report: Value = serde_json::from_str(&site::texts(&output).0).unwrap();
        let mut findings = report["findings"].as_array().unwrap().iter();
        let what = findings.find(|finding| finding["code"] == "plugin-unasked").unwrap()["what"].as_str().unwrap();
        assert!(what.contains("NCCL loads libnccl-profiler.so") && what.contains(word), "{what}");
        assert!(
            ["plugin-not-set", "library-not-found"].iter().all(|code| !codes(&report).contains(code)),
            "{report:#}"
        );
    }
}

#[test]
fn names_do_not_steer_the_terminal() {
    let site = Site::new();
    let output = site.tool().arg("doctor").env("NCCL_SCOREP_PRESET", "\u{1b}]0;pwned\u{7}\u{9b}31m").output().unwrap();
    let (printed, _) = site::texts(&output);
    assert!(printed.contains("NCCL_SCOREP_PRESET=\\u{1b}]0;pwned"), "{printed}");
    assert!(!printed.contains(|letter: char| letter != '\n' && letter.is_control()), "{printed:?}");
}
