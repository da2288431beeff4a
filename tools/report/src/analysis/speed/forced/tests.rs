//! Settings, operations that ran as they demand, and operations that NCCL would run so, too.

use super::*;
use crate::analysis::tests::occurrences::job;
use common::links::{GpuLinks, ProcessLinks};

/// Four ranks on two nodes by `nnodes`, or on one, behind NVSwitches, and these settings.
fn forcing(nnodes: i32, settings: &[(&str, &str)]) -> Forcing {
    with_nvlinks(18, nnodes, settings)
}

fn with_nvlinks(nvlinks: u32, nnodes: i32, settings: &[(&str, &str)]) -> Forcing {
    let nodes = if nnodes == 1 { [0; 4] } else { [0, 0, 1, 1] };
    let mut job = job(&nodes, &[&[0, 1, 2, 3]]);
    job.communicators[0].nnodes = nnodes;
    let gpu = GpuLinks { nvlinks: Some(nvlinks), ..GpuLinks::default() };
    for process in &mut job.processes {
        process.links = Some(ProcessLinks { gpus: vec![gpu.clone()], adapters: vec![] });
    }
    // one process has them, as in a job whose launcher passes variables to some
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    job.processes[2].nccl_settings = settings.collect();
    Forcing::new(&job, &job.communicators[0])
}

/// Operations alone in their kernels.
fn on(channels: u8) -> Ran {
    Ran { channels, are_alone: true }
}

fn row(function: &str, bytes: u64, algorithm: &str, protocol: &str) -> SpeedRow {
    SpeedRow {
        function: function.into(),
        nranks: 4,
        nnodes: 1,
        from_bytes: bytes,
        to_bytes: bytes,
        algorithm: algorithm.into(),
        protocol: protocol.into(),
        ..SpeedRow::default()
    }
}

/// Returns the settings that force a row, without their proofs.
fn found(settings: &[(&str, &str)], row: &SpeedRow, channels: u8) -> Vec<String> {
    named(forcing(row.nnodes, settings).of_row(row, on(channels)))
}

fn named(text: Option<String>) -> Vec<String> {
    let text = text.unwrap_or_default();
    text.split("; ").filter(|it| !it.is_empty()).map(|it| it.split(" (").next().unwrap().to_owned()).collect()
}

#[test]
fn nothing_is_forced_without_settings() {
    for (algorithm, protocol) in [("TREE", "LL"), ("RING", "LL"), ("RING", "SIMPLE"), ("NVLS", "SIMPLE")] {
        for bytes in [8, 1 << 16, 1 << 20, 1 << 30] {
            let row = row("AllReduce", bytes, algorithm, protocol);
            assert_eq!(forcing(1, &[]).of_row(&row, on(1)), None);
            // settings that take nothing of use away
            let usual = [("NCCL_ALGO", "^NVLS"), ("NCCL_PROTO", "^LL128"), ("NCCL_MAX_NCHANNELS", "32")];
            assert_eq!(found(&usual, &row, 1), [""; 0]);
        }
    }
}

