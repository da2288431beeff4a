//! Prometheus' text format, and files of it for the textfile collector of node_exporter.

use super::files::NewFile;
use std::fmt::{Display, Write as _};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Writes the lines above the series of a metric.
pub fn head(text: &mut String, name: &str, kind: &str, meaning: &str) {
    let meaning = meaning.replace('\\', r"\\").replace('\n', r"\n");
    // writing to a string does not fail
    let _ = write!(text, "# HELP {name} {meaning}\n# TYPE {name} {kind}\n");
}

/// Writes the value of a series.
pub fn line(text: &mut String, name: &str, labels: &str, value: impl Display) {
    // writing to a string does not fail
    let _ = writeln!(text, "{name}{{{labels}}} {value}");
}

/// Writes labels.
pub fn labels<V: AsRef<str>>(labels: impl IntoIterator<Item = (impl Display, V)>) -> String {
    let label = |(name, value): (_, V)| {
        let value = value.as_ref().replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        format!("{name}=\"{value}\"")
    };
    labels.into_iter().map(label).collect::<Vec<_>>().join(",")
}

/// Returns a name with which a file may be called: that of a host may have other characters.
pub fn plain(name: &str) -> String {
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || "-._".contains(letter) { letter } else { '_' };
    name.chars().map(plain).collect()
}

/// Begins a file with a text, which all users may read: node_exporter runs as another one, and the umask may forbid
/// others to read.
///
/// # Errors
/// The system's.
pub fn begun(place: &Path, text: &str) -> io::Result<NewFile> {
    let mut file = NewFile::beside(place)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}
