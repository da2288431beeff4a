//! The library's settings in this program's environment, which its children inherit.

use common::config::{self, Settings};
use present::output;
use std::process::Command;

/// The settings.
#[derive(Debug)]
pub(crate) struct Inherited {
    /// Names of the settings whose values are not understood.
    not_understood: Vec<String>,
}

impl Inherited {
    /// Reads the settings. Reports each value that is not understood, once in this process.
    pub(crate) fn read() -> Self {
        let complaints = Settings::parse(|name| std::env::var_os(name)).1;
        complaints.iter().for_each(|line| output::once(&format!("scorep-nccl: {line}")));
        // a complaint begins with the setting's name and `=`
        let names = complaints.iter().filter_map(|line| line.split_once('='));
        Self { not_understood: names.map(|(name, _)| name.to_owned()).collect() }
    }

    /// Returns whether children inherit a value for this setting: it is neither blank nor wrong.
    pub(crate) fn has(&self, name: &str) -> bool {
        std::env::var_os(name).is_some_and(|value| config::is_set(&value))
            && self.not_understood.iter().all(|other| other != name)
    }

    /// Removes the reported settings from a child's environment, so that the child does not report them again. The child
    /// reads no settings file: that is for jobs.
    pub(crate) fn give(&self, child: &mut Command) {
        child.env("NCCL_SCOREP_SETTINGS", "off");
        for name in &self.not_understood {
            child.env_remove(name);
        }
    }
}
