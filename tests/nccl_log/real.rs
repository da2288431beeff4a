//! Logs that NCCL of each release from 2.23 on wrote on two GPUs (tests/gpu/logs.sh): one of an ordinary run, and others
//! with forced choices: `logs/RELEASE.RUN.log.gz`, of two processes one behind the other.

use crate::nccl_log::{choices_of, kinds};
use serde_json::{Value, json};
use std::path::Path;

/// The releases.
const RELEASES: [&str; 10] =
    ["2.23.4", "2.24.3", "2.25.1", "2.26.5", "2.27.7", "2.28.9", "2.29.7", "2.30.7", "2.31.2", "2.32.3"];

fn of(release: &str, run: &str) -> Value {
    let file = format!("{}/tests/nccl_log/logs/{release}.{run}.log.gz", env!("CARGO_MANIFEST_DIR"));
    choices_of(&[Path::new(&file)])
}

/// Returns the kinds of the findings that are no warnings.
fn fallbacks(choices: &Value) -> Vec<&str> {
    kinds(choices).into_iter().filter(|kind| *kind != "warning").collect()
}

#[test]
fn each_release_has_one_communicator_with_its_connections_and_the_time_of_its_init() {
    for release in RELEASES {
        for (run, nodes, route, channels) in [
            ("ordinary", 1, "P2P/CUMEM", 24),
            ("no_p2p", 1, "SHM/direct", 4),
            ("two_nodes", 2, "NET/Socket", 2),
            ("one_channel", 1, "P2P/CUMEM", 1),
        ] {
            let choices = of(release, run);
            let communicators = choices["communicators"].as_array().unwrap();
            let [communicator] = &communicators[..] else { panic!("{release} {run}: {choices:#}") };
            let figures = ["nranks", "here", "nodes", "channels"].map(|name| communicator[name].as_u64().unwrap());
            assert_eq!(figures, [2, 2, nodes, channels], "{release} {run}");
            let routes: Vec<&Value> =
                communicator["routes"].as_array().unwrap().iter().map(|it| &it["route"]).collect();
            assert_eq!(routes, [route], "{release} {run}");
            assert!(
                communicator["releases"][0].as_str().unwrap().starts_with(&format!("{release}+cuda")),
                "{choices:#}"
            );
            assert_eq!((&communicator["networks"], &choices["unread"]), (&json!(["Socket"]), &json!(0)), "{release}");
            let init = &communicator["mean_init"];
            assert!(
                init["total"].as_f64().unwrap() > 0.0 && init["kernels"].as_f64().unwrap() > 0.0,
                "{release}: {init}"
            );
        }
    }
}

#[test]
fn forced_choices_are_found_and_ordinary_runs_have_none() {
    for release in RELEASES {
        assert_eq!(fallbacks(&of(release, "ordinary")), Vec::<&str>::new(), "{release}");
        // where NCCL looks for adapters and finds none, sockets are all there is; 2.28 does not look
        let sockets: &[&str] = if release.starts_with("2.28") { &["sockets"] } else { &[] };
        assert_eq!(fallbacks(&of(release, "two_nodes")), sockets, "{release}");
        for (run, kind, name, value) in [
            ("no_p2p", "inside_node", "NCCL_P2P_DISABLE", "1"),
            ("one_channel", "limited_channels", "NCCL_MAX_NCHANNELS", "1"),
        ] {
            let choices = of(release, run);
            assert_eq!(fallbacks(&choices), [kind], "{release} {run}: {choices:#}");
            let finding = choices["findings"].as_array().unwrap().iter().find(|it| it["kind"] == kind).unwrap();
            let setting = if kind == "inside_node" { &finding["settings"][0] } else { &finding["setting"] };
            assert_eq!(setting, &json!({ "name": name, "value": value }), "{release} {run}");
        }
    }
}
