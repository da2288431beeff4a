//! The settings of NCCL's that take ways to run operations away from it, as the process has them in its environment.
//!
//! NCCL puts the settings of its files (`/etc/nccl.conf`) into the environment before it loads a plugin. Those of the
//! program's configuration (`ncclConfig_t`) are not known.

use std::collections::BTreeMap;

/// Settings that take algorithms, protocols, channels, threads, or ways between GPUs away.
const SETTINGS: [&str; 15] = [
    "NCCL_ALGO",
    "NCCL_PROTO",
    "NCCL_MIN_NCHANNELS",
    "NCCL_MAX_NCHANNELS",
    "NCCL_MIN_CTAS",
    "NCCL_MAX_CTAS",
    "NCCL_NTHREADS",
    "NCCL_THREAD_THRESHOLDS",
    "NCCL_NVLS_ENABLE",
    "NCCL_COLLNET_ENABLE",
    "NCCL_PAT_ENABLE",
    "NCCL_P2P_DISABLE",
    "NCCL_P2P_LEVEL",
    "NCCL_SHM_DISABLE",
    "NCCL_NET",
];

/// Returns those that are in force, with their values.
pub(super) fn in_force(lookup: impl Fn(&str) -> Option<String>) -> BTreeMap<String, String> {
    let set = |name: &str| Some((name.to_owned(), lookup(name).filter(|value| !value.is_empty())?));
    SETTINGS.into_iter().filter_map(set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_that_take_ways_away_are_kept_and_others_are_not() {
        let all = [("NCCL_ALGO", "ring"), ("NCCL_NET", "Socket"), ("NCCL_PROTO", ""), ("NCCL_DEBUG", "INFO")];
        let found = in_force(|name| all.iter().find(|it| it.0 == name).map(|it| it.1.to_owned()));
        assert_eq!(
            found.into_iter().map(|(name, value)| name + "=" + &value).collect::<Vec<_>>(),
            ["NCCL_ALGO=ring", "NCCL_NET=Socket"]
        );
    }
}
