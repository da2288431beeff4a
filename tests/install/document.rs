//! docs/install.md: every command in it, as it is written.

use super::build::{sources, target, undisturbed};
use super::{alone, links, modules, tool};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const DOCUMENT: &str = include_str!("../../docs/install.md");

/// The blocks of commands below a heading.
fn blocks(heading: &str) -> Vec<String> {
    let (_, section) = DOCUMENT.split_once(&format!("# {heading}\n")).unwrap();
    let section = section.split("\n#").next().unwrap();
    let paragraphs = section.split("\n\n").filter(|paragraph| paragraph.trim_start_matches('\n').starts_with("    "));
    paragraphs.map(|block| block.lines().map(|line| format!("{}\n", line.trim())).collect()).collect()
}

/// A directory that has the sources, as links, so that what the commands build is not the repository's.
fn directory(path: PathBuf) -> PathBuf {
    let _ = std::fs::remove_dir_all(&path);
    std::fs::create_dir_all(&path).unwrap();
    for entry in sources().read_dir().unwrap() {
        let entry = entry.unwrap();
        if !["build", "target", ".git"].iter().any(|name| entry.file_name() == *name) {
            std::os::unix::fs::symlink(entry.path(), path.join(entry.file_name())).unwrap();
        }
    }
    path
}

/// Runs commands there, and tells what they print; what they say where they fail.
fn run(directory: &Path, commands: &str, environment: &[(&str, &OsStr)]) -> Result<String, String> {
    let mut command = undisturbed("bash");
    command.args(["--noprofile", "--norc", "-e", "-u", "-o", "pipefail", "-c", commands]).current_dir(directory);
    let output = command.envs(environment.iter().copied()).output().unwrap();
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if output.status.success() {
        Ok(said(&output.stdout))
    } else {
        Err(format!("{commands}{}{}", said(&output.stdout), said(&output.stderr)))
    }
}

#[test]
#[ignore = "installation"]
fn what_the_document_says_of_building_installing_and_packing_works_as_it_is_written() {
    let temporary = tempfile::tempdir().unwrap();
    let here = directory(temporary.path().join("sources"));
    let [prefix, stage] = ["prefix", "stage"].map(|name| temporary.path().join(name));
    let environment =
        [("PREFIX", prefix.as_os_str()), ("STAGE", stage.as_os_str()), ("CARGO_TARGET_DIR", target().as_os_str())];
    let run = |commands: &str| run(&here, commands, &environment).unwrap();

    let [build, staged] = blocks("Building and installing").try_into().unwrap();
    run(&build);
    links::hold(&prefix.join("lib"), tool::LIBRARY, &links::NAMES);
    run(&staged);
    assert!(stage.join(prefix.strip_prefix("/").unwrap()).join("bin/scorep-nccl").is_file());

    let program = format!("{}\n", prefix.join("bin/scorep-nccl").display());
    let [with_modules, without] = blocks("Using it").try_into().unwrap();
    assert_eq!(run(&format!("{without}command -v scorep-nccl")), program);
    if Path::new(modules::LMOD).is_file() {
        // which reads variables that are not set
        assert_eq!(run(&format!("set +u; source {}\n{with_modules}command -v scorep-nccl", modules::LMOD)), program);
    } else {
        tool::skip("no Lmod");
    }

    let [test] = blocks("Testing it").try_into().unwrap();
    assert!(run(&test).contains("100% tests passed, 0 tests failed out of 1"));

    let [pack, unpack] = blocks("Packages").try_into().unwrap();
    run(&pack);
    run(&unpack);
    links::hold(&temporary.path().join("prefix-unpacked/lib"), tool::LIBRARY, &links::NAMES);

    let [remove] = blocks("Uninstalling").try_into().unwrap();
    run(&remove);
    assert!(!prefix.exists());
}

/// Always in the same place, so that a second run finds the crates as it left them. The build directory has been
/// configured for NCCL's plugin alone, which builds in a fraction of the time: cargo wants each crate of Cargo.lock
/// there, the tool's too.
#[test]
#[ignore = "installation"]
fn without_a_network_it_builds_from_what_was_fetched_before() {
    let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let here = directory(temporary.join("install-offline"));
    let [fetch, build] = blocks("Without a network").try_into().unwrap();
    if let Err(said) = run(&here, &fetch, &[]) {
        return tool::skip(&format!("no network? {said}"));
    }
    let home = tempfile::tempdir().unwrap();
    let built = temporary.join("install-offline-target");
    let environment = [
        ("CARGO_HOME", home.path().as_os_str()),
        ("CARGO_NET_OFFLINE", OsStr::new("true")),
        ("CARGO_TARGET_DIR", built.as_os_str()),
        // quicker
        ("CMAKE_BUILD_TYPE", OsStr::new("Debug")),
        ("CARGO_PROFILE_DEV_DEBUG", OsStr::new("0")),
    ];
    run(&here, "cmake -S . -B build/offline -DSCOREP_NCCL_ONLY=ON\n", &environment).unwrap();
    run(&here, &build, &environment).unwrap();
    assert!(!home.path().join("registry").exists());
    alone::works(&built.join("shipped/debug").join(alone::LIBRARY), &home.path().join("summary.json"));
}

/// What the options do is in one table, and what the table says exists.
#[test]
fn every_option_is_in_the_document() {
    for file in ["CMakeLists.txt", "cmake/FindScoreP.cmake", "cmake/Cargo.cmake"] {
        let text = std::fs::read_to_string(sources().join(file)).unwrap();
        let cached = text.lines().filter(|line| line.starts_with("option(") || line.contains(" CACHE PATH "));
        for line in cached {
            let name = line.split(['(', ' ']).nth(1).unwrap();
            assert!(DOCUMENT.contains(&format!("| `{name}` |")), "{name} of {file}");
        }
    }
}
