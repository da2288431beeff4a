//! Checks of the library's own settings: wrong values, unknown names, and places that cannot be written to.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use crate::installed::loader::{self, Features, Loaded};
use crate::launch::ranks;
use common::config::{Settings, instead, is_unknown, nearest};
use common::files;
use present::output::place::{self, Unfit};
use std::path::{Path, PathBuf};

/// Returns all findings on the settings.
pub(crate) fn check(around: &Surroundings, features: Option<&Features>) -> Vec<DoctorFinding> {
    let (settings, complaints) = around.settings();
    let mut findings: Vec<DoctorFinding> = complaints
        .into_iter()
        .map(|line| DoctorFinding::new(Code::SettingValue, line, "`scorep-nccl env --all` lists the settings"))
        .collect();
    let unknown = around.names().filter(|name| is_unknown(name));
    findings.extend(unknown.map(|name| {
        let cure =
            instead(name).map(str::to_owned).or_else(|| nearest(name).map(|near| format!("{near} may be meant")));
        let cure = cure.unwrap_or_else(|| "`scorep-nccl env --all` lists the settings".into());
        DoctorFinding::new(Code::SettingUnknown, format!("{name} is no setting"), cure)
    }));
    let in_it = |directory: &Path| place::check_directory(directory, directory);
    type Check<'a> = &'a dyn Fn(&Path) -> Result<(), Unfit>;
    let places: [(&str, &Option<PathBuf>, Check<'_>); 4] = [
        ("NCCL_SCOREP_SUMMARY", &settings.summary, &place::check),
        ("NCCL_SCOREP_RECORD", &settings.record, &in_it),
        ("NCCL_SCOREP_STATUS", &settings.status, &in_it),
        ("NCCL_SCOREP_PROM_DIR", &settings.prom_dir, &place::check_existing),
    ];
    findings.extend(places.into_iter().filter_map(|(name, place, check)| {
        let what = format!("{name}: {}", check(&files::expand(place.as_deref()?)).err()?);
        Some(DoctorFinding::new(Code::SettingPath, what, "name another place, on all nodes"))
    }));
    findings.extend(chain(&settings));
    findings.extend(features.and_then(|features| otel(around, &settings, features)));
    let shared = settings.summary.as_deref().and_then(|summary| ranks::shared_name(summary, |name| around.text(name)));
    findings.extend(shared.map(|what| DoctorFinding::new(Code::SummaryShared, what, ranks::CURE)));
    findings
}

/// Checks whether the second plugin is found under the names that NCCL would try.
fn chain(settings: &Settings) -> Option<DoctorFinding> {
    let name = settings.chain.as_deref()?;
    let mut words = Vec::new();
    for tried in [name.to_owned(), format!("libnccl-profiler-{name}.so")] {
        match loader::load(Path::new(&tried)) {
            Loaded::Other => return None,
            Loaded::Ours { .. } => {
                words = vec!["it is this library itself".to_owned()];
                break;
            }
            Loaded::Nothing(said) => words.push(said),
        }
        if name.contains('/') {
            break;
        }
    }
    let what = format!("NCCL_SCOREP_CHAIN={name} is no plugin that loads: {}", words.join("; "));
    Some(DoctorFinding::new(Code::ChainMissing, what, "name a profiler plugin that the loader finds, or its path"))
}

/// Checks whether the library was built with the exports that are asked for, and has the protocol.
fn otel(around: &Surroundings, settings: &Settings, features: &Features) -> Option<DoctorFinding> {
    if features.otel() {
        let protocols = ["OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
        let (name, protocol) = protocols.into_iter().find_map(|name| Some((name, around.text(name)?)))?;
        let is_other = settings.otel && protocol.trim() != "http/protobuf";
        let what = format!("{name} names another protocol than http/protobuf: OTLP goes over HTTP alone");
        return is_other.then(|| DoctorFinding::new(Code::SettingValue, what, "set http/protobuf, or leave it out"));
    }
    let asked = match (settings.otel, &settings.prom_dir) {
        (true, _) => "NCCL_SCOREP_OTEL=on",
        (_, Some(_)) => "NCCL_SCOREP_PROM_DIR",
        _ => return None,
    };
    let what = format!("{asked}: the library was built without OpenTelemetry, and exports nothing");
    let cure = "build it with -DSCOREP_NCCL_OTEL=ON, or leave the setting out";
    Some(DoctorFinding::new(Code::OtelMissing, what, cure))
}
