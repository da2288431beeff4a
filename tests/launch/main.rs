//! `scorep-nccl env` and `run`: the environment of a job, and errors for wrong use.

mod commands;
mod companion;
mod held_job;
mod ranks;
mod shells;
mod summaries;

use crate::support::{site, tool};
use common::config::SETTINGS;
use site::{Site, texts};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

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
        ("NCCL_PROFILER_PLUGIN", "libnccl-profiler-scorep.so"),
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
    let plugin = "libnccl-profiler-scorep.so";
    assert_eq!(values, ["other_plugin,nccl_plugin", "nccl_ops", "nccl,other", plugin, "inspector"]);
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
fn series_are_in_a_trace() {
    let (job, _) = Site::new().environment_of_job(&[], &["--series"]);
    let names = ["SCOREP_METRIC_PLUGINS", "SCOREP_METRIC_NCCL_SERIES_PLUGIN", "SCOREP_ENABLE_TRACING"];
    assert_eq!(names.map(|name| value(&job, name).unwrap()), ["nccl_plugin,nccl_series_plugin", "default", "true"]);
    assert_eq!(value(&job, "SCOREP_ENABLE_PROFILING"), None);
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
fn all_settings_are_listed() {
    let listed = tool::succeed(Site::new().tool().args(["env", "--all"]));
    for setting in SETTINGS {
        assert!(listed.contains(setting.name), "{}", setting.name);
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
