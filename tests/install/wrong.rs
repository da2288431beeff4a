//! What is wrong is told in one line that names it and the way out.

use super::build::Build;
use std::fs::{create_dir_all, write};
use std::os::unix::fs::PermissionsExt;

/// A cargo that says that.
fn cargo(build: &Build, name: &str, says: &str) -> String {
    let path = build.directory.path().join(name);
    write(&path, format!("#!/bin/sh\n{says}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("-DCARGO={}", path.display())
}

#[test]
#[ignore = "installation"]
fn options_that_cannot_be_followed_are_named() {
    let build = Build::new();
    let empty = build.directory.path().join("empty");
    create_dir_all(&empty).unwrap();
    let nowhere = format!("-DSCOREP_PREFIX={}", empty.display());
    for (option, said) in [
        (nowhere.as_str(), "SCOREP_PREFIX: there is no"),
        ("-DSCOREP_NCCL_VENDOR_DIR=/nowhere", "SCOREP_NCCL_VENDOR_DIR: there is no directory /nowhere"),
        ("-DCMAKE_INSTALL_LIBDIR=/lib", "CMAKE_INSTALL_LIBDIR: /lib is absolute"),
        (&cargo(&build, "old", "echo cargo 1.63.0"), "is 1.63.0, but Rust 1.88 or later is needed"),
        (&cargo(&build, "broken", "echo no toolchain >&2; exit 1"), "does not run (no toolchain)"),
    ] {
        let told = Build::new().refuse(&[option]);
        assert!(told.contains(said) && told.matches("CMake Error").count() == 1, "{option}: {told}");
    }
}

#[test]
#[ignore = "installation"]
fn without_cargo_it_says_what_to_install() {
    if std::path::Path::new("/usr/bin/cargo").exists() {
        return super::tool::skip("this system has a cargo that CMake always finds");
    }
    let mut build = Build::new();
    let home = build.directory.path().to_path_buf();
    for (name, value) in [("PATH", "/usr/bin:/bin".into()), ("HOME", home.clone()), ("CARGO_HOME", home)] {
        build.environment.push((name.into(), value.into()));
    }
    let told = build.refuse(&[]);
    assert!(told.contains("cargo is not found: install Rust 1.88 or later, or name it with -DCARGO=FILE"), "{told}");
}
