//! Tables of the bytes over NVLink, beside those of NCCL's operations, and of network adapters.

use super::figure::{bytes, count, number};
use super::table::{TextTable, View, others};
use crate::base::visible::visible;
use crate::summary::{NvLinkGpu, Summary, SummaryProcess};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Writes the tables. Empty if nothing was counted.
pub(super) fn tables(summary: &Summary, view: &View) -> String {
    let processes: Vec<&SummaryProcess> = summary.processes.iter().filter(|process| process.nvlink.is_some()).collect();
    if processes.is_empty() {
        return String::new();
    }
    nvlink(&processes, view) + &adapters(&processes, view)
}

fn nvlink(processes: &[&SummaryProcess], view: &View) -> String {
    let gpus: Vec<(&SummaryProcess, &NvLinkGpu)> = processes
        .iter()
        .flat_map(|process| process.nvlink.iter().flat_map(|of| &of.gpus).map(move |gpu| (*process, gpu)))
        .collect();
    let mut text = String::new();
    if !gpus.is_empty() {
        let header =
            ["process", "GPU", "sent", "NCCL sent", "ratio sent", "received", "NCCL received", "ratio received"];
        let dispensable = ["NCCL received", "ratio received", "received", "process"];
        let mut table = TextTable::new(&header, 2, &dispensable);
        for (process, gpu) in gpus.iter().take(view.rows) {
            let shown = |value: Option<u64>| value.map_or_else(|| "-".into(), bytes);
            table.add_row([
                process.process.to_string(),
                visible(&gpu.gpu),
                shown(gpu.sent_bytes),
                shown(gpu.nccl_sent_bytes),
                number(gpu.sent_ratio, 3),
                shown(gpu.received_bytes),
                shown(gpu.nccl_received_bytes),
                number(gpu.received_ratio, 3),
            ]);
        }
        let _ = writeln!(
            text,
            "\nBytes over NVLink: all traffic of the GPU, of all processes, as NVML counts it; beside it the bytes that \
             NCCL's operations of the process should have moved\n{}",
            table.shown(view.width).trim_end()
        );
        text += &others(gpus.len(), view, "");
    }
    text + &remarks(processes, &gpus)
}

/// Returns lines about figures that are absent, each once.
fn remarks(processes: &[&SummaryProcess], gpus: &[(&SummaryProcess, &NvLinkGpu)]) -> String {
    let mut reasons: BTreeMap<String, u64> = BTreeMap::new();
    for process in processes {
        let Some(of) = &process.nvlink else { continue };
        if let Some(why) = &of.absent {
            *reasons.entry(format!("no bytes over NVLink: {}", visible(why))).or_default() += 1;
        }
        if of.old || of.gpus.iter().any(|gpu| gpu.old) {
            *reasons
                .entry("NVML did not answer at the end: these are the bytes of an earlier moment".into())
                .or_default() += 1;
        }
    }
    let mut unknown: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, gpu) in gpus {
        if let Some(why) = &gpu.absent {
            *reasons.entry(format!("no bytes over NVLink: {}", visible(why))).or_default() += 1;
        }
        if gpu.set_back > 0 {
            *reasons.entry("a counter of NVML's went back: the bytes until then are lost".into()).or_default() += 1;
        }
        gpu.nccl_unknown.iter().for_each(|(why, count)| *unknown.entry(why).or_default() += count);
    }
    let mut text = String::new();
    for (reason, times) in reasons {
        let times = if times > 1 { format!(" ({} times)", count(times)) } else { String::new() };
        let _ = writeln!(text, "{reason}{times}");
    }
    if !unknown.is_empty() {
        let all = unknown.values().copied().fold(0, u64::saturating_add);
        let unknown: Vec<_> = unknown.iter().map(|(why, of)| format!("{} {}", visible(why), count(*of))).collect();
        let _ = writeln!(
            text,
            "no ratio where the bytes of operations are not known: {} operations ({})",
            count(all),
            unknown.join(", ")
        );
    }
    // without a table above, the lines stand for themselves
    if gpus.is_empty() && !text.is_empty() { format!("\n{text}") } else { text }
}

