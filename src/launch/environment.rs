//! The variables that NCCL and Score-P need to load the library, in addition to the variables that are set already.

use crate::installed::{library, nccl_files, program};
use crate::launch::ranks;
use common::config::{self, GivenSettings, Preset, Settings, SettingsFile};
use common::files;
use nccl_plugin::asked;
use nccl_plugin::release::{TROUBLES, Trouble};
use present::output::place;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What a person may choose, of `env` and `run` alike.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct LaunchChoice {
    /// Event types asked for: light, network, full or api.
    #[arg(long, value_name = "PRESET")]
    preset: Option<Preset>,
    /// The series, too: one value a window, in the trace, which this switches on.
    #[arg(long)]
    series: bool,
    /// Each process' summary is written to this file as JSON; %r stands for the rank, %p for the process id, %h for the
    /// host, - for standard output. Needs no Score-P.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// Each process keeps a small file of its state in this directory, for `scorep-nccl hang DIR` and `ask DIR`. All
    /// hosts of the job have to see it.
    #[arg(long, value_name = "DIR")]
    status: Option<PathBuf>,
    /// The installed library, where it is not beside this program.
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
}

/// Variables to set, and remarks on them for a person.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    /// Directory of the status files, as of the option or the settings.
    pub(crate) status: Option<OsString>,
    /// Names and values.
    pub(crate) variables: Vec<(&'static str, OsString)>,
    /// One line each.
    pub(crate) remarks: Vec<String>,
}

/// Returns the variables to set; `lookup` returns the variables that are set already, and may name a settings file, whose
/// settings count as set. `command` is the command to be started, empty where it is not known.
///
/// # Errors
/// When the library, or a name under which NCCL or Score-P loads it, is missing. When its directory has a `:` or `;` in
/// its path. When the place of `--summary` or `--status` cannot be written to.
pub(crate) fn of(
    choice: &LaunchChoice,
    command: &[OsString],
    lookup: &impl Fn(&str) -> Option<OsString>,
) -> Result<Environment, String> {
    let library = library::installed(choice.library.as_deref()).map_err(|error| error.to_string())?;
    let file = SettingsFile::read(lookup, Some(&library));
    let given = GivenSettings { lookup, file: file.as_ref() };
    let environment = lookup;
    // the file has settings alone; all other variables are the environment's
    let lookup = &|name: &str| given.value(name);
    let directory = library.parent().unwrap_or(Path::new("/"));
    let text =
        |name: &str| lookup(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty());
    let mut made = Environment::default();
    // the raw values: a value that is no valid text is kept, too
    let raw = |name: &str| lookup(name).filter(|value| !value.is_empty());
    let mut set = |name, value: OsString| {
        // the file of another machine, where the job runs, may say otherwise
        if environment(name).as_ref() != Some(&value) {
            made.variables.push((name, value));
        }
    };
    if directory.as_os_str().as_bytes().iter().any(|byte| b":;".contains(byte)) {
        return Err(format!(
            "{}: the loader splits its list there: install into a path without `:` and `;`",
            directory.display()
        ));
    }
    if let Some(paths) = beheld(directory.as_os_str(), library::is_alone_in(directory), raw("LD_LIBRARY_PATH")) {
        set("LD_LIBRARY_PATH", paths);
    }
    let plugin = text("NCCL_PROFILER_PLUGIN");
    // NCCL 2.23 to 2.25 take the variable for the name of a file, later ones know the short name, too
    if !plugin.as_deref().is_some_and(|plugin| plugin != SHORT_NAME && is_ours(plugin, &library)) {
        set("NCCL_PROFILER_PLUGIN", library::LoadNames::of(Path::new("")).nccl.into());
    }
    let mut metric = with("nccl_plugin", text("SCOREP_METRIC_PLUGINS"), text("SCOREP_METRIC_PLUGINS_SEP"));
    set("SCOREP_METRIC_NCCL_PLUGIN", raw("SCOREP_METRIC_NCCL_PLUGIN").unwrap_or_else(|| "default".into()));
    if choice.series {
        metric = with("nccl_series_plugin", Some(metric), text("SCOREP_METRIC_PLUGINS_SEP"));
        set(
            "SCOREP_METRIC_NCCL_SERIES_PLUGIN",
            raw("SCOREP_METRIC_NCCL_SERIES_PLUGIN").unwrap_or_else(|| "default".into()),
        );
        set("SCOREP_ENABLE_TRACING", "true".into());
    }
    set("SCOREP_METRIC_PLUGINS", metric.into());
    let substrates = with("nccl", text("SCOREP_SUBSTRATE_PLUGINS"), text("SCOREP_SUBSTRATE_PLUGINS_SEP"));
    set("SCOREP_SUBSTRATE_PLUGINS", substrates.into());
    if let Some(preset) = choice.preset {
        set("NCCL_SCOREP_PRESET", preset.name().into());
    }
    let summary = match &choice.summary {
        Some(summary) => Some(place_of(summary)?),
        None => lookup("NCCL_SCOREP_SUMMARY").filter(|value| config::is_set(value)),
    };
    if let Some(summary) = &summary {
        set("NCCL_SCOREP_SUMMARY", summary.clone());
    }
    let status = match &choice.status {
        Some(status) => Some(directory_of(status)?),
        None => raw("NCCL_SCOREP_STATUS").filter(|value| config::is_set(value)),
    };
    if let Some(status) = &status {
        set("NCCL_SCOREP_STATUS", status.clone());
    }
    made.status.clone_from(&status);
    let status = status.as_deref().filter(|_| choice.status.is_none()).map(|status| files::expand(Path::new(status)));
    if let Some(Err(unfit)) = status.map(|place| place::check_directory(&place, &place)) {
        made.remarks.push(format!("NCCL_SCOREP_STATUS: {unfit}: there will be no status files"));
    }
    // the summary's place comes from the environment, not from this command's arguments: a bad place is a remark, no
    // error
    let of_environment =
        summary.as_deref().filter(|_| choice.summary.is_none()).map(|summary| files::expand(Path::new(summary)));
    if let Some(Err(unfit)) = of_environment.map(|place| place::check(&place)) {
        made.remarks.push(format!("NCCL_SCOREP_SUMMARY: {unfit}: there will be no summary"));
    }
    if let Some(what) = summary.and_then(|summary| ranks::shared_name(Path::new(&summary), text)) {
        made.remarks.push(format!("{what}; {}", ranks::CURE));
    }
    let is_another = plugin.is_some_and(|plugin| !is_ours(&plugin, &library) && !plugin.eq_ignore_ascii_case("none"));
    let other = raw("NCCL_PROFILER_PLUGIN").filter(|_| is_another);
    let chained = text("NCCL_SCOREP_CHAIN").filter(|value| config::is_set(OsStr::new(value)));
    made.keep_other_plugin(other, chained);
    made.cure_nccl(choice, command, lookup);
    Ok(made)
}

