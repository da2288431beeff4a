//! Checks of the settings file, and the origin of each setting where there is one.

use super::finding::{Code, DoctorFinding};
use super::surroundings::Surroundings;
use common::config::{FaultKind, SETTINGS, is_set};

/// Returns all findings on the settings file; none where no file is read.
pub(crate) fn check(around: &Surroundings) -> Vec<DoctorFinding> {
    let Some(file) = around.file() else { return Vec::new() };
    let mut findings: Vec<DoctorFinding> = Vec::new();
    if file.is_used {
        let what = format!("{}: the settings file of this job; the environment stands above it", file.path.display());
        findings.push(DoctorFinding::good(Code::SettingsFileGood, what));
    }
    findings.extend(file.faults.iter().map(|fault| {
        let code = match fault.kind {
            FaultKind::Refused => Code::SettingsFileRefused,
            FaultKind::Lines => Code::SettingsFileLine,
            FaultKind::Unknown => Code::SettingUnknown,
        };
        DoctorFinding::new(code, fault.what.clone(), fault.cure.clone())
    }));
    let given = around.given();
    findings.extend(SETTINGS.iter().filter_map(|setting| {
        let value = given.value(setting.name)?;
        let value = if is_set(&value) { value.to_string_lossy().into_owned() } else { "(the default)".into() };
        let origin = match (given.origin(setting.name), file.number(setting.name)) {
            (Some(origin), _) => origin,
            (None, Some(line)) => format!("environment, in place of {}:{line}", file.path.display()),
            (None, None) => "environment".into(),
        };
        Some(DoctorFinding::good(Code::SettingOrigin, format!("{}={value} ({origin})", setting.name)))
    }));
    findings
}