#[test]
fn a_tree_inside_a_node_is_forced_where_the_list_has_no_ring() {
    let tree = |protocol| row("AllReduce", 1 << 20, "TREE", protocol);
    assert_eq!(found(&[("NCCL_ALGO", "allreduce:tree")], &tree("LL"), 8), ["NCCL_ALGO=allreduce:tree"]);
    assert_eq!(found(&[("NCCL_ALGO", "^Ring")], &tree("SIMPLE"), 8), ["NCCL_ALGO=^Ring"]);
    assert_eq!(found(&[("NCCL_ALGO", "tree,ring")], &tree("LL"), 8), [""; 0]);
    // LL128 may be ahead for some sizes among four ranks, and for none among two
    assert_eq!(found(&[("NCCL_ALGO", "tree")], &tree("LL128"), 8), [""; 0]);
    assert_eq!(found(&[("NCCL_ALGO", "tree")], &SpeedRow { nranks: 2, ..tree("LL128") }, 8), ["NCCL_ALGO=tree"]);
    // of sums of 8-bit floats among more than eight ranks, NCCL takes trees itself
    assert_eq!(found(&[("NCCL_ALGO", "tree")], &SpeedRow { nranks: 8, ..tree("LL") }, 8), ["NCCL_ALGO=tree"]);
    assert_eq!(found(&[("NCCL_ALGO", "tree")], &SpeedRow { nranks: 9, ..tree("LL") }, 8), [""; 0]);
    // between nodes, NCCL takes trees itself; a ring there or here proves nothing
    assert_eq!(found(&[("NCCL_ALGO", "tree")], &SpeedRow { nnodes: 2, ..tree("LL") }, 8), [""; 0]);
    assert_eq!(found(&[("NCCL_ALGO", "ring")], &row("AllReduce", 8, "RING", "LL"), 8), [""; 0]);
}

#[test]
fn protocols_are_forced_for_sizes_at_which_nccl_takes_none_of_them() {
    // 4 MiB a rank are 16 MiB of an all-reduce, and 4 MiB of an all-gather as NCCL counts it
    let of = |function: &str, bytes, protocol| row(function, bytes, "RING", protocol);
    let ll = [("NCCL_PROTO", "LL")];
    assert_eq!(found(&ll, &of("AllReduce", 16 << 20, "LL"), 8), ["NCCL_PROTO=LL"]);
    assert_eq!(found(&ll, &of("AllReduce", (16 << 20) - 1, "LL"), 8), [""; 0]);
    assert_eq!(found(&ll, &of("AllGather", 4 << 20, "LL"), 8), ["NCCL_PROTO=LL"]);
    assert_eq!(found(&[("NCCL_PROTO", "LL,Simple")], &of("AllGather", 4 << 20, "LL"), 8), [""; 0]);
    let simple = [("NCCL_PROTO", "^LL,LL128")];
    assert_eq!(found(&simple, &of("AllReduce", 128 << 10, "SIMPLE"), 8), ["NCCL_PROTO=^LL,LL128"]);
    assert_eq!(found(&simple, &of("AllReduce", (128 << 10) + 1, "SIMPLE"), 8), [""; 0]);
    // over the network the bound is lower
    let between = |bytes| SpeedRow { nnodes: 2, ..of("AllReduce", bytes, "LL128") };
    assert_eq!(found(&[("NCCL_PROTO", "LL128")], &between(4 << 10), 8), ["NCCL_PROTO=LL128"]);
    assert_eq!(found(&[("NCCL_PROTO", "LL128")], &between(8 << 10), 8), [""; 0]);
    assert_eq!(found(&simple, &row("AllReduce", 8, "NVLS", "SIMPLE"), 8), [""; 0]);
}

#[test]
fn one_channel_is_forced_for_operations_that_have_more() {
    let of = |bytes| row("Broadcast", bytes, "RING", "SIMPLE");
    for setting in ["NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS"] {
        assert_eq!(found(&[(setting, "1")], &of(128 << 10), 1), [format!("{setting}=1")]);
    }
    assert_eq!(found(&[("NCCL_MAX_NCHANNELS", "1")], &of((128 << 10) - 1), 1), [""; 0]);
    // not in force, not known, and another limit
    assert_eq!(found(&[("NCCL_MAX_NCHANNELS", "1")], &of(1 << 20), 2), [""; 0]);
    assert_eq!(found(&[("NCCL_MAX_NCHANNELS", "1")], &of(1 << 20), 0), [""; 0]);
    assert_eq!(found(&[("NCCL_MAX_NCHANNELS", "2")], &of(1 << 20), 1), [""; 0]);
}

