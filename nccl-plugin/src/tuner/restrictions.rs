//! Settings of NCCL's that restrict its choice. NCCL's predictions are for what these leave, so the summary names them.

use common::origin::nccl_settings::OF_CHOICE;
use common::{log, notes};
use std::sync::atomic::{AtomicBool, Ordering};

/// Longest part of a value that is shown, characters.
const LONGEST: usize = 64;

/// Notes the settings that are in force, once.
pub(super) fn note(has_user: bool) {
    static DONE: AtomicBool = AtomicBool::new(false);
    if DONE.swap(true, Ordering::Relaxed) {
        return;
    }
    let lookup = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    if let Some(line) = restricted(lookup) {
        notes::add(line);
    }
    if let Some(line) = changed(has_user, lookup) {
        log::warn(&line);
        notes::add(line);
    }
}

/// Returns a line with the settings that restrict NCCL's choice, if there are any.
fn restricted(lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name: &&str| {
        let value = lookup(name).filter(|value| !value.is_empty())?;
        Some(format!("{name}={}", value.chars().take(LONGEST).collect::<String>()))
    };
    let all: Vec<String> = OF_CHOICE.iter().filter_map(set).collect();
    (!all.is_empty()).then(|| format!("NCCL chooses, and predicts, within {}", all.join(", ")))
}

/// Returns a line if NCCL chooses otherwise because it has a tuner, whatever this does: since NCCL 2.27, the policy
/// EFFICIENCY has no effect on all-gathers and reduce-scatters then. With a tuner of the user's, that holds without this
/// library, too.
fn changed(has_user: bool, lookup: impl Fn(&str) -> Option<String>) -> Option<String> {
    let policy = lookup("NCCL_CTA_POLICY")
        .filter(|policy| policy.starts_with('1') || policy.to_ascii_uppercase().contains("EFFICIENCY"))?;
    let is_overruled = ["NCCL_ALGO", "NCCL_PROTO"].iter().any(|name| lookup(name).is_some());
    (!has_user && !is_overruled).then(|| {
        let policy: String = policy.chars().take(LONGEST).collect();
        format!("NCCL_CTA_POLICY={policy} has no effect on registered buffers while NCCL has a tuner: unset NCCL_TUNER_PLUGIN")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of<'a>(pairs: &'a [(&str, &str)]) -> impl Fn(&str) -> Option<String> + Copy + 'a {
        |name| pairs.iter().find(|pair| pair.0 == name).map(|pair| pair.1.to_owned())
    }

    #[test]
    fn settings_that_restrict_nccl_are_named_with_their_values() {
        assert_eq!(restricted(of(&[("NCCL_DEBUG", "INFO"), ("NCCL_ALGO", "")])), None);
        let long = "x".repeat(100);
        let line = restricted(of(&[("NCCL_MAX_NCHANNELS", "1"), ("NCCL_ALGO", &long)])).unwrap();
        assert_eq!(line, format!("NCCL chooses, and predicts, within NCCL_ALGO={}, NCCL_MAX_NCHANNELS=1", &long[..64]));
    }

    #[test]
    fn a_policy_that_any_tuner_ends_is_named_where_there_was_no_tuner() {
        let efficient = ("NCCL_CTA_POLICY", "zero|efficiency");
        assert!(
            changed(false, of(&[efficient])).is_some() && changed(false, of(&[("NCCL_CTA_POLICY", "1")])).is_some()
        );
        assert!(changed(true, of(&[efficient])).is_none());
        assert!(changed(false, of(&[efficient, ("NCCL_ALGO", "RING")])).is_none());
        assert!(changed(false, of(&[("NCCL_CTA_POLICY", "ZERO")])).is_none() && changed(false, of(&[])).is_none());
    }
}
