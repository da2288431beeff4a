//! Outputs and inputs are different files: an output would replace what was read, or is still to be read.

use common::files::parent;
use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A place that one command writes to.
#[derive(Debug, Clone, Copy)]
pub enum Output<'a> {
    /// A file.
    File(&'a Path),
    /// A directory, into which files with this ending are written.
    Directory(&'a Path, &'a str),
}

/// What makes two paths one file.
#[derive(Debug, PartialEq, Eq, Hash)]
enum PathIdentity {
    /// Device and inode: also of links, and of further names of a file.
    Inode(u64, u64),
    /// Its place: also where it is not there yet.
    Place(PathBuf),
}

/// Refuses an output that is an input, too.
///
/// # Errors
/// In words, with both.
pub fn check<'a>(
    outputs: impl IntoIterator<Item = Output<'a>>,
    inputs: impl IntoIterator<Item = PathBuf>,
) -> Result<(), String> {
    let outputs: Vec<Output<'_>> = outputs.into_iter().collect();
    if outputs.is_empty() {
        return Ok(());
    }
    let (mut read, mut within) = (HashMap::new(), HashMap::new());
    for input in inputs {
        if let (Some(around), Some(ending)) = (parent(&input), input.extension()) {
            for identity in identities(around) {
                within.entry((identity, ending.to_owned())).or_insert_with(|| input.clone());
            }
        }
        for identity in identities(&input) {
            read.entry(identity).or_insert_with(|| input.clone());
        }
    }
    for output in outputs {
        let (path, input) = match output {
            Output::File(path) => (path, identities(path).find_map(|identity| read.get(&identity))),
            Output::Directory(path, ending) => {
                let in_it = |identity| within.get(&(identity, ending.into()));
                (path, identities(path).find_map(in_it))
            }
        };
        if let Some(input) = input {
            return Err(format!(
                "{}: {} is an input, and would be replaced: name another place for the output",
                path.display(),
                input.display()
            ));
        }
    }
    Ok(())
}

/// Returns what identifies a file or directory; nothing for a device or a pipe, which nothing replaces.
fn identities(path: &Path) -> impl Iterator<Item = PathIdentity> + use<> {
    let there = path.metadata().ok();
    let is_replaced = there.as_ref().is_none_or(|there| there.is_file() || there.is_dir());
    let inode = there.map(|there| PathIdentity::Inode(there.dev(), there.ino()));
    let place = || Some(PathIdentity::Place(parent(path)?.canonicalize().ok()?.join(path.file_name()?)));
    let place = if is_replaced { place() } else { None };
    inode.filter(|_| is_replaced).into_iter().chain(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn one_file_has_many_names() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::create_dir(at("in")).unwrap();
        fs::write(at("in/a.json"), "").unwrap();
        fs::hard_link(at("in/a.json"), at("other")).unwrap();
        std::os::unix::fs::symlink("in/a.json", at("link")).unwrap();
        std::os::unix::fs::symlink("in", at("around")).unwrap();
        let refused = |output: Output<'_>, input: &str| {
            check([output], [at(input)]).is_err_and(|error| error.contains("would be replaced: name another place"))
        };
        for output in ["in/a.json", "in/../in/a.json", "other", "link", "around/a.json"] {
            assert!(refused(Output::File(&at(output)), "in/a.json"), "{output}");
        }
        // an input that is missing, or appears meanwhile
        assert!(refused(Output::File(&at("around/new")), "in/new"));
        assert!(refused(Output::Directory(&at("around"), "json"), "in/a.json"));
        for output in [
            Output::File(&at("in/b.json")),
            Output::File(Path::new("/dev/null")),
            Output::Directory(&at("in"), "csv"),
            Output::Directory(directory.path(), "json"),
        ] {
            assert_eq!(check([output], [at("in/a.json"), PathBuf::from("/dev/null")]), Ok(()), "{output:?}");
        }
    }
}
