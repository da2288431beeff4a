//! What the house measures: its lines, and how many types share their names.

use crate::architecture::source::{Module, Name};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Most lines of a file, its tests included.
pub(crate) const MOST_LINES: usize = 350;

/// Returns the files of Rust and C under a directory that have more lines, with their numbers.
pub(crate) fn long_files(directory: &Path) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let is_source = path.extension().is_some_and(|ending| ["rs", "c", "h"].iter().any(|it| ending == *it));
        if path.is_dir() {
            found.extend(long_files(&path));
        } else if is_source {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            found.extend((lines > MOST_LINES).then(|| (path.display().to_string(), lines)));
        }
    }
    found
}

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
