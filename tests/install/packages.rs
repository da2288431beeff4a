//! The tarball and the Debian package, used where they were unpacked and installed.

use super::build::{Build, files, succeed as done};
use super::{installed, links, program, run, summary, tool};
use std::fs::{create_dir_all, write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

fn packages() -> (Build, PathBuf) {
    let build = Build::new();
    build.configure(&[]);
    build.make("all");
    let packages = build.pack();
    (build, packages)
}

/// The one file whose name ends so.
fn one(directory: &Path, end: &str) -> PathBuf {
    let entries = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<PathBuf> = entries.filter(|path| path.to_string_lossy().ends_with(end)).collect();
    assert_eq!(found.len(), 1, "{end}: {found:?}");
    found[0].clone()
}

/// Holds that it is all there and works.
fn works(prefix: &Path) {
    assert_eq!(files(prefix), files(&installed()));
    links::hold(&prefix.join("lib"), tool::LIBRARY, &links::NAMES);
    assert_eq!(links::images(&prefix.join("lib"), &[tool::LIBRARY, links::NAMES[0]]), 1);
    let summary =
        summary(program(&prefix.join("bin/scorep-nccl")).args(["replay", "--format", "json"]).arg(run("nvlink4_ring")));
    assert!(!summary["operations"].as_array().unwrap().is_empty());
    for module in files(&prefix.join("share/modulefiles")) {
        let text = std::fs::read_to_string(prefix.join("share/modulefiles").join(module)).unwrap();
        assert!(!text.contains("/tmp/") && !text.contains(env!("CARGO_MANIFEST_DIR")), "{text}");
    }
}

#[test]
#[ignore = "installation"]
fn the_tarball_works_wherever_it_is_unpacked_and_the_package_where_it_is_installed() {
    let (build, packages) = packages();
    let directory = build.directory.path();

    let unpacked = directory.join("unpacked");
    create_dir_all(&unpacked).unwrap();
    done(
        Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(one(&packages, ".tar.gz"))
            .arg("--directory")
            .arg(&unpacked),
    );
    works(&one(&unpacked, ""));

    if !Path::new("/usr/bin/dpkg").is_file() {
        return tool::skip("no dpkg");
    }
    let package = one(&packages, ".deb");
    let depends = tool::succeed(Command::new("dpkg-deb").arg("--field").arg(&package).arg("Depends"));
    assert!(
        depends.contains("libc6") && depends.contains("libgcc-s1") && depends.matches(',').count() == 1,
        "{depends}"
    );

    // a system of its own, with nothing in it
    let system = directory.join("system");
    create_dir_all(system.join("var/lib/dpkg/updates")).unwrap();
    create_dir_all(system.join("var/lib/dpkg/info")).unwrap();
    write(system.join("var/lib/dpkg/status"), "").unwrap();
    // what the package has run there must not run here
    let programs = directory.join("programs");
    create_dir_all(&programs).unwrap();
    let ldconfig = programs.join("ldconfig");
    write(&ldconfig, "#!/bin/sh\necho ran >\"$DPKG_ROOT/ldconfig\"\n").unwrap();
    std::fs::set_permissions(&ldconfig, std::fs::Permissions::from_mode(0o755)).unwrap();
    let dpkg = |action: &[&str], last: &Path| {
        let mut command = Command::new("dpkg");
        command.arg(format!("--root={}", system.display())).args([
            "--force-script-chrootless",
            "--force-depends",
            "--force-not-root",
        ]);
        command.args(action).arg(last);
        command.env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", programs.display()));
        done(&mut command);
    };
    dpkg(&["--install"], &package);
    works(&system.join("usr"));
    assert!(system.join("ldconfig").is_file());
    dpkg(&["--purge"], Path::new("scorep-nccl"));
    assert!(!system.join("usr").exists(), "{:?}", files(&system.join("usr")));
}
