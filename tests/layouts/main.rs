//! Every member of every structure of NCCL's profiler interface, v1 to v7, lies where a C compiler lays it: that of
//! declarations of our own, and that of NCCL's headers where `NCCL_PROFILER_HEADERS` names a directory of them
//! (profiler_v1.h and so on).
//!
//! No member can be forgotten: the lists of this side declare the structures, the C program prints what it declares,
//! and NCCL's headers are read whole.

mod headers;
mod members;
use crate::support::skip;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// Offset and size, by `version.structure.member`.
type Lines = BTreeMap<String, (usize, usize)>;

/// The lines `name offset size` that a program prints.
fn printed_by(program: &Path) -> Lines {
    let output = Command::new(program).output().unwrap();
    assert!(output.status.success(), "{}: {}", program.display(), output.status);
    let mut lines = Lines::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [name, offset, size] = words[..] else { panic!("{line}") };
        let known = lines.insert(name.into(), (offset.parse().unwrap(), size.parse().unwrap()));
        assert_eq!(known, None, "{line} comes twice");
    }
    lines
}

/// One sentence for every line that is missing, extra or different.
fn differences(ours: &Lines, theirs: &Lines) -> Vec<String> {
    let names = ours.keys().chain(theirs.keys().filter(|name| !ours.contains_key(*name)));
    let differ = names.filter(|&name| ours.get(name) != theirs.get(name));
    differ.map(|name| format!("{name}: {:?} in Rust, {:?} in C", ours.get(name), theirs.get(name))).collect()
}

#[test]
fn structures_lie_as_our_own_declarations_in_c() {
    let theirs = printed_by(Path::new(env!("HOST_PROFILER_LAYOUTS")));
    assert_eq!(differences(&members::lines(), &theirs), Vec::<String>::new());
}

#[test]
fn structures_lie_as_in_nccls_headers() {
    let Some(directory) = std::env::var_os("NCCL_PROFILER_HEADERS") else {
        return skip::leave_out("NCCL_PROFILER_HEADERS names no directory of NCCL's headers");
    };
    let (versions, theirs) = headers::probe(Path::new(&directory));
    let version = |name: &str| name[1..].split('.').next().and_then(|number| number.parse::<u32>().ok()).unwrap();
    let ours = members::lines().into_iter().filter(|(name, _)| versions.contains(&version(name))).collect();
    assert_eq!(differences(&ours, &theirs), Vec::<String>::new());
    println!("compared {} lines of versions {versions:?}", theirs.len());
}
