//! The numbers that are kept, and what they were taken with.

use crate::support::callgrind::Counts;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Set to take a new baseline instead of comparing with it.
pub(crate) const TAKE: &str = "SCOREP_NCCL_TAKE_BASELINE";
/// How to.
const HOW: &str = "`make instructions-baseline` takes a new baseline";
/// What a callback may take more.
const MOST: f64 = 1.05;
/// The same where another compiler has made the library.
const MOST_ELSEWHERE: f64 = 1.25;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Baseline {
    /// The compiler that made the library, as the library says.
    rustc: String,
    machine: String,
    /// Instructions a call.
    pub(crate) paths: Counts,
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/instructions/baseline.json")
}

impl Baseline {
    /// With nothing counted yet.
    pub(crate) fn of(library: &Path) -> Self {
        let text = crate::support::tool::succeed(Command::new("readelf").arg("--string-dump=.comment").arg(library));
        let rustc =
            text.lines().find_map(|line| line.split_once("rustc version ")).map_or("", |(_, version)| version.trim());
        assert!(!rustc.is_empty(), "{} does not say what made it:\n{text}", library.display());
        let machine = format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS);
        Self { rustc: rustc.to_owned(), machine, paths: Counts::new() }
    }

    pub(crate) fn read() -> Self {
        serde_json::from_slice(&std::fs::read(file()).unwrap()).unwrap()
    }

    pub(crate) fn write(&self) {
        std::fs::write(file(), serde_json::to_string_pretty(self).unwrap() + "\n").unwrap();
    }

    /// Why it cannot be compared with at all.
    pub(crate) fn of_another_machine(&self, now: &Self) -> Option<String> {
        (self.machine != now.machine).then(|| {
            format!("the instructions' baseline was taken on {}; this is {}. {HOW}", self.machine, now.machine)
        })
    }

    /// Why it can be compared with only roughly.
    pub(crate) fn of_another_compiler(&self, now: &Self) -> Option<String> {
        let (kept, now) = (&self.rustc, &now.rustc);
        (kept != now).then(|| {
            format!("the instructions' baseline was taken with rustc {kept}; this is {now}, so 25 % more are let pass. {HOW}")
        })
    }

    /// What is worse, and what is better, one line each.
    pub(crate) fn compare(&self, now: &Self) -> (Vec<String>, Vec<String>) {
        let (mut worse, mut better) = (Vec::new(), Vec::new());
        let most = if self.of_another_compiler(now).is_some() { MOST_ELSEWHERE } else { MOST };
        let names = self.paths.keys().chain(now.paths.keys().filter(|name| !self.paths.contains_key(*name)));
        for name in names {
            let (kept, now) = (self.paths.get(name), now.paths.get(name));
            match (kept, now) {
                (Some(&kept), Some(&now)) if now > kept * most => {
                    worse.push(format!(
                        "{name}: {now} instructions a call, {kept} in the baseline. If that must be, {HOW}"
                    ));
                }
                (Some(&kept), Some(&now)) if now * most < kept => {
                    better.push(format!(
                        "{name}: {now} instructions a call, {kept} in the baseline, which wants to be told: {HOW}"
                    ));
                }
                (Some(_), Some(_)) => {}
                _ => worse.push(format!("{name}: {kept:?} in the baseline, {now:?} now; {HOW}")),
            }
        }
        (worse, better)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(paths: &[(&str, f64)]) -> Baseline {
        let paths = paths.iter().map(|&(name, count)| (name.to_owned(), count)).collect();
        Baseline { rustc: "1".into(), machine: "here".into(), paths }
    }

    #[test]
    fn five_in_a_hundred_more_is_worse_and_as_much_less_is_better() {
        let kept = with(&[("a", 100.0), ("b", 100.0), ("c", 100.0), ("gone", 1.0)]);
        let (worse, better) = kept.compare(&with(&[("a", 105.0), ("b", 105.1), ("c", 95.0), ("new", 1.0)]));
        let begin =
            |lines: &[String]| lines.iter().map(|line| line.split(':').next().unwrap().to_owned()).collect::<Vec<_>>();
        assert_eq!(
            (begin(&worse), begin(&better)),
            (vec!["b".into(), "gone".into(), "new".into()], vec!["c".to_owned()])
        );
        assert!(worse[0].contains("105.1") && worse[0].contains("100 in the baseline") && worse[0].contains(HOW));
    }

    #[test]
    fn another_compiler_may_make_more_and_another_machine_is_no_comparison() {
        let (kept, mut now) = (with(&[("a", 100.0), ("b", 100.0)]), with(&[("a", 125.0), ("b", 125.1)]));
        assert_eq!((kept.of_another_compiler(&now), kept.of_another_machine(&now)), (None, None));
        assert_eq!(kept.compare(&now).0.len(), 2);
        now.rustc = "2".into();
        assert!(kept.of_another_compiler(&now).unwrap().contains("rustc 1; this is 2"));
        let (worse, _) = kept.compare(&now);
        assert!(worse.len() == 1 && worse[0].starts_with("b:"), "{worse:?}");
        now.machine = "there".into();
        assert!(kept.of_another_machine(&now).unwrap().contains("taken on here; this is there"));
    }
}
