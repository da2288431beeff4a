//! The wheel that `make plain-wheel` builds: its content, and what it does where pip has installed it, in empty environments
//! of the oldest and the newest Python of this machine.

mod content;
mod environment;
mod names;
use crate::support::tool;

use environment::{Environment, pythons};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The wheel; `None` where it is not built, which is said.
fn wheel() -> Option<PathBuf> {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("wheel");
    let entries = target.join("plain").read_dir().into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut wheels = entries.filter(|path| path.extension().is_some_and(|extension| extension == "whl"));
    let found = wheels.next().ok_or_else(|| "no wheel in target/wheel/plain".to_owned()).and_then(|wheel| {
        let newer = content::sources(&target).into_iter().find(|source| content::is_newer(source, &wheel));
        newer.map_or(Ok(wheel), |source| Err(format!("the wheel is older than {}", source.display())))
    });
    assert!(wheels.next().is_none(), "several wheels in {}/plain", target.display());
    found.inspect_err(|missing| tool::skip(&format!("{missing} (`make plain-wheel`)"))).ok()
}

/// Runs a test in an environment of the oldest Python, and of the newest.
fn everywhere(test: impl Fn(&Environment, &Path)) {
    let Some(wheel) = wheel() else { return };
    for python in pythons() {
        test(&Environment::new(&python), &wheel);
    }
}

#[test]
#[ignore = "wheel"]
fn it_is_complete_and_fit_for_pypi_and_for_any_linux_with_glibc_2_28() {
    let Some(wheel) = wheel() else { return };
    content::complete(&wheel);
    content::fit(&wheel);
}

#[test]
#[ignore = "wheel"]
fn its_python_is_of_3_9_and_typed() {
    if wheel().is_some() {
        content::python();
    }
}

#[test]
#[ignore = "wheel"]
fn a_job_has_its_summary_and_nothing_is_left_when_the_wheel_is_taken_away() {
    everywhere(|environment, wheel| {
        let before = environment.files();
        environment.install(wheel);
        let directory = tempfile::tempdir().unwrap();
        // both ways to start it, without any other variable
        let starts: [&[&str]; 2] = [&["scorep-nccl"], &["python", "-m", "scorep_nccl"]];
        for (number, start) in starts.into_iter().enumerate() {
            let summary = directory.path().join(format!("{number}.json"));
            let mut job = environment.command(start[0]);
            job.args(&start[1..]).args(["run", "--summary"]).arg(&summary).args(["--", env!("HOST_ALL_REDUCE_HOST")]);
            tool::succeed(job.args(["libnccl-profiler-scorep.so", "5"]).env("NCCL_ALLGATHERV_ENABLE", "0"));
            let summary: Value = serde_json::from_slice(&std::fs::read(summary).unwrap()).unwrap();
            assert_eq!(summary["operations"][0]["func"], "AllReduce", "{summary}");
        }
        // NCCL takes the path that Python names as well
        let summary = directory.path().join("path.json");
        let library = environment.print("print(scorep_nccl.library())");
        let mut job = tool::host(env!("HOST_ALL_REDUCE_HOST"));
        tool::succeed(
            job.arg(&library).arg("5").env("NCCL_SCOREP_SUMMARY", &summary).env("NCCL_ALLGATHERV_ENABLE", "0"),
        );
        assert!(summary.is_file());
        // the command's exit status is the job's
        let status = environment.command("scorep-nccl").args(["run", "--", "sh", "-c", "exit 7"]).status().unwrap();
        assert_eq!(status.code(), Some(7));

        environment.uninstall();
        assert_eq!(environment.files(), before);
    });
}

