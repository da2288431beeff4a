//! What the house measures: its lines, and how many types share their names.

use crate::source::{Module, Name};
use std::collections::BTreeMap;
use std::fs;
use syn::visit::{self, Visit};
use syn::{Ident, Item};

/// Returns the lines of a crate's files without those of its tests.
pub(crate) fn product_lines(modules: &BTreeMap<Name, Module>) -> usize {
    modules.values().map(|module| fs::read_to_string(&module.file).unwrap().lines().count() - module.test_lines).sum()
}

/// Where each name of a type is declared: files of modules outside of tests.
#[derive(Default)]
pub(crate) struct Types(BTreeMap<String, Vec<String>>);

impl Types {
    /// Adds the types of a crate's modules.
    pub(crate) fn add(&mut self, modules: &BTreeMap<Name, Module>) {
        for module in modules.values() {
            let parsed = syn::parse_file(&fs::read_to_string(&module.file).unwrap()).unwrap();
            let mut declared = Declared::default();
            parsed.items.iter().for_each(|item| declared.visit_item(item));
            for name in declared.0 {
                self.0.entry(name).or_default().push(module.file.display().to_string());
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

#[derive(Default)]
struct Declared(Vec<String>);

impl Declared {
    fn note(&mut self, name: &Ident) {
        self.0.push(name.to_string());
    }
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_item(&mut self, item: &'ast Item) {
        if crate::source::is_for_tests(crate::source::attributes(item)) {
            return;
        }
        match item {
            Item::Struct(of) => self.note(&of.ident),
            Item::Enum(of) => self.note(&of.ident),
            Item::Union(of) => self.note(&of.ident),
            Item::Trait(of) => self.note(&of.ident),
            Item::Type(of) => self.note(&of.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }
}
