//! Checks whether NCCL and Score-P load this library under every name they use, and the same file under all of them.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use crate::installed::library::{self, FILE, LoadNames, NotInstalled};
use crate::installed::loader::{self, Features, Loaded};
use std::path::{Path, PathBuf};

/// Cure for a library directory that the loader does not search.
const SEE: &str = "start the job through `scorep-nccl run --`, or set what `scorep-nccl env` prints: LD_LIBRARY_PATH lacks the directory";

/// Parts of the loader's messages for a file that is no loadable library.
const NO_LIBRARY: [&str; 4] = ["executable", "invalid ELF header", "file too short", "not an ELF"];

/// A file name, and the host that loads it.
struct LibraryName {
    file: String,
    host: &'static str,
}

/// Returns all findings on the library, and the optional features it was built with. `ours` is the name by which NCCL
/// loads the library, `score_p` the additional directory in which Score-P looks for plugins.
pub(crate) fn check(
    around: &Surroundings,
    named: Option<&Path>,
    ours: Option<&str>,
    score_p: Option<&Path>,
) -> (Vec<DoctorFinding>, Option<Features>) {
    let (mut findings, mut built_with) = (Vec::new(), None);
    let installed = library::installed(named);
    let mut links = Vec::new();
    let mut images: Vec<(String, usize, PathBuf)> = Vec::new();
    for LibraryName { file, host } in names(around, ours) {
        let mut loaded = loader::load(Path::new(&file));
        if let (Loaded::Nothing(_), "Score-P", Some(directory)) = (&loaded, host, score_p)
            && directory.join(&file).exists()
        {
            loaded = loader::load(&directory.join(&file));
        }
        match loaded {
            Loaded::Ours { image, path, version, features } => {
                built_with.get_or_insert(features);
                if version != env!("CARGO_PKG_VERSION") && !images.iter().any(|(_, other, _)| *other == image) {
                    let what =
                        format!("{} is version {version}, this tool is {}", path.display(), env!("CARGO_PKG_VERSION"));
                    findings.push(DoctorFinding::new(
                        Code::LibraryVersion,
                        what,
                        "use the tool that was installed with the library",
                    ));
                }
                images.push((file, image, path));
            }
            Loaded::Other => {
                let what = format!("{file}, which {host} loads, is not this library");
                findings.push(DoctorFinding::new(Code::LibraryBroken, what, replacement(&file)));
            }
            Loaded::Nothing(words) if words.contains("No such file") && words.starts_with(&file) => {
                findings.push(match link_without_end(around, &file) {
                    Some((link, end)) => {
                        let what = format!("{}, which {host} loads, is a symbolic link to {end}", link.display());
                        links.push(link);
                        DoctorFinding::new(Code::LibraryBroken, what, format!("make it a symbolic link to {FILE}"))
                    }
                    None => {
                        let what = format!("{file}, which {host} loads, is not where the loader looks");
                        DoctorFinding::new(Code::LibraryNotFound, what, SEE)
                    }
                });
            }
            Loaded::Nothing(words) if NO_LIBRARY.iter().any(|no_library| words.contains(no_library)) => {
                let what = format!("{file}, which {host} loads, is no library: {words}");
                findings.push(DoctorFinding::new(Code::LibraryBroken, what, replacement(&file)));
            }
            Loaded::Nothing(words) => {
                let what = format!("{file}, which {host} loads, does not load: {words}");
                findings.push(DoctorFinding::new(
                    Code::LibraryBroken,
                    what,
                    "build it on a machine like this one, or install what it lacks",
                ));
            }
        }
    }
    findings.extend(one_image(&images));
    // a link that leads nowhere is there: one finding says so
    let leads_nowhere = |missing: &Path| {
        let directory = |path: &Path| path.parent().and_then(|parent| parent.canonicalize().ok());
        links.iter().any(|link| link.file_name() == missing.file_name() && directory(link) == directory(missing))
    };
    match &installed {
        Err(NotInstalled::Link { link }) if leads_nowhere(link) => {}
        Err(missing) => {
            let cure = "install both together: `cmake --install`";
            findings.insert(0, DoctorFinding::new(Code::LibraryMissing, missing.to_string(), cure));
        }
        Ok(_) => {}
    }
    // where the hosts do not find the library, it is the one that `run` would let them find
    let of_installed = || match loader::load(&installed.ok()?) {
        Loaded::Ours { features, .. } => Some(features),
        _ => None,
    };
    (findings, built_with.or_else(of_installed))
}

/// Returns the cure for a wrong file under a name of the library.
fn replacement(file: &str) -> String {
    match file {
        FILE => "install it again: `cmake --install`".into(),
        _ => format!("make {file} a symbolic link to {FILE}"),
    }
}

/// Returns the symbolic link of this name in `LD_LIBRARY_PATH` that leads to no file, and where it leads. The loader
/// ignores such a link without a message.
fn link_without_end(around: &Surroundings, file: &str) -> Option<(PathBuf, String)> {
    let directories = around.raw("LD_LIBRARY_PATH")?;
    let links = std::env::split_paths(&directories).map(|directory| directory.join(file));
    links.filter(|link| !link.exists()).find_map(|link| {
        let end = link.read_link().ok()?;
        let is_circle = std::fs::metadata(&link).is_err_and(|error| error.raw_os_error() == Some(libc::ELOOP));
        let end = if is_circle { "itself".to_owned() } else { format!("{}, which is missing", end.display()) };
        Some((link, end))
    })
}

/// Returns the names that will be loaded: NCCL's, and Score-P's names that its variables ask for.
fn names(around: &Surroundings, ours: Option<&str>) -> Vec<LibraryName> {
    let name_of = |path: PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let LoadNames { nccl, counters, series } = LoadNames::of(Path::new(""));
    let asks = |list: &str, plugin: &str| around.list(list).iter().any(|entry| entry == plugin);
    let of_score_p = [
        (asks("SCOREP_METRIC_PLUGINS", "nccl_plugin"), name_of(counters)),
        (asks("SCOREP_METRIC_PLUGINS", "nccl_series_plugin"), name_of(series)),
        (asks("SCOREP_SUBSTRATE_PLUGINS", "nccl"), FILE.to_owned()),
    ];
    let asked =
        of_score_p.into_iter().filter(|(asked, _)| *asked).map(|(_, file)| LibraryName { file, host: "Score-P" });
    let file = ours.map_or_else(|| name_of(nccl), str::to_owned);
    std::iter::once(LibraryName { file, host: "NCCL" }).chain(asked).collect()
}

/// Checks whether all names lead to one image in memory.
fn one_image(images: &[(String, usize, PathBuf)]) -> Option<DoctorFinding> {
    let (first, image, path) = images.first()?;
    if let Some((other, _, copy)) = images.iter().find(|(_, other, _)| other != image) {
        let what = format!(
            "{other} ({}) is another library than {first} ({}): a copy knows nothing of the first",
            copy.display(),
            path.display()
        );
        return Some(DoctorFinding::new(Code::LibraryCopy, what, format!("make both symbolic links to one {FILE}")));
    }
    let names: Vec<&str> = images.iter().map(|(name, _, _)| name.as_str()).collect();
    Some(DoctorFinding::good(
        Code::LibraryGood,
        format!("{}, version {}, as {}", path.display(), env!("CARGO_PKG_VERSION"), names.join(", ")),
    ))
}
