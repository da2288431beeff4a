//! What a version of the interface can say comes back as it was said, and what it cannot say is not said.

use common::event::network::NetworkEvent;
use nccl_profiler::descriptor::{CeColl, Coll, CollApi, Descriptor, P2p, P2pApi, Payload, ProxyOp};
use nccl_profiler::version::{V1, V2, V3, V4, V5, V6, V7, Version};

/// Through the version and back.
fn again<'a, V: Version>(descriptor: &Descriptor<'a>) -> Option<Descriptor<'a>> {
    let raw = V::encode(descriptor)?;
    // SAFETY: a whole descriptor of the version, whose strings are those of `descriptor`.
    Some(unsafe { V::decode(&raw const raw) })
}

/// As all seven versions in turn have it.
fn through_all<'a>(descriptor: &Descriptor<'a>) -> [Option<Descriptor<'a>>; 7] {
    [
        again::<V1>(descriptor),
        again::<V2>(descriptor),
        again::<V3>(descriptor),
        again::<V4>(descriptor),
        again::<V5>(descriptor),
        again::<V6>(descriptor),
        again::<V7>(descriptor),
    ]
}

fn with(payload: Payload<'_>) -> Descriptor<'_> {
    Descriptor { parent: 0xFEDC_BA98_7654_3210, rank: -3, payload }
}

/// Said by versions `from` to 7 exactly as it is, and not at all by older ones.
fn said_since(from: usize, payload: Payload<'_>) {
    let descriptor = with(payload);
    for (version, back) in (1..).zip(through_all(&descriptor)) {
        assert_eq!(back, (version >= from).then_some(descriptor), "v{version}");
    }
}

#[test]
fn what_all_versions_have_comes_back_from_all() {
    said_since(1, Payload::Group);
    said_since(1, Payload::ProxyCtrl);
    said_since(1, Payload::ProxyStep { step: i32::MAX });
    said_since(1, Payload::ProxyOp(ProxyOp { pid: 7, channel: 255, peer: -1, steps: 3, chunk: i32::MIN, send: 2 }));
}

#[test]
fn later_types_come_back_from_later_versions() {
    let (function, datatype) = (Some(c"AllGather".into()), Some(c"ncclBfloat16".into()));
    said_since(3, Payload::NetPlugin { id: -5, data: 0x1234, event: NetworkEvent::Other });
    said_since(5, Payload::GroupApi { captured: true, depth: 4 });
    said_since(5, Payload::KernelLaunch { stream: usize::MAX });
    said_since(
        5,
        Payload::CollApi(CollApi { function, count: 9, datatype, root: 1, stream: 2, captured: true, tag: 0 }),
    );
    said_since(5, Payload::P2pApi(P2pApi { function, count: 9, datatype, stream: 2, captured: false, tag: 0 }));
    said_since(6, Payload::CeSync { complete: true, ranks: 8 });
    said_since(6, Payload::CeBatch { operations: 3, bytes: 1 << 40, intra_sync: true });
    said_since(6, Payload::CeColl(ce_coll()));
    said_since(7, Payload::KernelPhase { channel: 1, phase: 2, name: Some(c"final_sync".into()), ptimer: 77 });
    said_since(5, Payload::Unknown { bits: 1 << 16 });
    said_since(1, Payload::Unknown { bits: 3 });
}

fn ce_coll<'a>() -> CeColl<'a> {
    CeColl {
        sequence: 1,
        function: Some(c"AllGather".into()),
        send: 2,
        receive: 3,
        count: 4,
        root: 5,
        datatype: Some(c"ncclInt8".into()),
        strategy: None,
        intra_batch_sync: true,
        batch_size: 6,
        batches: 7,
        ce_sequence: 8,
        stream: 9,
        tag: 0,
    }
}

/// As v4 to v6 can say it, but for the group.
fn coll<'a>() -> Coll<'a> {
    Coll {
        communicator: None,
        name: None,
        sequence: u64::MAX,
        function: Some(c"ReduceScatter".into()),
        send: 0x10,
        receive: 0x20,
        count: 1 << 40,
        root: -1,
        datatype: Some(c"ncclFloat8e4m3".into()),
        channels: 64,
        warps: 16,
        algorithm: Some(c"NVLS_TREE".into()),
        protocol: Some(c"LL128".into()),
        group: 0,
        variant: None,
        symmetric: false,
        tag: 0,
    }
}

fn p2p<'a>() -> P2p<'a> {
    P2p {
        communicator: None,
        name: None,
        function: Some(c"Recv".into()),
        buffer: 0x30,
        datatype: Some(c"ncclUint64".into()),
        count: 12,
        peer: 5,
        channels: 2,
        group: 0,
        tag: 0,
    }
}

#[test]
fn operations_come_back_with_what_each_version_says_of_them() {
    let (communicator, name) = (Some(0xAB), Some(c"pairs".into()));
    let coll = coll();
    let p2p = p2p();
    for (version, back) in (1..).zip(through_all(&with(Payload::Coll(Coll { communicator, name, ..coll })))) {
        let told = if version <= 3 { Coll { communicator, name, ..coll } } else { coll };
        assert_eq!(back, Some(with(Payload::Coll(told))), "v{version}");
    }
    for (version, back) in (1..).zip(through_all(&with(Payload::P2p(P2p { communicator, name, ..p2p })))) {
        let told = if version <= 3 { P2p { communicator, name, channels: 0, ..p2p } } else { p2p };
        assert_eq!(back, Some(with(Payload::P2p(told))), "v{version}");
    }
}

/// Up to v3 there is always a communicator: one of id 0 without a name where it is not known, as NCCL's wrappers have
/// it.
#[test]
fn an_unknown_communicator_is_said_as_nccls_wrappers_say_it() {
    for back in &through_all(&with(Payload::Coll(coll())))[..3] {
        assert_eq!(*back, Some(with(Payload::Coll(Coll { communicator: Some(0), ..coll() }))));
    }
}

#[test]
fn the_group_is_the_parent_up_to_v4_and_a_member_since_v5() {
    let (grouped, up_to_v4) =
        (with(Payload::Coll(Coll { group: 99, ..coll() })), Descriptor { parent: 99, ..with(Payload::Coll(coll())) });
    assert_eq!(again::<V4>(&grouped), Some(up_to_v4));
    assert_eq!([again::<V5>(&grouped), again::<V6>(&grouped), again::<V7>(&grouped)], [Some(grouped); 3]);
    let grouped = with(Payload::P2p(P2p { group: 99, ..p2p() }));
    assert_eq!(again::<V4>(&grouped).map(|back| back.parent), Some(99));
    assert_eq!([again::<V5>(&grouped), again::<V7>(&grouped)], [Some(grouped); 2]);
}

#[test]
fn tags_and_variants_come_back_from_v7_alone() {
    let variant = Some(c"AllReduce_AGxLL_R".into());
    let tagged = [
        Payload::Coll(Coll { variant, symmetric: true, tag: 1 << 63, group: 1, ..coll() }),
        Payload::P2p(P2p { tag: 6, group: 1, ..p2p() }),
        Payload::CollApi(CollApi { tag: 6, ..CollApi::default() }),
        Payload::P2pApi(P2pApi { tag: 6, ..P2pApi::default() }),
        Payload::CeColl(CeColl { tag: 6, ..ce_coll() }),
    ];
    for tagged in tagged.map(with) {
        assert_eq!(again::<V7>(&tagged), Some(tagged));
        assert!(again::<V6>(&tagged).is_some_and(|back| back != tagged));
    }
}

#[test]
fn kernel_channels_have_no_stamp_in_v3_and_are_not_given_an_invented_one() {
    let timed = with(Payload::KernelCh { channel: 200, ptimer: Some(u64::MAX) });
    assert_eq!([again::<V4>(&timed), again::<V5>(&timed), again::<V6>(&timed), again::<V7>(&timed)], [Some(timed); 4]);
    let untimed = with(Payload::KernelCh { channel: 3, ptimer: None });
    assert_eq!(again::<V3>(&untimed), Some(untimed));
    assert_eq!(again::<V3>(&with(Payload::KernelCh { channel: 3, ptimer: Some(5) })), Some(untimed));
    let others = [
        again::<V2>(&untimed),
        again::<V4>(&untimed),
        again::<V5>(&untimed),
        again::<V6>(&untimed),
        again::<V7>(&untimed),
    ];
    assert_eq!(others, [None; 5]);
}

#[test]
fn v1_numbers_every_name_that_nccl_has_and_no_other() {
    let through = |coll| match again::<V1>(&with(Payload::Coll(coll))).map(|back| back.payload) {
        Some(Payload::Coll(back)) => Some((back.function, back.datatype, back.algorithm, back.protocol)),
        _ => None,
    };
    let functions =
        [c"Broadcast", c"Reduce", c"AllGather", c"ReduceScatter", c"AllReduce", c"SendRecv", c"Send", c"Recv"];
    let types = [
        c"ncclInt8",
        c"ncclUint8",
        c"ncclInt32",
        c"ncclUint32",
        c"ncclInt64",
        c"ncclUint64",
        c"ncclFloat16",
        c"ncclFloat32",
        c"ncclFloat64",
        c"ncclBfloat16",
        c"ncclFloat8e4m3",
        c"ncclFloat8e5m2",
    ];
    let algorithms = [c"TREE", c"RING", c"COLLNET_DIRECT", c"COLLNET_CHAIN", c"NVLS", c"NVLS_TREE", c"PAT"];
    for (place, datatype) in types.into_iter().enumerate() {
        let datatype = Some(datatype.into());
        let function = Some(functions[place % functions.len()].into());
        let algorithm = Some(algorithms[place % algorithms.len()].into());
        let protocol = Some([c"LL", c"LL128", c"SIMPLE"][place % 3].into());
        let coll = Coll { function, datatype, algorithm, protocol, ..coll() };
        assert_eq!(through(coll), Some((function, datatype, algorithm, protocol)));
    }
    for name in [None, Some(c"Unheard".into())] {
        assert_eq!(through(Coll { function: name, ..coll() }), None);
        assert_eq!(through(Coll { datatype: name, ..coll() }), None);
        let (function, datatype) = (coll().function, coll().datatype);
        assert_eq!(through(Coll { algorithm: name, protocol: name, ..coll() }), Some((function, datatype, None, None)));
    }
}
