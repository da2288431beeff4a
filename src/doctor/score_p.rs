//! Checks of Score-P: its release, what the lanes need of it, and whether its variables fit together.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use super::{program, score_p_memory};
use crate::installed::probe::{self, NoAnswer};
use common::metric::{counters, former_series, in_place_of};
use object::read::elf::{ElfFile64, FileHeader};
use object::{Object, ObjectSymbol, ReadCache};
use scorep_substrate::lacking;
use scorep_substrate::release::{self, Release};
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Score-P's program that describes an installation.
const CONFIG: &str = "scorep-config";

/// An installation, as its scorep-config describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScoreP {
    version: String,
    prefix: PathBuf,
}

impl ScoreP {
    /// Returns the installation of the `scorep-config` in PATH.
    ///
    /// # Errors
    /// When there is no such program, or it gives no answer.
    pub(crate) fn find() -> Result<Self, NoAnswer> {
        let ask = |what: &str| Ok::<_, NoAnswer>(probe::program(CONFIG, &[what.as_ref()])?.trim().to_owned());
        Ok(Self { version: ask("--version")?, prefix: ask("--prefix")?.into() })
    }

    /// Returns the directory of its libraries, in which it also looks for plugins.
    pub(crate) fn libraries(&self) -> PathBuf {
        let places = ["lib", "lib64"].map(|place| self.prefix.join(place));
        let has = |place: &&PathBuf| {
            std::fs::read_dir(place).into_iter().flatten().flatten().any(|entry| is_measurement(&entry.path()))
        };
        places.iter().find(has).unwrap_or(&places[0]).clone()
    }

    /// Returns the path of a program of it.
    fn program(&self, name: &str) -> PathBuf {
        self.prefix.join("bin").join(name)
    }

    fn introduced(&self) -> Vec<DoctorFinding> {
        let name = format!("Score-P {} ({})", self.version, self.prefix.display());
        match self.lanes() {
            Ok(Some(release)) => {
                vec![DoctorFinding::good(
                    Code::ScorePGood,
                    format!("{name}: counters, summary, lanes; tried: {}", release.name),
                )]
            }
            Ok(None) => {
                let tried = release::TRIED.map(|release| release.name).join(" and ");
                let what =
                    format!("{name} is a release that was not tried; {tried} were. Counters and summary should work");
                let cure = "lanes are tried when the measurement begins (NCCL_SCOREP_LANES=on); see its first lines";
                vec![DoctorFinding::good(Code::ScorePGood, name), DoctorFinding::new(Code::ScorePVersion, what, cure)]
            }
            Err(why) => {
                let cure = "everything but lanes, series and host regions works; a shared Score-P 8 or 9 has them";
                let lanes = DoctorFinding::new(Code::ScorePLanes, format!("no lanes: {why}"), cure);
                vec![DoctorFinding::good(Code::ScorePGood, name), lanes]
            }
        }
    }

    /// Returns the release of its library, if it was tried.
    ///
    /// # Errors
    /// Why its library has no lanes, in words.
    fn lanes(&self) -> Result<Option<Release>, String> {
        let directory = self.libraries();
        let libraries = std::fs::read_dir(&directory).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut libraries: Vec<PathBuf> = libraries.filter(|path| is_shared(path)).collect();
        libraries.sort();
        let tried = libraries.iter().find_map(|path| Some((path, release::of_file(path)?)));
        let (library, release) = match (tried, libraries.last()) {
            (Some((path, release)), _) => (path, Some(release)),
            (None, Some(path)) => (path, None),
            (None, None) => return Err(format!("{} has no libscorep_measurement.so", directory.display())),
        };
        let exported = exports(library).map_err(|error| format!("{}: {error}", library.display()))?;
        match lacking(|symbol| exported.contains(symbol)) {
            Some(missing) => Err(format!("{} does not export {missing}", library.display())),
            None => Ok(release),
        }
    }
}

fn is_measurement(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libscorep_measurement."))
}

fn is_shared(path: &Path) -> bool {
    is_measurement(path) && path.file_name().is_some_and(|name| name.to_string_lossy().contains(".so"))
}

/// Returns the functions and variables that a library exports.
fn exports(library: &Path) -> Result<HashSet<String>, Box<dyn std::error::Error>> {
    let file = ReadCache::new(File::open(library)?);
    let elf = ElfFile64::<object::Endianness, _>::parse(&file)?;
    elf.elf_header().endian()?;
    Ok(elf
        .dynamic_symbols()
        .filter(ObjectSymbol::is_definition)
        .filter_map(|symbol| Some(symbol.name().ok()?.to_owned()))
        .collect())
}

/// Returns all findings on Score-P.
pub(crate) fn check(
    around: &Surroundings,
    found: Result<&ScoreP, &NoAnswer>,
    programs: &[PathBuf],
) -> Vec<DoctorFinding> {
    let mut findings = match found {
        Ok(score_p) => score_p.introduced(),
        Err(error @ (NoAnswer::Late | NoAnswer::Failed(_))) => {
            let what = format!("{CONFIG} in PATH gives no answer: {error}. Nothing is known of Score-P");
            vec![DoctorFinding::new(
                Code::ScorePSilent,
                what,
                format!("see what `{CONFIG} --version` does, and load another module"),
            )]
        }
        Err(NoAnswer::Io(_)) => vec![DoctorFinding::new(
            Code::ScorePMissing,
            "no scorep-config in PATH; without Score-P the figures are those of --summary alone",
            "load Score-P's module, if the job is to be measured with it",
        )],
    };
    findings.extend(program::check(programs).filter(|finding| found.is_ok() || finding.code == Code::ScorePThreads));
    if found.is_ok()
        || ["SCOREP_METRIC_PLUGINS", "SCOREP_SUBSTRATE_PLUGINS"].iter().any(|name| around.text(name).is_some())
    {
        findings.extend(variables(around, found.ok()));
    }
    findings
}

