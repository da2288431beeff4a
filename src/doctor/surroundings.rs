//! The environment that the checks examine.

use common::config::{GivenSettings, Settings, SettingsFile};
use scorep_substrate::settings;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// Environment variables of a job, and its settings file.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    variables: BTreeMap<OsString, OsString>,
    file: Option<SettingsFile>,
}

impl Surroundings {
    /// Returns the variables of this process, and the settings file that it would read. `library` is the installed
    /// library.
    pub(crate) fn own(library: Option<&Path>) -> Self {
        let mut own = Self { variables: std::env::vars_os().collect(), file: None };
        own.file = SettingsFile::read(|name| own.raw(name), library);
        own
    }

    /// Returns the settings file, if there is one.
    pub(crate) fn file(&self) -> Option<&SettingsFile> {
        self.file.as_ref()
    }

    /// Returns the value of a variable.
    pub(crate) fn raw(&self, name: &str) -> Option<OsString> {
        self.variables.get(&OsString::from(name)).cloned()
    }

    /// Returns the value of a variable as text; `None` if it is unset or blank.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.raw(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.trim().is_empty())
    }

    /// Returns all names that are valid text.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.variables.keys().filter_map(|name| name.to_str())
    }

    /// Returns the entries of a list, split at Score-P's separator.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        let separator = self.text(&separator_of(name)).unwrap_or_else(|| ",".into());
        self.text(name).map(|list| list.split(&separator).map(str::to_owned).collect()).unwrap_or_default()
    }

    /// Returns the library's settings, and a line for each one that is not understood.
    pub(crate) fn settings(&self) -> (Settings, Vec<String>) {
        self.given().settings()
    }

    /// Returns the settings as they are given, with their origins.
    pub(crate) fn given(&self) -> GivenSettings<'_, impl Fn(&str) -> Option<OsString>> {
        GivenSettings { lookup: |name: &str| self.raw(name), file: self.file() }
    }

    /// Returns whether Score-P takes the value of a variable for true.
    pub(crate) fn is_on(&self, name: &str, default: bool) -> bool {
        self.raw(name).map_or(default, |value| settings::is_true(&value.to_string_lossy()))
    }
}

/// Returns Score-P's variable with the separator of a list; lists of metric tokens use the metric plugins' separator.
fn separator_of(name: &str) -> String {
    if name.starts_with("SCOREP_METRIC_") { "SCOREP_METRIC_PLUGINS_SEP".into() } else { format!("{name}_SEP") }
}

#[cfg(test)]
impl Surroundings {
    /// Returns an environment with these variables.
    pub(crate) fn of(pairs: &[(&str, &str)]) -> Self {
        Self { variables: pairs.iter().map(|(name, value)| (name.into(), value.into())).collect(), file: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_separated_as_score_p_does() {
        let around = Surroundings::of(&[
            ("SCOREP_METRIC_PLUGINS", "a;b"),
            ("SCOREP_METRIC_PLUGINS_SEP", ";"),
            ("SCOREP_METRIC_NCCL_PLUGIN", "x;y"),
            ("SCOREP_SUBSTRATE_PLUGINS", "s,t"),
        ]);
        let names = ["SCOREP_METRIC_PLUGINS", "SCOREP_METRIC_NCCL_PLUGIN", "SCOREP_SUBSTRATE_PLUGINS", "SCOREP_NONE"];
        assert_eq!(names.map(|name| around.list(name).join(" ")), ["a b", "x y", "s t", ""]);
    }

    #[test]
    fn a_switch_that_is_not_set_has_its_default() {
        let around = Surroundings::of(&[("YES", "1"), ("NO", "no"), ("EMPTY", "")]);
        assert_eq!(["YES", "NO", "EMPTY", "UNSET"].map(|name| around.is_on(name, true)), [true, false, false, true]);
    }
}
