//! The variables that NCCL and Score-P need to load the library, beside what is set already.

use crate::nccl_files;
use common::config::Preset;
use nccl_plugin::release;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// What a person may choose, of `env` and `run` alike.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Choice {
    /// Event types asked for: light, network, full or api.
    #[arg(long, value_name = "PRESET", value_parser = preset)]
    preset: Option<Preset>,
    /// The series, too: one value a window, in the trace alone. Switches Score-P's profile off, which would drop them.
    #[arg(long)]
    series: bool,
    /// Each process' summary is written to this file as JSON; %p stands for the process id, %h for the host. Needs no Score-P.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// The installed library, where it is not beside this program.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

fn preset(text: &str) -> Result<Preset, String> {
    let names = || Preset::ALL.map(Preset::name).join(", ");
    Preset::ALL.into_iter().find(|preset| preset.name() == text).ok_or_else(|| format!("it is one of {}", names()))
}

/// Variables to set, and what a person should know of them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    /// Names and values.
    pub(crate) variables: Vec<(&'static str, String)>,
    /// One line each.
    pub(crate) remarks: Vec<String>,
}

/// What is to be set, where `lookup` tells what is.
///
/// # Errors
/// When the library, or a name that NCCL or Score-P knows it by, is missing.
pub(crate) fn of(choice: &Choice, lookup: &impl Fn(&str) -> Option<OsString>) -> Result<Environment, String> {
    let library = crate::library::installed(choice.library.as_deref()).map_err(|error| error.to_string())?;
    let directory = library.parent().unwrap_or(Path::new("/"));
    let text = |name: &str| lookup(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty());
    let mut made = Environment::default();
    let mut set = |name, value: String| {
        if text(name).as_ref() != Some(&value) {
            made.variables.push((name, value));
        }
    };
    set("LD_LIBRARY_PATH", prefixed(&directory.display().to_string(), text("LD_LIBRARY_PATH")));
    set("NCCL_PROFILER_PLUGIN", "scorep".into());
    let mut metric = with("nccl_plugin", text("SCOREP_METRIC_PLUGINS"), text("SCOREP_METRIC_PLUGINS_SEP"));
    set("SCOREP_METRIC_NCCL_PLUGIN", text("SCOREP_METRIC_NCCL_PLUGIN").unwrap_or_else(|| "default".into()));
    if choice.series {
        metric = with("nccl_series_plugin", Some(metric), text("SCOREP_METRIC_PLUGINS_SEP"));
        set("SCOREP_METRIC_NCCL_SERIES_PLUGIN", text("SCOREP_METRIC_NCCL_SERIES_PLUGIN").unwrap_or_else(|| "default".into()));
        set("SCOREP_ENABLE_PROFILING", "false".into());
        set("SCOREP_ENABLE_TRACING", "true".into());
    }
    set("SCOREP_METRIC_PLUGINS", metric);
    set("SCOREP_SUBSTRATE_PLUGINS", with("nccl", text("SCOREP_SUBSTRATE_PLUGINS"), text("SCOREP_SUBSTRATE_PLUGINS_SEP")));
    if let Some(preset) = choice.preset {
        set("NCCL_SCOREP_PRESET", preset.name().into());
    }
    if let Some(summary) = &choice.summary {
        set("NCCL_SCOREP_SUMMARY", absolute(summary));
    }
    made.keep_other_plugin(text("NCCL_PROFILER_PLUGIN"), text("NCCL_SCOREP_CHAIN"));
    made.cure_nccl(lookup);
    Ok(made)
}

impl Environment {
    /// The profiler plugin that was asked for is loaded behind this one.
    fn keep_other_plugin(&mut self, plugin: Option<String>, chained: Option<String>) {
        let Some(other) = plugin.filter(|plugin| plugin != "scorep" && !plugin.eq_ignore_ascii_case("none")) else { return };
        match chained {
            None => {
                self.remarks.push(format!("NCCL_PROFILER_PLUGIN was {other}: it gets every callback, too (NCCL_SCOREP_CHAIN)"));
                self.variables.push(("NCCL_SCOREP_CHAIN", other));
            }
            Some(chained) => {
                self.remarks
                    .push(format!("NCCL_PROFILER_PLUGIN was {other}: it is not loaded, since NCCL_SCOREP_CHAIN is {chained}"));
            }
        }
    }

    /// What an NCCL that is found needs, lest something go wrong in it. What is set already is the user's word.
    fn cure_nccl(&mut self, lookup: &impl Fn(&str) -> Option<OsString>) {
        let Some((release, nccl)) = nccl_files::find(lookup).into_iter().find_map(|nccl| Some((nccl.release?, nccl))) else {
            return;
        };
        for trouble in release::troubles(release, |_| None) {
            let (name, value) = trouble.cure;
            if lookup(name).is_none() {
                self.variables.push((name, value.into()));
                self.remarks.push(format!(
                    "{name}={value}, since with NCCL {release} ({}) {}",
                    nccl.path.display(),
                    trouble.what
                ));
            }
        }
    }
}

/// A list of directories that begins with that one, once.
fn prefixed(directory: &str, list: Option<String>) -> String {
    let list = list.unwrap_or_default();
    let others = list.split(':').filter(|other| !other.is_empty() && *other != directory);
    std::iter::once(directory).chain(others).collect::<Vec<_>>().join(":")
}

/// A list of plugins with that one in it.
fn with(plugin: &str, list: Option<String>, separator: Option<String>) -> String {
    let separator = separator.as_deref().unwrap_or(",");
    match list {
        Some(list) if list.split(separator).any(|other| other == plugin) => list,
        Some(list) => format!("{list}{separator}{plugin}"),
        None => plugin.into(),
    }
}

/// A job may change its directory.
fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_get_their_entry_once() {
        assert_eq!(prefixed("/a", None), "/a");
        assert_eq!(prefixed("/a", Some("/b:/a::/c".into())), "/a:/b:/c");
        assert_eq!(with("nccl", Some("x,nccl".into()), None), "x,nccl");
        assert_eq!(with("nccl", Some("x".into()), Some(";".into())), "x;nccl");
        assert_eq!(with("nccl", None, None), "nccl");
    }

    #[test]
    fn another_plugin_is_kept_behind_this_one() {
        let kept = |plugin: &str, chained: Option<&str>| {
            let mut made = Environment::default();
            made.keep_other_plugin(Some(plugin.into()), chained.map(str::to_owned));
            (made.variables, made.remarks.len())
        };
        assert_eq!(kept("inspector", None), (vec![("NCCL_SCOREP_CHAIN", "inspector".to_owned())], 1));
        assert_eq!(kept("inspector", Some("other")), (vec![], 1));
        assert_eq!([kept("scorep", None), kept("none", None)], [(vec![], 0), (vec![], 0)]);
    }
}
