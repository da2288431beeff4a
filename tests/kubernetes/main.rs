//! The templates of examples/kubernetes and the files of examples/grafana, by the schemas of Kubernetes and Grafana.

use crate::support::tool;

use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// A script beside this file, run by the Python that `make test-packages` has installed the schemas for; else it is
/// said that the test is skipped.
fn script(name: &str) -> Option<Command> {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("dashboards/bin/python");
    if !place.is_file() {
        tool::skip("no schemas of Kubernetes and Grafana (`make test-packages`)");
        return None;
    }
    let mut command = Command::new(place);
    command.arg(root().join("tests/kubernetes").join(name));
    Some(command)
}

fn templates() -> Vec<PathBuf> {
    let entries = root().join("examples/kubernetes").read_dir().unwrap().map(|entry| entry.unwrap().path());
    let mut templates: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|ending| ending == "yaml")).collect();
    templates.sort();
    assert!(templates.len() >= 5, "{templates:?}");
    templates
}

/// Whether a checker says nothing of the files as they are, and names a fault that is planted in one of them.
fn check(checker: &str, files: &[PathBuf], faults: &[(&str, &str, &str, &str)]) {
    let Some(mut command) = script(checker) else { return };
    tool::succeed(command.args(files));
    for (file, right, wrong, named) in faults {
        let planted = tempfile::tempdir().unwrap();
        let path = files.iter().find(|path| path.ends_with(file)).unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(right), "{file} has no {right}");
        let place = planted.path().join(path.file_name().unwrap());
        std::fs::write(&place, text.replacen(right, wrong, 1)).unwrap();
        let output = script(checker).unwrap().arg(&place).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(named), "{file} with {wrong}: {said}");
    }
}

#[test]
fn templates_are_as_kubernetes_schemas_say() {
    let faults = [
        ("job.yaml", "completionMode", "completionsMode", "completionsMode"),
        ("pytorchjob.yaml", "volumeMounts", "volumeMount", "volumeMount"),
        ("pytorchjob.yaml", "pullPolicy", "pullpolicy", "pullpolicy"),
        ("job.yaml", "drop: [ALL]", "drop: [NET_RAW]", "drops not all"),
        ("job.yaml", "emptyDir: {medium: Memory", "emptyDir: {medium: \"\"", "/dev/shm"),
        ("pod-textfiles.yaml", "mountPath: /textfiles", "mountPath: /textfile", "NCCL_SCOREP_PROM_DIR"),
        ("pytorchjob.yaml", "value: /opt/scorep-nccl/", "value: /opt/scorep/", "NCCL_PROFILER_PLUGIN"),
        ("job.yaml", "name: NODE_NAME", "name: NODE", "NODE_NAME"),
        ("pod-watched.yaml", "shareProcessNamespace: true", "shareProcessNamespace: false", "for dead"),
        ("pod-watched.yaml", "restartPolicy: Always", "terminationMessagePath: /dev/null", "no sidecar"),
        ("pod-watched.yaml", "watch, /status,", "watch, /state,", "no sidecar"),
        ("pod-watched.yaml", "readOnly: true\n  containers:", "readOnly: false\n  containers:", "may write to it"),
    ];
    check("templates.py", &templates(), &faults);
}

#[test]
fn the_dashboard_and_its_provisioning_are_as_grafana_reads_them() {
    let files = ["scorep-nccl.json", "dashboards.yaml", "datasources.yaml"];
    let files = files.map(|name| root().join("examples/grafana").join(name));
    let faults = [
        ("scorep-nccl.json", "\"legendFormat\"", "\"legendsFormat\"", "legendsFormat"),
        ("scorep-nccl.json", "\"gridPos\"", "\"gridpos\"", "gridpos"),
        ("scorep-nccl.json", "\"templating\"", "\"templates\"", "templates"),
        ("dashboards.yaml", "providers", "provider", "providers"),
    ];
    check("dashboards.py", &files, &faults);
}

/// Settings that are none would be without effect, and only a line in the pod's log would say so.
#[test]
fn the_variables_of_the_templates_are_settings() {
    let settings = tool::succeed(tool::tool().args(["env", "--all"]));
    let pages = ["docs/otel.md", "docs/settings.md"].map(|page| std::fs::read_to_string(root().join(page)).unwrap());
    for path in templates() {
        let text = std::fs::read_to_string(&path).unwrap();
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("- name: "));
        for name in names.filter(|name| ["NCCL_", "OTEL_"].iter().any(|start| name.starts_with(start))) {
            let is_known = settings.contains(name) || pages.iter().any(|page| page.contains(&format!("`{name}`")));
            assert!(is_known, "{}: {name}", path.display());
        }
    }
}
