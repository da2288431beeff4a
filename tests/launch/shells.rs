//! What `scorep-nccl env` prints, in each shell that may read it.

use crate::support::site::{Site, texts};
use crate::support::tool;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

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
    let script =
        r#"eval "$(scorep-nccl env)"; test "$NCCL_PROFILER_PLUGIN" = libnccl-profiler-scorep.so && scorep-nccl env"#;
    let path = std::env::join_paths([site.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
    let mut shell = Command::new("/bin/sh");
    shell.env_clear().env("PATH", path).args(["-c", script]);
    assert_eq!(printed(&mut shell), "");
}

/// The commands are those of docs/install.md for each shell.
#[test]
fn other_shells_read_it_as_documented() {
    let site = Site::new();
    let page = include_str!("../../docs/install.md").replace("\\|", "|");
    for (shell, statement) in [("fish", "scorep-nccl env | source"), ("tcsh", "eval \"`scorep-nccl env`\"")] {
        assert!(page.contains(statement), "{statement}");
        let path = std::env::join_paths([site.path("bin"), "/usr/bin".into(), "/bin".into()]).unwrap();
        let mut command = Command::new(shell);
        command.env_clear().env("PATH", path).env("HOME", site.path("home")).env("SCOREP_METRIC_PLUGINS", "a  b,it's");
        command.args(["-c", &format!("{statement}; printenv NCCL_PROFILER_PLUGIN; printenv SCOREP_METRIC_PLUGINS")]);
        match command.output() {
            Ok(output) => {
                let expected = "libnccl-profiler-scorep.so\na  b,it's,nccl_plugin\n";
                assert_eq!(texts(&output), (expected.into(), String::new()), "{shell}");
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
