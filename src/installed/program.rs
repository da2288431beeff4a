//! The programs that a command line names: the program it starts, and further programs among its words.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Returns the paths of the programs in a command line. Links are not resolved, because a virtual environment's python
/// is a link.
pub(crate) fn named(command: &[OsString], lookup: &impl Fn(&str) -> Option<OsString>) -> Vec<PathBuf> {
    let found = command.iter().enumerate().filter_map(|(place, word)| {
        let is_searched = place == 0 || word.as_encoded_bytes().starts_with(b"python");
        if word.as_encoded_bytes().contains(&b'/') {
            return Some(PathBuf::from(word)).filter(|path| is_program(path));
        }
        let path = lookup("PATH").filter(|_| is_searched)?;
        std::env::split_paths(&path).map(|directory| directory.join(word)).find(|path| is_program(path))
    });
    found.collect()
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_hide_no_program() {
        let words = |text: &str| text.split(' ').map(OsString::from).collect::<Vec<_>>();
        let lookup = |name: &str| (name == "PATH").then(|| OsString::from("/nowhere:/bin"));
        let of = |text: &str| named(&words(text), &lookup);
        assert_eq!(of("sh -c true"), [Path::new("/bin/sh")]);
        assert_eq!(of("env A=1 /bin/sh cat /etc/passwd /etc"), ["/bin/env", "/bin/sh"].map(Path::new));
        assert_eq!(of("nowhere"), Vec::<PathBuf>::new());
    }
}
