//! Compares the results of all stages with those of one process.

use crate::outcome::{Fingerprint, Outcome};
use std::collections::BTreeMap;

/// How far norms may be apart, relative to the larger one: cuBLAS may choose another kernel for the same product. The
/// wrong micro-batch, or a gradient that is missing, makes differences of the order of 1.
const CLOSE: f64 = 1e-3;

/// The comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Results that were compared.
    pub compared: usize,
    /// Of these, the ones that are alike bit for bit.
    pub identical: usize,
    /// The greatest relative difference of two norms.
    pub apart: f64,
    /// What is wrong, by result.
    pub wrong: Vec<String>,
}

/// Compares the stages' results with those of one process.
pub fn compare(stages: &[Outcome], alone: &Outcome) -> Verdict {
    let mut verdict = Verdict { compared: 0, identical: 0, apart: 0.0, wrong: Vec::new() };
    let mut left: BTreeMap<&str, &Fingerprint> = BTreeMap::new();
    for fingerprint in &alone.fingerprints {
        left.insert(&fingerprint.name, fingerprint);
    }
    if left.is_empty() {
        verdict.wrong.push("there is nothing to compare with".into());
    }
    for (stage, own) in stages.iter().flat_map(|outcome| outcome.fingerprints.iter().map(|own| (outcome.stage, own))) {
        let Some(expected) = left.remove(own.name.as_str()) else {
            verdict.wrong.push(format!("{} of stage {stage} is there twice, or in no other run", own.name));
            continue;
        };
        verdict.compared += 1;
        if own.hash == expected.hash {
            verdict.identical += 1;
        }
        let apart = (own.norm - expected.norm).abs() / own.norm.abs().max(expected.norm.abs()).max(f64::MIN_POSITIVE);
        verdict.apart = verdict.apart.max(apart);
        // a norm that is no number is wrong, too
        if apart.is_nan() || apart > CLOSE {
            verdict.wrong.push(format!(
                "{} of stage {stage} has norm {:e}, in one process {:e}",
                own.name, own.norm, expected.norm
            ));
        }
    }
    verdict.wrong.extend(left.keys().map(|name| format!("no stage has {name}")));
    verdict
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { compared, identical, apart, wrong } = self;
        write!(to, "check: {compared} results compared with those of one process: {identical} alike bit for bit, ")?;
        write!(to, "norms apart by at most {apart:.1e}, {} wrong", wrong.len())?;
        wrong.iter().take(20).try_for_each(|wrong| write!(to, "\n  {wrong}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(stage: usize, prints: &[(&str, f64, u64)]) -> Outcome {
        let print = |&(name, norm, hash): &(&str, f64, u64)| Fingerprint { name: name.into(), norm, hash };
        Outcome { stage, fingerprints: prints.iter().map(print).collect(), ..Outcome::default() }
    }

    #[test]
    fn each_fault_is_found() {
        let alone = outcome(0, &[("a", 1.0, 1), ("b", 2.0, 2)]);
        let with = |first: &[(&str, f64, u64)], second: &[(&str, f64, u64)]| {
            compare(&[outcome(0, first), outcome(1, second)], &alone)
        };
        let right = with(&[("a", 1.0, 1)], &[("b", 2.0, 2)]);
        assert_eq!((right.compared, right.identical, right.wrong.len()), (2, 2, 0));
        let close = with(&[("a", 1.000_01, 7)], &[("b", 2.0, 2)]);
        assert_eq!((close.compared, close.identical, close.wrong.len()), (2, 1, 0));
        for wrong in [
            with(&[("a", 1.01, 7)], &[("b", 2.0, 2)]),
            with(&[("a", f64::NAN, 7)], &[("b", 2.0, 2)]),
            with(&[("a", 1.0, 1)], &[]),
            with(&[("a", 1.0, 1)], &[("b", 2.0, 2), ("b", 2.0, 2)]),
            with(&[("a", 1.0, 1), ("c", 1.0, 1)], &[("b", 2.0, 2)]),
            compare(&[], &outcome(0, &[])),
        ] {
            assert_eq!(wrong.wrong.len(), 1, "{wrong}");
        }
    }
}
