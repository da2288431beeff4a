//! Statements that set a variable, as shells read them.

use std::borrow::Cow;

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
    /// The one that `$SHELL` names; those that are like sh are taken for bash.
    pub(crate) fn of_user(shell: Option<&str>) -> Self {
        match shell.and_then(|path| path.rsplit('/').next()) {
            Some("fish") => Self::Fish,
            Some("csh" | "tcsh") => Self::Csh,
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
    fn the_users_shell_is_known_by_its_name() {
        let of = |path| Shell::of_user(Some(path));
        assert_eq!(
            [of("/bin/zsh"), of("/usr/bin/fish"), of("/bin/tcsh"), Shell::of_user(None)],
            [Shell::Bash, Shell::Fish, Shell::Csh, Shell::Bash]
        );
        assert_eq!(Shell::Csh.export("A", "b"), "setenv A 'b';");
    }
}
