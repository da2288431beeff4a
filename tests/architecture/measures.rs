//! What the house measures: its lines, and how many types share their names.

use crate::source::{Module, Name};
use std::collections::BTreeMap;

/// Returns the lines of a crate's files, without those of tests.
pub(crate) fn product_lines(modules: &BTreeMap<Name, Module>) -> usize {
    modules.values().map(|module| module.lines).sum()
}

/// Where each name of a type is declared: files of modules outside of tests.
#[derive(Default)]
pub(crate) struct Types(BTreeMap<String, Vec<String>>);

impl Types {
    /// Adds the types of a crate's modules.
    pub(crate) fn add(&mut self, modules: &BTreeMap<Name, Module>) {
        for module in modules.values() {
            for name in &module.types {
                self.0.entry(name.clone()).or_default().push(module.file.display().to_string());
            }
        }
    }

    /// Returns the number of all declarations.
    pub(crate) fn all(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Returns the names that more than one type bears, with the files, the most frequent first.
    pub(crate) fn shared(&self) -> Vec<(&str, &[String])> {
        let shared = self.0.iter().filter(|(_, files)| files.len() > 1);
        let mut shared: Vec<(&str, &[String])> = shared.map(|(name, files)| (&**name, &**files)).collect();
        shared.sort_by_key(|(_, files)| std::cmp::Reverse(files.len()));
        shared
    }
}
