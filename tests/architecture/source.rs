//! A crate's files as the compiler finds them, and the paths that each file names outside of tests.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Meta, UseTree, Visibility};

/// A module's name below the crate's root: `["collect", "round"]`; empty for the root itself.
pub(crate) type Name = Vec<String>;

/// A path as written in a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

/// A module with a file of its own.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) file: PathBuf,
    /// Paths that the module's code names.
    pub(crate) paths: Vec<Named>,
    /// Re-exports: the item's name in this module, and its path.
    pub(crate) handed_on: Vec<(String, Named)>,
    /// Lines of the file without its tests.
    pub(crate) lines: usize,
    /// Names of the types that the file declares.
    pub(crate) types: Vec<String>,
}

/// Reads all modules of a crate, beginning with the file of its root.
pub(crate) fn modules(root: &Path) -> BTreeMap<Name, Module> {
    let mut found = BTreeMap::new();
    let mut open = vec![(Name::new(), root.to_owned(), root.parent().unwrap().to_owned())];
    while let Some((name, file, directory)) = open.pop() {
        let text = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        let mut reading = Reading::default();
        parsed.items.iter().for_each(|item| reading.visit_item(item));
        for (child, path) in reading.children {
            let candidates = match path {
                Some(path) => vec![file.parent().unwrap().join(path)],
                None => vec![directory.join(format!("{child}.rs")), directory.join(&child).join("mod.rs")],
            };
            let file = candidates.into_iter().find(|file| file.is_file());
            let file = file.unwrap_or_else(|| panic!("{}: no file of the module {child}", directory.display()));
            open.push(([name.clone(), vec![child.clone()]].concat(), file, directory.join(&child)));
        }
        let Reading { paths, handed_on, test_lines, types, .. } = reading;
        found.insert(name, Module { file, paths, handed_on, lines: text.lines().count() - test_lines, types });
    }
    found
}

#[derive(Default)]
struct Reading {
    /// Modules with files of their own, and the file if `#[path]` gives one.
    children: Vec<(String, Option<String>)>,
    paths: Vec<Named>,
    handed_on: Vec<(String, Named)>,
    test_lines: usize,
    types: Vec<String>,
    /// Modules within the file around the place that is read.
    within: usize,
}

impl Reading {
    fn used(&mut self, tree: &UseTree, before: &[String], is_handed_on: bool) {
        match tree {
            UseTree::Path(path) => {
                self.used(&path.tree, &[before, &[path.ident.to_string()]].concat(), is_handed_on);
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.used(tree, before, is_handed_on)),
            UseTree::Name(name) => self.keep(before, &name.ident.to_string(), None, tree, is_handed_on),
            UseTree::Rename(rename) => {
                self.keep(before, &rename.ident.to_string(), Some(rename.rename.to_string()), tree, is_handed_on);
            }
            UseTree::Glob(_) => self.keep(before, "*", None, tree, is_handed_on),
        }
    }

    /// Takes the modules within the file out of a path that goes up from one of them.
    fn leave(&self, segments: &mut Vec<String>) {
        let up = segments.iter().take_while(|segment| *segment == "super").count().min(self.within);
        if up > 0 {
            let goes_further = segments.get(up).is_some_and(|next| next == "super");
            segments.splice(..up, (!goes_further).then(|| "self".to_owned()));
        }
    }

    fn keep(&mut self, before: &[String], last: &str, renamed: Option<String>, tree: &UseTree, is_handed_on: bool) {
        let mut segments = before.to_vec();
        if last != "self" {
            segments.push(last.to_owned());
        }
        let name = renamed.or_else(|| segments.last().cloned()).unwrap();
        self.leave(&mut segments);
        let named = Named { segments, line: tree.span().start().line };
        if is_handed_on {
            self.handed_on.push((name, named));
        } else {
            self.paths.push(named);
        }
    }

    /// Finds paths in a macro's arguments: those that begin with `crate` or `super`.
    fn within(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            at += 1;
            match token {
                TokenTree::Group(group) if group.delimiter() != Delimiter::None || !group.stream().is_empty() => {
                    self.within(group.stream())
                }
                TokenTree::Ident(first) if matches!(first.to_string().as_str(), "crate" | "super") => {
                    let mut segments = vec![first.to_string()];
                    while let Some([TokenTree::Punct(a), TokenTree::Punct(b), TokenTree::Ident(next)]) =
                        tokens.get(at..at + 3)
                        && (a.as_char(), b.as_char()) == (':', ':')
                    {
                        segments.push(next.to_string());
                        at += 3;
                    }
                    if segments.len() > 1 {
                        self.paths.push(Named { segments, line: first.span().start().line });
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reading {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_for_tests(attributes(item)) {
            let span = item.span();
            self.test_lines += span.end().line - span.start().line + 1;
            return;
        }
        let declared = match item {
            Item::Struct(of) => Some(&of.ident),
            Item::Enum(of) => Some(&of.ident),
            Item::Union(of) => Some(&of.ident),
            Item::Trait(of) => Some(&of.ident),
            Item::Type(of) => Some(&of.ident),
            _ => None,
        };
        self.types.extend(declared.map(ToString::to_string));
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        if module.content.is_none() {
            self.children.push((module.ident.to_string(), path_of(&module.attrs)));
        }
        self.within += 1;
        visit::visit_item_mod(self, module);
        self.within -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.used(&item.tree, &[], !matches!(item.vis, Visibility::Inherited));
    }

    /// Skips `pub(in path)`, which is no import.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let mut segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.leave(&mut segments);
            self.paths.push(Named { segments, line: path.span().start().line });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.within(mac.tokens.clone());
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether an item exists in tests only.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test")
        }
        _ => false,
    })
}

/// Returns the file in a `#[path]` attribute. A `#[path]` within `cfg_attr` is ignored: of the two files, the one with
/// the default name is read.
fn path_of(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(path), .. }) => Some(path.value()),
            _ => None,
        },
        _ => None,
    })
}