/// Checks whether Score-P's variables fit together.
fn variables(around: &Surroundings, score_p: Option<&ScoreP>) -> Vec<DoctorFinding> {
    let mut findings = Vec::new();
    let mut tell = |code, what: String, cure: &str| findings.push(DoctorFinding::new(code, what, cure));
    for name in ["SCOREP_METRIC_PLUGINS", "SCOREP_SUBSTRATE_PLUGINS", "SCOREP_METRIC_NCCL_PLUGIN"] {
        if let Some(entry) = around.list(name).into_iter().find(|entry| entry.trim() != entry) {
            tell(
                Code::ScorePBlank,
                format!("{name} has a blank in \"{entry}\": Score-P reads it as part of the name"),
                "write the list without blanks",
            );
        }
    }
    let plugins = around.list("SCOREP_METRIC_PLUGINS");
    let asks = |plugin: &str| plugins.iter().any(|entry| entry.trim() == plugin);
    if !asks("nccl_plugin") {
        let cure = "start the job through `scorep-nccl run --`, or add nccl_plugin to SCOREP_METRIC_PLUGINS";
        tell(
            Code::ScorePNotAsked,
            "SCOREP_METRIC_PLUGINS does not name nccl_plugin: no counters, and no lanes".into(),
            cure,
        );
    } else if around.text("SCOREP_METRIC_NCCL_PLUGIN").is_none() {
        let what = "SCOREP_METRIC_NCCL_PLUGIN is not set: Score-P is asked for no counter";
        tell(Code::ScorePNoCounters, what.into(), "set it to default, or to names of counters");
    }
    let known = counters();
    let is_known =
        |token: &str| ["default", "*", ""].contains(&token) || known.iter().any(|counter| counter.name == token);
    if let Some(unknown) = around.list("SCOREP_METRIC_NCCL_PLUGIN").into_iter().find(|token| !is_known(token.trim())) {
        let what = format!("SCOREP_METRIC_NCCL_PLUGIN names {unknown}, which is no counter");
        tell(Code::ScorePCounter, what, &in_place_of(&unknown));
    }
    if !around.list("SCOREP_SUBSTRATE_PLUGINS").iter().any(|entry| entry.trim() == "nccl") {
        let cure = "start the job through `scorep-nccl run --`, or add nccl to SCOREP_SUBSTRATE_PLUGINS";
        tell(Code::ScorePNoSummary, "SCOREP_SUBSTRATE_PLUGINS does not name nccl: no summary of the job".into(), cure);
    }
    let (profiling, tracing) =
        (around.is_on("SCOREP_ENABLE_PROFILING", true), around.is_on("SCOREP_ENABLE_TRACING", false));
    if asks("nccl_series_plugin") && !tracing {
        let what = "the series are in traces alone, and SCOREP_ENABLE_TRACING is off";
        tell(Code::ScorePSeries, what.into(), "SCOREP_ENABLE_TRACING=true, or without nccl_series_plugin");
    }
    let former = |token: &str| Some((token.trim().to_owned(), former_series(token.trim())?.name));
    if let Some((former, name)) = around.list("SCOREP_METRIC_NCCL_SERIES_PLUGIN").iter().find_map(|token| former(token))
    {
        tell(
            Code::ScorePSeriesName,
            format!("SCOREP_METRIC_NCCL_SERIES_PLUGIN names {former}, which is {name} now, one of each communicator"),
            "docs/metrics.md tells how series are named; default stands for those of the first communicators",
        );
    }
    if !profiling && !tracing {
        let what = "SCOREP_ENABLE_PROFILING and SCOREP_ENABLE_TRACING are both off: Score-P keeps nothing";
        tell(Code::ScorePNothing, what.into(), "switch one of them on");
    }
    if tracing {
        findings.extend(score_p_memory::check(around, profiling, score_p.map(|it| it.program("scorep-score"))));
    }
    findings.extend(directory(around));
    findings
}

/// Checks whether ranks that torchrun has started without MPI would share an experiment directory.
fn directory(around: &Surroundings) -> Option<DoctorFinding> {
    around.text("TORCHELASTIC_RUN_ID")?;
    let rank = around.text("RANK")?;
    let given = around.text("SCOREP_EXPERIMENT_DIRECTORY").unwrap_or_default();
    let name = given.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let own = name.split(|letter: char| !letter.is_ascii_digit()).any(|number| number == rank);
    let what =
        "torchrun has started this process: without MPI, ranks that share an experiment directory destroy each other's";
    let cure =
        "torchrun --no-python ... scorep-nccl run -- CMD, or a SCOREP_EXPERIMENT_DIRECTORY with the rank in its name";
    (!own).then(|| DoctorFinding::new(Code::ScorePDirectory, what, cure))
}