impl Environment {
    /// Chains the profiler plugin that NCCL was to load behind this library.
    fn keep_other_plugin(&mut self, plugin: Option<OsString>, chained: Option<String>) {
        let Some(other) = plugin else { return };
        let name = other.display().to_string();
        match chained {
            None => {
                self.remarks
                    .push(format!("NCCL_PROFILER_PLUGIN was {name}: it gets every callback, too (NCCL_SCOREP_CHAIN)"));
                self.variables.push(("NCCL_SCOREP_CHAIN", other));
            }
            Some(chained) => {
                self.remarks.push(format!(
                    "NCCL_PROFILER_PLUGIN was {name}: it is not loaded, since NCCL_SCOREP_CHAIN is {chained}"
                ));
            }
        }
    }

    /// Sets the variable that cures a known trouble of an installed NCCL with the events it will be asked for. A
    /// variable that the user has set stays as it is.
    fn cure_nccl(&mut self, choice: &LaunchChoice, command: &[OsString], lookup: &impl Fn(&str) -> Option<OsString>) {
        let open: Vec<&Trouble> = TROUBLES.iter().filter(|trouble| lookup(trouble.cure.0).is_none()).collect();
        if open.is_empty() {
            return;
        }
        let (mut settings, _) = Settings::parse(lookup);
        settings.preset = choice.preset.unwrap_or(settings.preset);
        let wanted = asked::wanted(&settings);
        // the program may load any of several NCCLs, so the first with a trouble counts
        let cured = nccl_files::find(lookup, &program::named(command, lookup)).find_map(|nccl| {
            let release = nccl.release?;
            let has = |trouble: &&&Trouble| trouble.has(release) && trouble.types & wanted != 0;
            Some((release, nccl.path, *open.iter().find(has)?))
        });
        if let Some((release, path, Trouble { cure: (name, value), what, .. })) = cured {
            self.variables.push((name, (*value).into()));
            self.remarks.push(format!("{name}={value}, since with NCCL {release} ({}) {what}", path.display()));
        }
    }
}

/// The library's name for NCCL 2.26 and later.
const SHORT_NAME: &str = "scorep";

/// Returns whether a plugin name means this library: `scorep`, as for NCCL, or its file name, or its path.
fn is_ours(plugin: &str, library: &Path) -> bool {
    let is_path_of = || Path::new(plugin).canonicalize().is_ok_and(|path| path == library);
    let name = library::LoadNames::of(Path::new("")).nccl;
    plugin == SHORT_NAME || Path::new(plugin).file_name() == Some(name.as_os_str()) || is_path_of()
}

