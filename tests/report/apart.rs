//! Outputs that are inputs, too: refused before any work, and the input stays as it is.

use crate::report::{ran, report, table};
use crate::support::tool;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

fn refused(command: &mut Command, input: &Path) {
    let before = fs::read(input).unwrap();
    let (status, printed, said) = ran(command);
    assert_eq!((status, printed.as_str()), (Some(1), ""), "{command:?}: {said}");
    assert!(said.contains("is an input, and would be replaced: name another place for the output"), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert_eq!(fs::read(input).unwrap(), before, "{command:?} has replaced it");
}

#[test]
fn an_input_is_never_replaced() {
    let directory = TempDir::new().unwrap();
    let at = |name: &str| directory.path().join(name);
    let captures = tool::captures(&tool::run("nvlink2_graph"));
    let [one, other] = [0, 1].map(|rank| at(&format!("all.{rank}.json")));
    for (capture, summary) in captures.iter().zip([&one, &other]) {
        tool::succeed(tool::tool().arg("replay").arg(capture).arg("--summary").arg(summary));
    }
    // what a shell makes of `report --html all.*.json`
    refused(tool::tool().arg("report").arg("--html").args([&one, &other]).arg(&one), &one);
    for option in ["--html", "--json", "--perfetto"] {
        refused(report([&one, &other]).arg(option).arg(&other), &other);
    }
    // by another name, and by a way through a link
    fs::hard_link(&one, at("second")).unwrap();
    symlink(directory.path(), at("around")).unwrap();
    for name in ["second", "around/all.0.json", "around/around/second"] {
        refused(report([&one]).arg("--html").arg(at(name)), &one);
    }
    // files of facts, and those among a directory's
    fs::write(at("dimensions"), "DP name dp\n").unwrap();
    refused(
        report([&one]).arg("--dimensions").arg(at("dimensions")).arg("--json").arg(at("dimensions")),
        &at("dimensions"),
    );
    table(&tool::run("nvlink2_graph"), &at("tables"));
    let own = at("tables").read_dir().unwrap().next().unwrap().unwrap().path().join("operations.parquet");
    refused(report([at("tables")]).arg("--perfetto").arg(&own), &own);
    refused(report([&own]).arg("--parquet").arg(own.parent().unwrap()), &own);
    refused(tool::tool().arg("replay").arg(&captures[0]).arg("--summary").arg(&captures[0]), &captures[0]);
    let (status, _, said) = ran(tool::tool().arg("compare").args([&one, &other]).arg("--json").arg(&one));
    assert_eq!(status, Some(2), "{said}");
    assert!(said.contains("would be replaced"), "{said}");
    // beside the inputs there is room
    tool::succeed(report([&one, &other]).arg("--html").arg(at("page.html")).arg("--csv").arg(directory.path()));
}
