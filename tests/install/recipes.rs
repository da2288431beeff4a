//! The recipes in packaging/: Python that can be read, of this version and with the options that CMake knows.

use super::build::sources;
use super::tool;
use std::process::Command;

#[test]
fn recipes_are_of_this_version_and_can_be_read() {
    let version = env!("CARGO_PKG_VERSION");
    let easyconfig = format!("packaging/easybuild/scorep-nccl-{version}-GCCcore-14.3.0.eb");
    for recipe in ["packaging/spack/package.py", &easyconfig] {
        let text = std::fs::read_to_string(sources().join(recipe)).unwrap();
        assert!(
            text.contains(&format!("version(\"{version}\"")) || text.contains(&format!("version = '{version}'")),
            "{recipe}"
        );
        assert!(text.contains("1.88"), "{recipe}: another Rust than the workspace's?");
        let cmake = std::fs::read_to_string(sources().join("CMakeLists.txt")).unwrap();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        for option in words.filter(|word| word.starts_with("SCOREP_NCCL_")) {
            assert!(cmake.contains(option), "{recipe}: {option}");
        }
        if Command::new("python3").arg("--version").output().is_err() {
            tool::skip("no python3");
            continue;
        }
        tool::succeed(
            Command::new("python3")
                .args(["-c", "compile(open(__import__('sys').argv[1]).read(), '', 'exec')"])
                .arg(sources().join(recipe)),
        );
    }
}
