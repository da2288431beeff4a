//! The callbacks of a training step and their instructions, by preset: those of a recorded step, each with the
//! baseline's instructions of its kind. docs/overhead.md has them.

use crate::instructions::baseline::Baseline;
use crate::support::{lines, tool};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A training's recording of one rank, and its number of steps: each has 32 all-reduces, 4 sends and 4 receives.
const RUN: &str = "nodes2x2_train/train.r0.jsonl.gz";
const STEPS: u64 = 6;

/// Event types that each preset adds to those of the one before.
const PRESETS: [(&str, &[&str]); 3] = [
    ("api", &["GroupApi", "CollApi", "P2pApi", "Coll", "P2p"]),
    ("light", &["KernelCh", "KernelLaunch"]),
    ("network", &["ProxyOp", "ProxyStep"]),
];

/// The events of a recording, as far as the kinds of their callbacks depend on them.
#[derive(Default)]
struct Events {
    types: HashMap<u64, String>,
    /// Proxy operations and steps that receive.
    receiving: HashSet<u64>,
    /// Steps that have reported their wait for the peer.
    waiting: HashSet<u64>,
}

impl Events {
    /// Returns the type of a callback's event, and the baseline's kind of the callback; `None` for other lines.
    fn kind(&mut self, line: &Value) -> Option<(String, String)> {
        let callback = line["cb"].as_str().filter(|callback| ["start", "state", "stop"].contains(callback))?;
        let handle = line["h"].as_u64()?;
        if callback == "start" {
            self.types.insert(handle, line["type"].as_str()?.to_owned());
            let is_of_receive = line["parent"].as_u64().is_some_and(|parent| self.receiving.contains(&parent));
            if line["send"] == 0 || line["type"] == "ProxyStep" && is_of_receive {
                self.receiving.insert(handle);
            }
        }
        let of_type = self.types.get(&handle)?.clone();
        let step = if self.receiving.contains(&handle) { "receive_step" } else { "send_step" };
        let event = match of_type.as_str() {
            "GroupApi" => "group_api",
            "CollApi" | "P2pApi" => "coll_api",
            "Coll" => "coll",
            "P2p" => "p2p",
            "KernelCh" => "kernel_ch",
            // nothing is noted of it, as of a step's states that are no waits
            "ProxyOp" if callback == "state" => return Some((of_type, self.state(handle, 0))),
            "ProxyOp" => "proxy_op",
            "ProxyStep" if callback == "state" => return Some((of_type, self.state(handle, line["state"].as_u64()?))),
            "ProxyStep" => step,
            // a launch has a slot only where CUDA events time it
            _ if callback == "start" => return Some((of_type, "unused_start".to_owned())),
            _ => return Some((of_type, "null_stop".to_owned())),
        };
        Some((of_type, format!("{event}_{callback}")))
    }

    fn state(&mut self, step: u64, state: u64) -> String {
        let name = match state {
            8 => "send_gpu_wait",
            9 => "send_wait",
            10 => "receive_wait",
            11 => "receive_flush",
            12 => "receive_gpu_wait",
            20 if self.waiting.insert(step) => "send_peer_wait",
            20 => "send_peer_poll",
            _ => "unused",
        };
        format!("step_state_{name}")
    }
}

/// Returns the callbacks of a step and their instructions for each preset.
fn by_preset() -> [(u64, f64); 3] {
    let (_, lines) = lines::all(&tool::run(RUN));
    let baseline = Baseline::read();
    let mut events = Events::default();
    let mut sums = [(0, 0.0); 3];
    for (of_type, kind) in lines.iter().filter_map(|line| events.kind(line)) {
        let Some(first) = PRESETS.iter().position(|(_, types)| types.contains(&of_type.as_str())) else { continue };
        let instructions = baseline.paths[&kind];
        sums[first..].iter_mut().for_each(|(count, sum)| (*count, *sum) = (*count + 1, *sum + instructions));
    }
    assert!(sums.iter().all(|(count, _)| count % STEPS == 0), "{sums:?}");
    sums.map(|(count, sum)| (count / STEPS, sum / STEPS as f64))
}

/// Renewing the baseline may change the document's instructions by a percent without a new table.
#[test]
fn the_document_has_the_callbacks_and_instructions_of_a_step() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/overhead.md");
    let document = std::fs::read_to_string(document).unwrap();
    let (_, table) = document.split_once("### The callbacks of a step").unwrap();
    for ((preset, _), (callbacks, instructions)) in PRESETS.into_iter().zip(by_preset()) {
        let begin = format!("| `{preset}` | ");
        let row = table.lines().find(|line| line.starts_with(&begin)).unwrap();
        let row: Vec<&str> = row.split('|').map(str::trim).collect();
        let number = |text: &str| text.replace(',', "").parse::<f64>().unwrap();
        assert_eq!(number(row[2]), callbacks as f64, "{preset}: {instructions}");
        assert!((number(row[3]) / instructions - 1.0).abs() < 0.01, "{preset}: {instructions} instructions");
    }
}