fn adapters(processes: &[&SummaryProcess], view: &View) -> String {
    // processes of a node read the same counters, from different moments on
    let mut all: BTreeMap<(&str, &str), [u64; 2]> = BTreeMap::new();
    for process in processes {
        for adapter in process.nvlink.iter().flat_map(|of| &of.adapters) {
            let host = process.origin.host.as_deref().unwrap_or_default();
            let most = all.entry((host, &adapter.name)).or_default();
            let now = [adapter.sent_bytes, adapter.received_bytes];
            most.iter_mut().zip(now).for_each(|(most, now)| *most = now.max(*most));
        }
    }
    all.retain(|_, bytes| bytes.iter().any(|&bytes| bytes > 0));
    if all.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(&["host", "adapter", "sent", "received"], 2, &["host"]);
    for ((host, adapter), [sent, received]) in all.iter().take(view.rows) {
        table.add_row([visible(host), visible(adapter), bytes(*sent), bytes(*received)]);
    }
    let mut text =
        format!("\nBytes over the nodes' network adapters, of all processes\n{}\n", table.shown(view.width).trim_end());
    text += &others(all.len(), view, "");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Adapter, NvLink};

    fn shown(gpus: Vec<NvLinkGpu>, absent: Option<&str>, adapters: Vec<Adapter>) -> String {
        let mut summary = Summary::of_nothing("");
        let absent = absent.map(str::to_owned);
        summary.processes[0].nvlink = Some(NvLink { seconds: 3.0, old: false, absent, gpus, adapters });
        summary.processes[0].origin.host = Some("node7".into());
        tables(&summary, &View::default())
    }

    fn gpu() -> NvLinkGpu {
        NvLinkGpu {
            gpu: "0000:0A:00.0".into(),
            sent_bytes: Some(3 << 20),
            received_bytes: Some(0),
            nccl_sent_bytes: Some(2 << 20),
            sent_ratio: Some(1.5),
            ..NvLinkGpu::default()
        }
    }

    #[test]
    fn bytes_stand_beside_those_of_nccl() {
        assert_eq!(tables(&Summary::of_nothing(""), &View::default()), "");
        let text = shown(vec![gpu()], None, vec![]);
        let line = text.lines().find(|line| line.contains("0A:00")).unwrap();
        let cells: Vec<&str> = line.split(['│', '┆']).map(str::trim).collect();
        assert_eq!(cells[2..7], ["0000:0A:00.0", "3.00 MiB", "2.00 MiB", "1.500", "0 B"]);
        assert!(text.starts_with("\nBytes over NVLink: all traffic of the GPU, of all processes"), "{text}");
        assert!(!text.contains("no ratio") && !text.contains("adapters"), "{text}");
    }

    #[test]
    fn what_is_absent_is_said_once() {
        let absent = || NvLinkGpu { absent: Some("Not Supported (3)".into()), sent_bytes: None, ..gpu() };
        let unknown = [("algorithm NVLS".to_owned(), 7)].into();
        let text = shown(vec![absent(), NvLinkGpu { nccl_unknown: unknown, set_back: 2, ..absent() }], None, vec![]);
        assert!(text.contains("\nno bytes over NVLink: Not Supported (3) (2 times)\n"), "{text}");
        assert!(text.contains("\na counter of NVML's went back: the bytes until then are lost\n"), "{text}");
        assert!(text.ends_with("are not known: 7 operations (algorithm NVLS 7)\n"), "{text}");
        assert_eq!(shown(vec![], Some("NVML is not there"), vec![]), "\nno bytes over NVLink: NVML is not there\n");
    }

    #[test]
    fn adapters_that_moved_bytes_are_there() {
        let adapter = |name: &str, sent_bytes| Adapter { name: name.into(), sent_bytes, received_bytes: 0 };
        let text = shown(vec![], None, vec![adapter("mlx5_0:1", 2048), adapter("eth0", 0)]);
        assert!(text.contains("node7") && text.contains("mlx5_0:1") && text.contains("2.00 KiB"), "{text}");
        assert!(!text.contains("eth0") && !text.contains("NVLink"), "{text}");
    }
}
