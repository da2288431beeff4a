//! The imports between the files of a crate.

use crate::architecture::source::{Module, Name, Named};
use std::collections::BTreeMap;

/// An import: the file of module `from` needs the file of module `to`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Import {
    pub(crate) from: Name,
    pub(crate) to: Name,
    /// The first line with this import.
    pub(crate) line: usize,
}

impl Import {
    /// Returns the rooms of both modules.
    pub(crate) fn rooms(&self) -> (&str, &str) {
        (room(&self.from), room(&self.to))
    }

    /// Describes the import with its file and line.
    pub(crate) fn place(&self, modules: &BTreeMap<Name, Module>) -> String {
        let to = if self.to.is_empty() { "the crate's root".to_owned() } else { self.to.join("::") };
        format!("{}:{} imports {to}", modules[&self.from].file.display(), self.line)
    }
}

/// Returns a module's room: the first part of its name. A file directly below the root is a room of its own; the root
/// has no room.
pub(crate) fn room(name: &Name) -> &str {
    name.first().map_or("", String::as_str)
}

/// Returns each import once, also of items of the root module. The root module's own paths are not imports: they name
/// modules and re-export items.
pub(crate) fn imports(modules: &BTreeMap<Name, Module>) -> Vec<Import> {
    let mut found: BTreeMap<(Name, Name), usize> = BTreeMap::new();
    for (from, module) in modules {
        let targets = module.paths.iter().filter_map(|named| Some((target(modules, from, named, 0)?, named.line)));
        for (to, line) in targets.filter(|(to, _)| to != from && !from.is_empty()) {
            found.entry((from.clone(), to)).and_modify(|first| *first = line.min(*first)).or_insert(line);
        }
    }
    found.into_iter().map(|((from, to), line)| Import { from, to, line }).collect()
}

/// Returns the module whose item a path names, through re-exports.
fn target(modules: &BTreeMap<Name, Module>, from: &Name, named: &Named, depth: usize) -> Option<Name> {
    let [first, rest @ ..] = &named.segments[..] else { return None };
    let mut at = from.clone();
    let rest = match first.as_str() {
        "crate" => {
            at.clear();
            rest
        }
        "self" => rest,
        "super" => {
            at.pop();
            let more = rest.iter().take_while(|segment| *segment == "super").count();
            at.truncate(at.len().saturating_sub(more));
            &rest[more..]
        }
        child if modules.contains_key(&[at.clone(), vec![child.to_owned()]].concat()) => &named.segments[..],
        _ => return None,
    };
    for segment in rest {
        let below = [at.clone(), vec![segment.clone()]].concat();
        if modules.contains_key(&below) {
            at = below;
            continue;
        }
        let handed_on = modules[&at].handed_on.iter().find(|(name, _)| name == segment);
        return match handed_on {
            Some((_, behind)) if depth < 8 => target(modules, &at, behind, depth + 1).or(Some(at)),
            _ => Some(at),
        };
    }
    Some(at)
}
