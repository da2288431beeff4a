//! Statements that set a variable, in the languages of several shells.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whose language it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Shell {
    /// bash, and every other that is like sh: dash, ksh, zsh.
    Bash,
    /// fish.
    Fish,
    /// csh and tcsh.
    Csh,
}

impl Shell {
    /// Returns the shell that started this process and will read its output: a job script's shell may differ from the
    /// user's login shell. An unknown program counts as a shell like sh.
    pub(crate) fn of_parent() -> Self {
        let program = std::fs::read_link(format!("/proc/{}/exe", std::os::unix::process::parent_id())).ok();
        Self::of_program(program.as_deref().and_then(Path::file_name).and_then(OsStr::to_str))
    }

    fn of_program(name: Option<&str>) -> Self {
        match name {
            Some("fish") => Self::Fish,
            // tcsh, bsd-csh
            Some(name) if name.ends_with("csh") => Self::Csh,
            _ => Self::Bash,
        }
    }

    /// Returns the statement that exports a variable, whose value may be no valid text. It ends with a semicolon,
    /// because `eval` of csh joins lines by blanks.
    pub(crate) fn export(self, name: &str, value: &OsStr) -> Vec<u8> {
        let value = self.quoted(value.as_bytes());
        let (before, between): (_, &[u8]) = match self {
            Self::Bash => ("export ", b"="),
            Self::Fish => ("set -gx ", b" "),
            Self::Csh => ("setenv ", b" "),
        };
        [before.as_bytes(), name.as_bytes(), between, &value, b";"].concat()
    }

    /// Quotes a text as one word without special meaning.
    fn quoted(self, text: &[u8]) -> Vec<u8> {
        let special: fn(u8) -> &'static [u8] = match self {
            Self::Bash => return shlex::bytes::try_quote(text).map_or_else(|_| b"''".to_vec(), Cow::into_owned),
            Self::Fish => |byte| match byte {
                b'\\' => br"\\",
                b'\'' => br"\'",
                _ => b"",
            },
            // csh expands its history even between single quotes
            Self::Csh => |byte| match byte {
                b'\'' => br"'\''",
                b'!' => br"\!",
                _ => b"",
            },
        };
        let mut quoted = vec![b'\''];
        for &byte in text {
            match special(byte) {
                b"" => quoted.push(byte),
                escaped => quoted.extend_from_slice(escaped),
            }
        }
        quoted.push(b'\'');
        quoted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_reads_back_what_was_meant() {
        let text = OsStr::from_bytes(b"/a b/it's \"$HOME\" \\ `x` ; #\xff");
        for (program, shell) in
            [("sh", Shell::Bash), ("bash", Shell::Bash), ("fish", Shell::Fish), ("tcsh", Shell::Csh)]
        {
            let script = [shell.export("NAME", text), b" printenv NAME".to_vec()].concat();
            // shells that are not installed are skipped
            if let Ok(output) = std::process::Command::new(program).arg("-c").arg(OsStr::from_bytes(&script)).output() {
                assert_eq!(output.stdout.strip_suffix(b"\n"), Some(text.as_bytes()), "{program}: {script:?}");
            }
        }
    }

    #[test]
    fn a_shell_is_known_by_its_program() {
        let of = |name| Shell::of_program(Some(name));
        assert_eq!(
            ["zsh", "fish", "tcsh", "bsd-csh", "timeout"].map(of),
            [Shell::Bash, Shell::Fish, Shell::Csh, Shell::Csh, Shell::Bash]
        );
        assert_eq!(Shell::of_program(None), Shell::Bash);
        assert_eq!(Shell::Csh.export("A", "b!".as_ref()), br"setenv A 'b\!';");
    }
}
