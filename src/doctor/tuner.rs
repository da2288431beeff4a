//! Checks of NCCL's tuner: this library, which notes NCCL's predictions, and a tuner of the user's behind it.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use crate::installed::loader::{self, Loaded};
use nccl_plugin::release::Release;
use std::path::Path;

/// NCCL's variable.
const NCCL: &str = "NCCL_TUNER_PLUGIN";
/// This library's setting.
const OWN: &str = "NCCL_SCOREP_TUNER";
/// The file that NCCL loads as this library.
const FILE: &str = "libnccl-profiler-scorep.so";
/// First release whose predictions the library notes: the first with profiler plugins.
const FIRST: Release = Release(22_300);

/// What a name leads to by NCCL's rules.
enum Tuner {
    Ours,
    Another,
    /// The loader's words.
    Nothing(String),
}

/// Returns all findings on the two variables.
pub(crate) fn check(around: &Surroundings) -> Vec<DoctorFinding> {
    let named = |variable: &str| around.text(variable).filter(|name| !is_no_file(name)).map(|name| (led(&name), name));
    let mut findings = vec![];
    let nccl = named(NCCL);
    if let Some((Tuner::Nothing(words), name)) = &nccl {
        let cure = match name.as_str() {
            "scorep" => format!("{NCCL}={FILE}: the short name is that of profiler plugins alone"),
            _ => "name a tuner plugin that the loader finds, or its path".to_owned(),
        };
        let what = format!("{NCCL}={name} is no library that loads: {words}");
        findings.push(DoctorFinding::new(Code::TunerMissing, what, cure));
    }
    let user = named(OWN);
    let wrong = match &user {
        Some((Tuner::Nothing(words), name)) => Some(format!("{OWN}={name} is no library that loads: {words}")),
        Some((Tuner::Ours, name)) => Some(format!("{OWN}={name} is this library itself")),
        _ => None,
    };
    let cure = "name the tuner that the job had without this library, or leave the setting out";
    findings.extend(wrong.map(|what| DoctorFinding::new(Code::TunerMissing, what, cure)));
    if around.text(OWN).is_some() && !is_ours(around) {
        let what = format!("{OWN} has no effect: {NCCL} does not name this library");
        findings.push(DoctorFinding::new(Code::TunerUnused, what, format!("{NCCL}={FILE}, or leave the setting out")));
    }
    findings
}

/// Returns the finding on a release without predictions, where this library is to be its tuner.
pub(super) fn of_release(around: &Surroundings, release: Release) -> Option<DoctorFinding> {
    let what = format!("NCCL {release} hands this library no predictions");
    let is_old = release < FIRST && is_ours(around);
    is_old.then(|| DoctorFinding::new(Code::TunerOld, what, format!("use NCCL {FIRST} or later, or unset {NCCL}")))
}

/// Returns whether NCCL's tuner is this library. Only the program knows what it is linked with.
fn is_ours(around: &Surroundings) -> bool {
    let name = around.text(NCCL);
    name.is_some_and(|name| name.eq_ignore_ascii_case("STATIC_PLUGIN") || matches!(led(&name), Tuner::Ours))
}

/// Returns whether a name stands for no tuner, or for the program.
fn is_no_file(name: &str) -> bool {
    ["none", "STATIC_PLUGIN"].iter().any(|it| name.eq_ignore_ascii_case(it))
}

/// Loads the names that NCCL tries: the name as it is and, unless it is a path or a library's file name, as a short name.
fn led(name: &str) -> Tuner {
    let mut words = Vec::new();
    let is_whole = name.contains('/') || (name.starts_with("lib") && name.ends_with(".so"));
    let short = (!is_whole).then(|| format!("libnccl-tuner-{name}.so"));
    for tried in std::iter::once(name.to_owned()).chain(short) {
        match loader::load(Path::new(&tried)) {
            Loaded::Ours { .. } => return Tuner::Ours,
            Loaded::Other => return Tuner::Another,
            Loaded::Nothing(said) => words.push(said),
        }
    }
    Tuner::Nothing(words.join("; "))
}