/// Returns a list of directories with `directory` in it, or `None` where the loader looks there anyway. The directory
/// comes first, so that the loader finds no name in an older installation. If it also holds other libraries it comes
/// last, so that no program loads one of them instead of its own.
fn beheld(directory: &OsStr, is_alone: bool, list: Option<OsString>) -> Option<OsString> {
    let own = directory.as_bytes();
    match list {
        _ if is_systems(directory) => None,
        Some(list) if list.as_bytes().split(|&byte| byte == b':').any(|other| without_slashes(other) == own) => None,
        Some(list) if is_alone => Some([directory, &list].join(OsStr::new(":"))),
        Some(list) => Some([&list, directory].join(OsStr::new(":"))),
        None => Some(directory.into()),
    }
}

/// Returns whether the loader looks into this directory by default.
fn is_systems(directory: &OsStr) -> bool {
    const SYSTEM: [&str; 3] = ["lib", "lib64", "lib32"];
    let Some(directory) = directory.to_str().filter(|directory| directory.starts_with('/')) else { return false };
    let below_root = directory.trim_start_matches("/usr").trim_start_matches('/');
    let (first, rest) = below_root.split_once('/').unwrap_or((below_root, ""));
    SYSTEM.contains(&first) && (rest.is_empty() || rest.ends_with("-linux-gnu"))
}

fn without_slashes(mut path: &[u8]) -> &[u8] {
    while let [before @ .., b'/'] = path {
        path = before;
    }
    path
}

/// Adds a plugin to a list of plugins, unless the list has it.
fn with(plugin: &str, list: Option<String>, separator: Option<String>) -> String {
    let separator = separator.as_deref().unwrap_or(",");
    match list {
        Some(list) if list.split(separator).any(|other| other.trim() == plugin) => list,
        Some(list) => format!("{list}{separator}{plugin}"),
        None => plugin.into(),
    }
}

/// Returns the absolute place of the summary, since the job may change its directory. Checks it now, so that a place
/// that cannot be written to fails before the job and not at its end.
fn place_of(summary: &Path) -> Result<OsString, String> {
    if summary == Path::new("-") {
        return Ok("/dev/stdout".into());
    }
    let path = std::path::absolute(summary).unwrap_or_else(|_| summary.to_path_buf());
    // a directory whose name depends on the process is created by that process
    let of_process = path.parent().is_some_and(|directory| directory.as_os_str().as_bytes().contains(&b'%'));
    let checked = if of_process { place::check(&path) } else { place::prepare(&path) };
    checked.map_err(|error| format!("--summary: {error}"))?;
    Ok(path.into())
}

/// Returns the absolute path of the directory of the statuses, and makes it.
fn directory_of(status: &Path) -> Result<OsString, String> {
    let path = std::path::absolute(status).unwrap_or_else(|_| status.to_path_buf());
    // a directory whose name depends on the process is created by that process
    let is_of_process = path.as_os_str().as_bytes().contains(&b'%');
    let checked = if is_of_process { Ok(()) } else { place::prepare_directory(&path) };
    checked.map_err(|error| format!("--status: {error}"))?;
    Ok(path.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_get_their_entry_once() {
        let beheld_as = |is_alone: bool, directory: &str, list: Option<&[u8]>| {
            let list = list.map(|list| OsStr::from_bytes(list).to_owned());
            beheld(directory.as_ref(), is_alone, list).map(|list| list.as_bytes().to_vec())
        };
        assert_eq!(beheld_as(true, "/opt/a/lib", Some(b"/b\xff")), Some(b"/opt/a/lib:/b\xff".to_vec()));
        assert_eq!(beheld_as(false, "/opt/a/lib", Some(b"/b\xff")), Some(b"/b\xff:/opt/a/lib".to_vec()));
        let beheld = |directory, list: Option<&str>| {
            beheld_as(false, directory, list.map(str::as_bytes)).map(|list| String::from_utf8(list).unwrap())
        };
        assert_eq!(beheld("/opt/a/lib", None).as_deref(), Some("/opt/a/lib"));
        assert_eq!(beheld("/opt/a/lib", Some("/b::/c")).as_deref(), Some("/b::/c:/opt/a/lib"));
        assert_eq!(beheld("/opt/a/lib", Some("/b:/opt/a/lib/:/c")), None);
        for directory in ["/usr/lib", "/usr/lib/x86_64-linux-gnu", "/lib64", "/usr/lib64"] {
            assert_eq!(beheld(directory, Some("/b")), None, "{directory}");
        }
        assert!(["/usr/local/lib", "/usr/lib/other"].iter().all(|directory| beheld(directory, None).is_some()));
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
        assert_eq!(kept("inspector", None), (vec![("NCCL_SCOREP_CHAIN", "inspector".into())], 1));
        assert_eq!(kept("inspector", Some("other")), (vec![], 1));
        let is_ours = |plugin| is_ours(plugin, Path::new("/opt/lib/libscorep_substrate_nccl.so"));
        assert_eq!(
            ["scorep", "/x/libnccl-profiler-scorep.so", "inspector", "none"].map(is_ours),
            [true, true, false, false]
        );
    }
}
