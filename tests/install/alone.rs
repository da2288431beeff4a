//! NCCL's profiler plugin alone.

use super::build::{Build, files, sources, target};
use super::{links, tool};
use std::path::Path;
use std::process::Command;

pub(crate) const LIBRARY: &str = "libnccl_profiler.so";

/// Builds beside what other tests build. The builds here share what they have in common, one at a time.
fn beside_others(build: &mut Build) {
    build.environment.push(("CARGO_TARGET_DIR".into(), target().join("tmp/install-alone").into()));
    build.environment.push(("CARGO_PROFILE_DEV_DEBUG".into(), "0".into()));
}

/// A program that loads the library as NCCL does gets its figures.
pub(crate) fn works(library: &Path, summary: &Path) {
    let mut host = tool::host(env!("HOST_ALL_REDUCE_HOST"));
    host.arg(library).arg("5").env("NCCL_SCOREP_SUMMARY", summary).env("NCCL_ALLGATHERV_ENABLE", "0");
    tool::succeed(&mut host);
    assert!(std::fs::read_to_string(summary).unwrap().contains("AllReduce"));
}

#[test]
#[ignore = "installation"]
fn alone_it_is_a_plugin_of_nccl_and_nothing_of_score_p() {
    let mut build = Build::new();
    beside_others(&mut build);
    build.configure(&["-DSCOREP_NCCL_ONLY=ON", "-DCMAKE_BUILD_TYPE=Debug"]);
    build.make("all");
    build.make("install");
    let library = build.prefix.join("lib");
    links::hold(&library, LIBRARY, &["libnccl-profiler-scorep.so"]);
    assert_eq!(links::images(&library, &[LIBRARY, "libnccl-profiler-scorep.so"]), 1);
    let names = tool::succeed(Command::new("nm").args(["--dynamic", "--defined-only"]).arg(library.join(LIBRARY)));
    assert!(names.contains("ncclProfiler_v7") && !names.contains("SCOREP_"), "{names}");
    let others = files(&build.prefix).into_iter().filter(|path| !path.starts_with("lib")).collect::<Vec<_>>();
    assert!(
        others.iter().all(|path| path.starts_with("share/doc") || path.starts_with("share/modulefiles")),
        "{others:?}"
    );

    works(&library.join("libnccl-profiler-scorep.so"), &build.directory.path().join("summary.json"));

    build.make("uninstall");
    assert!(!build.prefix.parent().unwrap().exists() && Path::new(build.directory.path()).exists());
}

/// A program that loads it as NCCL does without any variable, and the settings of all jobs.
#[test]
#[ignore = "installation"]
fn the_link_that_nccl_loads_unasked_is_installed_on_request() {
    let mut build = Build::new();
    beside_others(&mut build);
    build.configure(&["-DSCOREP_NCCL_ONLY=ON", "-DCMAKE_BUILD_TYPE=Debug", "-DSCOREP_NCCL_DEFAULT=ON"]);
    build.make("all");
    build.make("install");
    let (library, unasked) = (build.prefix.join("lib"), "libnccl-profiler.so");
    links::hold(&library, LIBRARY, &["libnccl-profiler-scorep.so", unasked]);
    assert_eq!(links::images(&library, &[LIBRARY, unasked]), 1);
    for language in ["", ".lua"] {
        let module = format!("share/modulefiles/scorep-nccl/{}{language}", env!("CARGO_PKG_VERSION"));
        let module = std::fs::read_to_string(build.prefix.join(module)).unwrap();
        assert!(module.contains("NCCL_PROFILER_PLUGIN=none prevents that:"), "{module}");
    }

    let (summary, settings) = (build.directory.path().join("summary.json"), build.directory.path().join("settings"));
    std::fs::write(&settings, format!("NCCL_SCOREP_SUMMARY={}\n", summary.display())).unwrap();
    std::fs::set_permissions(&settings, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    for (file, is_there) in [(Path::new("off"), false), (&settings, true)] {
        let mut host = tool::host(env!("HOST_CONFORMANCE_HOST"));
        host.arg(library.join(unasked)).args(["5", "masks"]).env("NCCL_SCOREP_SETTINGS", file);
        tool::succeed(host.env("NCCL_ALLGATHERV_ENABLE", "0"));
        assert_eq!(summary.exists(), is_there);
    }
    build.make("uninstall");
    assert!(!build.prefix.exists());
}

/// A program that is linked with the flags of the installed file gets its figures, and needs no library of ours.
#[test]
#[ignore = "installation"]
fn an_archive_is_installed_with_the_flags_to_link_it() {
    if Command::new("pkg-config").arg("--version").output().is_err() {
        return tool::skip("no pkg-config");
    }
    let mut build = Build::new();
    beside_others(&mut build);
    build.configure(&["-DSCOREP_NCCL_ONLY=ON", "-DSCOREP_NCCL_STATIC=ON", "-DCMAKE_BUILD_TYPE=Debug"]);
    build.make("all");
    build.make("install/strip");
    // the tree may be moved
    let moved = build.directory.path().join("moved");
    std::fs::rename(&build.prefix, &moved).unwrap();
    let flags = moved.join("lib/pkgconfig/scorep-nccl-static.pc");
    let flags = tool::succeed(Command::new("pkg-config").arg("--libs").arg(flags));
    let program = moved.join("program");
    let mut compiler = Command::new("cc");
    compiler.arg("-std=gnu11").arg(sources().join("tests/c/nccl/nccl_host.c")).arg("-o").arg(&program);
    tool::succeed(compiler.args(flags.split_whitespace()));
    let summary = build.directory.path().join("summary.json");
    let mut host = tool::host(program.to_str().unwrap());
    host.args(["STATIC_PLUGIN", "7", "two_threads"]).env("NCCL_SCOREP_SUMMARY", &summary);
    tool::succeed(&mut host);
    assert!(std::fs::read_to_string(&summary).unwrap().contains("\"count\": 40000"));
    std::fs::rename(&moved, &build.prefix).unwrap();
    std::fs::remove_file(build.prefix.join("program")).unwrap();
    build.make("uninstall");
    assert!(!build.prefix.exists());
}

/// It says that nobody listens, so it has tried to send.
#[test]
#[ignore = "installation"]
fn with_opentelemetry_it_sends_its_figures() {
    let mut build = Build::new();
    beside_others(&mut build);
    build.configure(&["-DSCOREP_NCCL_ONLY=ON", "-DSCOREP_NCCL_OTEL=ON", "-DCMAKE_BUILD_TYPE=Debug"]);
    build.make("all");
    build.make("install");
    let mut host = tool::host(env!("HOST_ALL_REDUCE_HOST"));
    host.arg(build.prefix.join("lib/libnccl-profiler-scorep.so")).arg("5").env("NCCL_ALLGATHERV_ENABLE", "0");
    // the port of a service that nobody has
    let output =
        host.env("NCCL_SCOREP_OTEL", "on").env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.lines().count() == 1 && said.contains("(connection refused)"), "{said}");
}