#[test]
#[ignore = "wheel"]
fn all_names_are_one_library_in_memory_for_nccl_and_score_p() {
    let Some(wheel) = wheel() else { return };
    let environment = Environment::new(&pythons()[0]);
    environment.install(&wheel);
    let library = PathBuf::from(environment.print("print(scorep_nccl.library())"));
    names::hold(library.parent().unwrap());
    // the tool looks at them as both hosts load them
    let mut doctor = environment.command("scorep-nccl");
    let output = doctor.args(["run", "--series", "--", "scorep-nccl", "doctor", "--json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_library = |finding: &&Value| finding["code"].as_str().unwrap().starts_with("library");
    let findings: Vec<&Value> = answer["findings"].as_array().unwrap().iter().filter(of_library).collect();
    let [Value::Object(good)] = findings.as_slice() else { panic!("{answer}") };
    let good = good["what"].as_str().unwrap();
    assert!(names::NAMES.iter().all(|name| good.contains(name)), "{answer}");
    // Score-P's side, by Score-P's names
    let mut host = tool::host(env!("HOST_SCOREP_HOST"));
    host.arg(env!("SCORE_P_STAND_IN")).args(["6", "lanes", "0"]).env("LD_LIBRARY_PATH", library.parent().unwrap());
    host.env("SCOREP_METRIC_PLUGINS", "nccl_plugin").env("SCOREP_METRIC_NCCL_PLUGIN", "default");
    host.env("SCOREP_SUBSTRATE_PLUGINS", "nccl")
        .env("SCOREP_ENABLE_TRACING", "true")
        .env("NCCL_ALLGATHERV_ENABLE", "0");
    let records = tool::succeed(host.env("SCOREP_TOTAL_MEMORY", "64M"));
    assert!(records.contains("ncclAllReduce"), "{records}");
}

#[test]
#[ignore = "wheel"]
fn it_sends_figures_over_opentelemetry() {
    let Some(wheel) = wheel() else { return };
    let environment = Environment::new(&pythons()[0]);
    environment.install(&wheel);
    let mut job = environment.command("scorep-nccl");
    job.args(["run", "--", env!("HOST_ALL_REDUCE_HOST"), "libnccl-profiler-scorep.so", "5"]);
    job.env("NCCL_ALLGATHERV_ENABLE", "0").env("NCCL_SCOREP_OTEL", "on");
    // the port of a service that nobody has
    job.env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9");
    let said = String::from_utf8(job.output().unwrap().stderr).unwrap();
    assert!(said.lines().count() == 1 && said.contains("(connection refused)"), "{said}");
}

/// Returns the program of tests that cargo has built last under this name, beside this one. Cargo itself may build anew
/// what other tests run just then; `cargo test` without a name builds all programs.
fn tests_of(name: &str) -> PathBuf {
    let this = std::env::current_exe().unwrap();
    let is_named = |path: &PathBuf| {
        let stem = path.file_name().and_then(|file| file.to_str()).and_then(|file| file.rsplit_once('-'));
        stem.is_some_and(|(stem, hash)| stem == name && !hash.contains('.'))
    };
    let found = this.parent().unwrap().read_dir().unwrap().map(|entry| entry.unwrap().path()).filter(is_named);
    found.max_by_key(|path| path.metadata().unwrap().modified().unwrap()).unwrap()
}

/// The tests of NCCL's contract, with the library from the environment.
#[test]
#[ignore = "wheel"]
fn the_library_passes_the_conformance_suite_from_there() {
    let Some(wheel) = wheel() else { return };
    let environment = Environment::new(pythons().last().unwrap());
    environment.install(&wheel);
    let library = environment.print("print(scorep_nccl.library())");
    let mut suite = Command::new(tests_of("nccl"));
    // a library that is shipped has no faults to switch on
    suite.args(["conformance::", "--skip", "a_fault_in_a_callback"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = suite.env("SCOREP_NCCL_TEST_LIBRARY", library).output().unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("test result: ok. ") && !printed.contains("ok. 0 passed"), "{printed}");
}

/// With pandas from PyPI in the one environment, and polars in the other.
#[test]
#[ignore = "wheel"]
fn a_report_comes_as_frames() {
    let Some(wheel) = wheel() else { return };
    let script = include_str!("frames.py");
    for (python, frames) in pythons().iter().zip(["pandas", "polars"]) {
        let environment = Environment::new(python);
        environment.install(&wheel);
        let mut without = environment.command("python");
        let output = without.args(["-c", "import scorep_nccl; scorep_nccl.report('.')"]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains("pip install 'scorep-nccl[pandas]'"), "{said}");

        if let Err(said) = environment.install_extra(&wheel, frames) {
            tool::skip(&format!("{frames} could not be installed from PyPI: {said}"));
            continue;
        }
        let run = tool::run("nodes2x2_train");
        let mut report = environment.command("scorep-nccl");
        let json = tempfile::NamedTempFile::new().unwrap();
        tool::succeed(report.args(["report", "--json", "-"]).arg(&run).stdout(json.reopen().unwrap()));
        let mut python = environment.command("python");
        let printed = tool::succeed(python.arg("-c").arg(script).arg(frames).arg(&run).arg(json.path()));
        assert_eq!(printed.trim(), "as the report says", "{frames}");
    }
}
