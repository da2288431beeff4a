use super::*;

fn init(text: &str) -> InitLine {
    match message(text) {
        Message::Init(line) => line,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn inits_of_all_releases_are_read() {
    let expected = InitLine {
        is_complete: false,
        pointer: 0x5a0,
        rank: 3,
        nranks: 8,
        cuda_device: 2,
        gpu: 6,
        origin: InitOrigin::Id(0xab1),
    };
    let fields = "comm 0x5a0 rank 3 nranks 8 cudaDev 2 nvmlDev 6 busId c8000";
    for before in ["", "ncclCommInitRank ", "ncclCommInitRankConfig ", "[Rank 3] ncclCommInitRankConfig "] {
        assert_eq!(init(&format!("{before}{fields} commId 0xab1 - Init START")), expected);
    }
    assert!(init(&format!("ncclCommInitRank {fields} commId 0xab1 - Init COMPLETE")).is_complete);
    for (number, text) in [(None, ""), (Some(4), " splitCount 4"), (Some(4), " childCount 4")] {
        for end in ["key -7- Init START", "key 7 - Init COMPLETE"] {
            let line = init(&format!("ncclCommSplit {fields} parent 0xf0{text} color 5 {end}"));
            assert_eq!(line.origin, InitOrigin::Split { parent: 0xf0, number, color: 5 });
        }
    }
}

#[test]
fn lines_that_are_cut_say_nothing() {
    for text in [
        "comm 0x5a0 rank 3 nranks 8 cudaDev 2 nvmlDev 6 busId c8000 - Init START",
        "ncclCommInitRank comm 0x5a0 rank 8 nranks 8 cudaDev 2 nvmlDev 6 busId 1 commId 0x1 - Init START",
        "comm 0x5a0 rank 3 nranks 99999999 cudaDev 2 nvmlDev 6 busId 1 commId 0x1 - Init START",
        "comm 0x5a0 rank -1 nranks 8 cudaDev 2 nvmlDev 6 busId 1 commId 0x1 - Init START",
        "Channel 00/0 : 0[0] -> 1[1] via P2",
        "Channel 00/0 : 0[0] -> 1[1",
        "Channel 00/0 : 0[0] -> 1[1] via NET/IB",
        "Channel 00/0 : 0[0] -> 99999999[1] via P2P/IPC",
        "Init timings - ncclCommInitRank: rank 0 nranks 2 total 1.08 (kernels 0.51, alloc 0.0",
        "Init timings - ncclCommInitRank: rank 0 nranks 2 total 1e300 (kernels 0.51, alloc 0.0",
        "99999 coll channels, 24 collnet channels, 0 nvls channels, 32 p2p channels, 2 p2p channels per peer",
        "Using network ",
        "NCCL version ",
    ] {
        assert_eq!(message(text), Message::Cut, "{text}");
    }
}

#[test]
fn networks_settings_and_channels_are_read() {
    let adapters = "[0]mlx5_0:1/IB [1]mlx5_1:1/RoCE";
    for text in
        [format!("NET/IB : Using {adapters} [RO]; OOB ib0:10.0.0.1<0>"), format!("NET/IB : Using {adapters} ; OOB")]
    {
        assert_eq!(message(&text), Message::InfiniBand(adapters));
    }
    for text in ["NET/IB : No device found.", "NET/IB : Using [RO]; OOB eth0:1<0>", "Failed to open libibverbs.so[.1]"]
    {
        assert_eq!(message(text), Message::NoInfiniBand, "{text}");
    }
    assert_eq!(message("Using network AWS Libfabric"), Message::Network("AWS Libfabric"));
    for (text, name, value) in [
        ("NCCL_P2P_DISABLE set by environment to 1", "NCCL_P2P_DISABLE", "1"),
        ("NCCL_SHM_DISABLE set by environment to 1.", "NCCL_SHM_DISABLE", "1"),
        ("NCCL_IB_HCA set to mlx5_0,mlx5_1", "NCCL_IB_HCA", "mlx5_0,mlx5_1"),
        ("Comm config netName reset to NCCL_NET=Socket", "NCCL_NET", "Socket"),
        ("Comm config maxCTAs reset to NCCL_MAX_CTAS=1", "NCCL_MAX_CTAS", "1"),
    ] {
        assert_eq!(message(text), Message::Setting { name, value }, "{text}");
    }
    for text in ["Comm config Blocking set to 1", "Setting affinity for GPU 0 to ff", "Channel 00/24 :    0   1   2"] {
        assert_eq!(message(text), Message::Other, "{text}");
    }
    let text = "24 coll channels, 24 collnet channels, 16 nvls channels, 32 p2p channels, 2 p2p channels per peer";
    assert_eq!(message(text), Message::Channels(Channels { collective: 24, nvls: 16, p2p: 32 }));
    let disabled = Message::GpuDirect { enabled: false, adapter: "0 'mlx5_0'" };
    assert_eq!(message("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'"), disabled);
}

#[test]
fn a_connection_is_that_of_the_rank_that_logs_it() {
    let of = |text: &str| match message(text) {
        Message::Connection { own, peer, side, .. } => (own, peer, side),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(of("Channel 00/0 : 0[4] -> 1[5] via P2P/CUMEM/read"), ([0, 4], [1, 5], Side::Sends));
    assert_eq!(of("Channel 00 : 0[4] -> 1[5] via SHM/direct/direct"), ([0, 4], [1, 5], Side::Sends));
    assert_eq!(of("Channel 03/1 : 0[4] -> 9[5] [send] via NET/IB/2(1)/GDRDMA"), ([0, 4], [9, 5], Side::Sends));
    assert_eq!(of("Channel 03/0 : 9[5] -> 0[4] [receive] via NET/IB/2"), ([0, 4], [9, 5], Side::Receives));
}

#[test]
fn phases_of_both_forms_are_read() {
    let new = "Init timings - ncclCommInitRank: rank 1 nranks 2 total 1.08 (kernels 0.51, alloc 0.03, bootstrap 0.22, \
               allgathers 0.01, topo 0.25, graphs 0.04, connections 0.02, rest -0.00)";
    let old = "Init timings: rank 1 nranks 2 total 1.08 (kernels 0.51, bootstrap 0.22, allgathers 0.01, topo 0.25, \
               graphs 0.04, connections 0.02, rest 0.03)";
    for (text, alloc) in [(new, 0.03), (old, 0.0)] {
        let Message::Timings { rank: 1, nranks: 2, phases } = message(text) else { panic!("{text}") };
        assert_eq!((phases.total, phases.alloc, phases.topo), (1.08, alloc, 0.25));
    }
}
