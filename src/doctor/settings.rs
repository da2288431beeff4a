//! The plugin's own settings: values that are not understood, names that are none, places that cannot be written to.

use super::finding::{Code, Finding};
use super::surroundings::Surroundings;
use common::config::SETTINGS;
use common::path;
use std::path::Path;

const PREFIX: &str = "NCCL_SCOREP_";
/// How much of a name may differ for it to be what was meant: 1 is all alike.
const ALIKE: f64 = 0.8;

/// All findings on the settings.
pub(crate) fn check(around: &Surroundings) -> Vec<Finding> {
    let (settings, complaints) = around.settings();
    let mut findings: Vec<Finding> = complaints
        .into_iter()
        .map(|line| Finding::new(Code::SettingValue, line, "`scorep-nccl env --all` lists the settings"))
        .collect();
    let unknown = around.names().filter(|name| name.starts_with(PREFIX) && !SETTINGS.iter().any(|setting| setting.name == *name));
    findings.extend(unknown.map(|name| {
        let cure = nearest(name)
            .map_or_else(|| "`scorep-nccl env --all` lists the settings".into(), |near| format!("{near} may be meant"));
        Finding::new(Code::SettingUnknown, format!("{name} is no setting"), cure)
    }));
    let summary = settings.summary.as_deref().map(path::expand);
    let summary = summary.as_deref().and_then(Path::parent).map(|directory| ("NCCL_SCOREP_SUMMARY", directory));
    let record = settings.record.as_deref().and_then(existing).map(|directory| ("NCCL_SCOREP_RECORD", directory));
    findings.extend(summary.into_iter().chain(record).filter_map(|(name, directory)| writable(name, directory)));
    findings
}

fn nearest(name: &str) -> Option<&'static str> {
    let likeness = |setting: &str| strsim::jaro_winkler(name.trim_start_matches(PREFIX), setting.trim_start_matches(PREFIX));
    let names = SETTINGS.iter().map(|setting| (likeness(setting.name), setting.name));
    names.filter(|(alike, _)| *alike >= ALIKE).max_by(|first, second| first.0.total_cmp(&second.0)).map(|(_, name)| name)
}

/// The directory itself, or the nearest above it that is there.
fn existing(path: &Path) -> Option<&Path> {
    path.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path }).find(|path| path.exists())
}

/// Nothing, if files can be made in the directory: tried by making one.
fn writable(name: &str, directory: &Path) -> Option<Finding> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let error = tempfile::tempfile_in(directory).err()?;
    let what = format!("{name}: nothing can be written into {}: {error}", directory.display());
    Some(Finding::new(Code::SettingPath, what, "make the directory, or name another one, on all nodes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_setting_is_recognised() {
        assert_eq!(nearest("NCCL_SCOREP_PRESETS"), Some("NCCL_SCOREP_PRESET"));
        assert_eq!(nearest("NCCL_SCOREP_SUMARY"), Some("NCCL_SCOREP_SUMMARY"));
        assert_eq!(nearest("NCCL_SCOREP_QQ"), None);
    }
}