/// NCCL chooses for the operations of a group by their bytes together: 24 all-reduces of 256 KiB with `^LL` run by
/// LL128, as they do without the setting.
#[test]
fn of_operations_that_share_kernels_the_bytes_prove_nothing() {
    for (setting, row) in [
        (("NCCL_PROTO", "^LL"), row("AllReduce", 1 << 10, "RING", "LL128")),
        (("NCCL_PROTO", "LL"), row("AllReduce", 64 << 20, "RING", "LL")),
        (("NCCL_ALGO", "tree"), row("AllReduce", 1 << 20, "TREE", "LL")),
        (("NCCL_MAX_NCHANNELS", "1"), row("Broadcast", 1 << 20, "RING", "SIMPLE")),
    ] {
        let forcing = forcing(1, &[setting]);
        assert_eq!(named(forcing.of_row(&row, on(1))), [format!("{}={}", setting.0, setting.1)]);
        assert_eq!(forcing.of_row(&row, Ran { are_alone: false, ..on(1) }), None);
    }
    // links do not depend on bytes
    let p2p = forcing(1, &[("NCCL_P2P_DISABLE", "1")]);
    assert!(p2p.of_row(&row("AllReduce", 8, "RING", "LL"), Ran::default()).is_some());
}

#[test]
fn nvlinks_behind_switches_prove_that_a_way_is_kept_from_them() {
    let inside = row("AllGather", 8, "RING", "LL");
    let between = SpeedRow { nnodes: 2, ..inside.clone() };
    let sent = SpeedRow { function: "SendRecv".into(), ..between.clone() };
    let p2p = [("NCCL_P2P_DISABLE", "1"), ("NCCL_SHM_DISABLE", "1")];
    assert_eq!(
        forcing(1, &p2p).of_row(&inside, on(0)).unwrap(),
        "NCCL_P2P_DISABLE=1 (with NCCL_SHM_DISABLE; each GPU has 18 NVLinks or more)"
    );
    assert_eq!(found(&[("NCCL_P2P_LEVEL", "LOC")], &between, 0), ["NCCL_P2P_LEVEL=LOC"]);
    assert_eq!(found(&[("NCCL_P2P_DISABLE", "0"), ("NCCL_P2P_LEVEL", "NVL")], &inside, 0), [""; 0]);
    // two ranks of one machine that settings leave the network alone are two nodes to NCCL
    let mut pretended = job(&[0, 0], &[&[0, 1]]);
    pretended.communicators[0].nnodes = 2;
    for process in &mut pretended.processes {
        let gpu = GpuLinks { nvlinks: Some(18), ..GpuLinks::default() };
        process.links = Some(ProcessLinks { gpus: vec![gpu], adapters: vec![] });
        process.nccl_settings = [("NCCL_P2P_DISABLE".to_owned(), "1".to_owned())].into();
    }
    let pretended = Forcing::new(&pretended, &pretended.communicators[0]);
    assert!(pretended.of_row(&SpeedRow { nranks: 2, ..between.clone() }, on(0)).is_some());
    assert_eq!(found(&p2p, &row("AllReduce", 8, "NVLS", "SIMPLE"), 0), [""; 0]);
    // it may have stayed in a node
    assert_eq!(found(&p2p, &sent, 0), [""; 0]);
    // bridges join some of a machine's GPUs, perhaps not these
    for nvlinks in [0, 4, 12, 17] {
        assert_eq!(with_nvlinks(nvlinks, 1, &p2p).of_row(&inside, on(0)), None);
    }
}

#[test]
fn lists_are_read_as_nccl_reads_them() {
    let of = |list, function| ["RING", "TREE"].map(|it| excludes(list, function, it));
    assert_eq!(of("ring,collnetdirect;allreduce:tree,collnetdirect", "AllReduce"), [true, false]);
    assert_eq!(of("ring,collnetdirect;allreduce:tree,collnetdirect", "Reduce"), [false, true]);
    assert_eq!(of("^tree;broadcast:^ring", "AllReduce"), [false, true]);
    assert_eq!(of("broadcast:ring", "AllReduce"), [false, false]);
}
