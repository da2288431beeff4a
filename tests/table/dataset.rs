//! The directory with the tables of several recordings: who has a table there, who has none, and who may write there.

use crate::support::{edited, tool};
use crate::table::{rows, table};
use report::table::Tables;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

#[test]
fn a_bad_recording_is_named_and_left_out() {
    let (directory, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let captures = tool::captures(&tool::run("nodes2x2_graph"));
    let copy = |capture: &PathBuf| directory.path().join(capture.file_name().unwrap());
    for capture in &captures {
        fs::copy(capture, copy(capture)).unwrap();
    }
    let cut = copy(&captures[2]);
    let bytes = fs::read(&cut).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let output = table(&[directory.path()], to.path()).output().unwrap();
    let [printed, said] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert_eq!(printed, format!("3 tables in {}\n", to.path().display()));
    assert!(said.contains(&format!("{}:", cut.display())) && said.contains("the gzip data ends too early"), "{said}");
    assert!(said.contains("1 of 4 recordings have no table, as said above"), "{said}");
    assert_eq!(rows(&Tables::open(&[to.path().into()])).len(), 3);

    // of one that is cut off alone there is no table at all
    let output = table(&[&cut], &to.path().join("none")).output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
}

/// As ranks of a job do, each with its own recording.
#[test]
fn several_programs_fill_one_dataset() {
    let to = TempDir::new().unwrap();
    let dataset = to.path().join("new/tables");
    let captures = tool::captures(&tool::run("nvlink4_ring"));
    let mut programs: Vec<_> = captures
        .iter()
        .map(|capture| table(&[capture], &dataset).stdout(std::process::Stdio::null()).spawn().unwrap())
        .collect();
    assert!(programs.iter_mut().all(|program| program.wait().unwrap().success()));
    let together = rows(&Tables::open(std::slice::from_ref(&dataset)));
    assert_eq!(together.len(), 4);
    // again: each table is replaced by the same one
    tool::succeed(table(&[&tool::run("nvlink4_ring")], &dataset).args(["--jobs", "1"]));
    assert_eq!(rows(&Tables::open(&[dataset])), together);
}

#[test]
fn recordings_of_one_process_are_refused() {
    let (directory, to) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let capture = tool::captures(&tool::run("nvlink4_ring")).remove(0);
    let copy = directory.path().join("copy.jsonl.gz");
    fs::copy(&capture, &copy).unwrap();
    let output = table(&[&capture, &copy], to.path()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("are recordings of one process"), "{said}");
    assert_eq!(to.path().read_dir().unwrap().count(), 0);
}

/// Ids that differ in letters which no directory's name has.
#[test]
fn each_process_has_a_table_of_its_own_whatever_its_id_is() {
    let to = TempDir::new().unwrap();
    let captures = tool::captures(&tool::run("nvlink2_graph"));
    let named = |capture: &Path, id: &str| {
        edited::Edited::of(capture, |line| {
            if line["cb"] == "meta" {
                line["process"] = serde_json::json!({"id": id});
            }
        })
    };
    let recordings = [named(&captures[0], "a/b"), named(&captures[1], "a_b")].map(|it| (it.path(), it));
    let paths: Vec<&Path> = recordings.iter().map(|(path, _)| path.as_path()).collect();
    assert_eq!(tool::succeed(&mut table(&paths, to.path())).split(' ').next(), Some("2"));
    let mut names: Vec<_> = to.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["process=a%2Fb", "process=a_b"]);
    let ids: BTreeSet<String> =
        Tables::open(&[to.path().into()]).job.processes.into_iter().map(|process| process.id).collect();
    assert_eq!(ids, BTreeSet::from(["a/b".into(), "a_b".into()]));
}

/// Directories are their owner's also where the umask leaves everything to others, and around them is all open.
#[test]
fn directories_are_not_for_others_to_write_to() {
    let around = TempDir::new().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(around.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let to = around.path().join("new/tables");
    let command = table(&[&tool::run("nvlink2_graph")], &to);
    let mut open = tool::within("sh", &["-c", "umask 0; exec \"$@\"", "sh"].map(OsStr::new), &command);
    tool::succeed(&mut open);
    let process = to.read_dir().unwrap().next().unwrap().unwrap().path();
    assert_eq!([to.parent().unwrap(), &to, &process].map(mode), [0o755; 3]);
}
