//! Statements that set a variable, as shells read them.

use std::borrow::Cow;
use std::ffi::OsStr;
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
    /// The one that has started this process and will read what it prints: a job script's shell need not be the user's. What is no shell that
    /// is known is taken for one like sh.
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

    /// The statement that exports a variable. It ends with a semicolon: `eval` of csh joins lines by blanks.
    pub(crate) fn export(self, name: &str, value: &str) -> String {
        let value = self.quoted(value);
        match self {
            Self::Bash => format!("export {name}={value};"),
            Self::Fish => format!("set -gx {name} {value};"),
            Self::Csh => format!("setenv {name} {value};"),
        }
    }

    /// One word that means just that text.
    fn quoted(self, text: &str) -> String {
        match self {
            Self::Bash => shlex::try_quote(text).unwrap_or(Cow::Borrowed("''")).into_owned(),
            Self::Fish => format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'")),
            // csh puts its history in even between quotes
            Self::Csh => format!("'{}'", text.replace('\'', r"'\''").replace('!', r"\!")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shell_reads_back_what_was_meant() {
        let text = r#"/a b/it's "$HOME" \ `x` ; #"#;
        for (program, shell) in [("sh", Shell::Bash), ("bash", Shell::Bash), ("fish", Shell::Fish), ("tcsh", Shell::Csh)] {
            let script = format!("{} printenv NAME", shell.export("NAME", text));
            // those that are not installed are not asked
            if let Ok(output) = std::process::Command::new(program).args(["-c", &script]).output() {
                assert_eq!(String::from_utf8_lossy(&output.stdout).trim_end_matches('\n'), text, "{program}: {script}");
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
        assert_eq!(Shell::Csh.export("A", "b"), "setenv A 'b';");
    }
}
