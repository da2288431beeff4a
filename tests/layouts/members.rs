//! The Rust side: every member of the structures that nccl-plugin declares.

use super::Lines;
use nccl_plugin::entry::ProfilerTable;
use nccl_plugin::payload::{
    Appended, CeBatch, CeColl, CeSync, Coll, CollApi, CollV2, CollV7, GroupApi, Grouped, InfinibandEvent,
    KernelChannel, KernelLaunch, KernelPhase, KernelStop, Named, NamedP2p, Narrow, NetPlugin, NetUpdate, NumberedColl,
    NumberedP2p, OldArguments, OperationProgress, P2p, P2pApi, ProxyOperation, ProxyStep, ProxyStepArguments,
    SocketEvent, SocketTransfer, StateArguments, Tagged, UntimedKernelChannel, Wide, WorkRequest,
};
use nccl_plugin::version::Version;
use nccl_plugin::{tables, v1, v2, v3, v4, v5, v6, v7};
use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

/// A type that members of the interface have.
trait Layout {
    /// Lists it, or its members in its place, as lying at `offset` of what NCCL passes. `owner` is whose member it is.
    fn list(owner: &str, name: &str, offset: usize, lines: &mut Lines);
}

/// What C sees as one member.
fn leaf<T>(owner: &str, name: &str, offset: usize, lines: &mut Lines) {
    let known = lines.insert(format!("{owner}.{name}"), (offset, size_of::<T>()));
    assert_eq!(known, None, "{owner}.{name} comes twice");
}

macro_rules! leaves {
    ($($type:ty),*) => { $(impl Layout for $type {
        fn list(owner: &str, name: &str, offset: usize, lines: &mut Lines) {
            leaf::<Self>(owner, name, offset, lines);
        }
    })* };
}

leaves!(u8, u32, u64, i32, i64, usize, *const c_char, *const c_void, *mut c_void);

/// The type of a member is that of the place in the structure.
fn member<S, T: Layout>(_: fn(&S) -> &T, owner: &str, name: &str, offset: usize, lines: &mut Lines) {
    T::list(owner, name, offset, lines);
}

/// A structure with all its members: the pattern does not compile when one is missing. In C they are members of the
/// owner.
macro_rules! structures {
    ($($type:ident $(<$inner:ident>)? { $($field:ident),* })*) => { $(
        impl $(<$inner: Layout>)? Layout for $type $(<$inner>)? {
            fn list(owner: &str, _: &str, offset: usize, lines: &mut Lines) {
                let _ = |$type { $($field: _),* }: &Self| ();
                $(member(|whole: &Self| &whole.$field, owner, stringify!($field), offset + offset_of!(Self, $field), lines);)*
            }
        }
    )* };
}

structures! {
    NumberedColl {
        name, communicator, sequence, function, send_buffer, receive_buffer, count, root, datatype, reduction, traffic, channels,
        warps, algorithm, protocol, collnet, nvls
    }
    NumberedP2p { name, communicator, function, buffer, datatype, count, peer }
    Named<T> { name, communicator, operation }
    NamedP2p { name, communicator, function, buffer, datatype, count, peer }
    CollV2 {
        sequence, function, send_buffer, receive_buffer, count, root, datatype, traffic, channels, warps, algorithm, protocol
    }
    Coll { sequence, function, send_buffer, receive_buffer, count, root, datatype, channels, warps, algorithm, protocol }
    P2p { function, buffer, datatype, count, peer, channels }
    Grouped<T> { operation, group }
    CollV7 { grouped, variant, symmetric, tag }
    Tagged<T> { inner, tag }
    ProxyOperation { pid, channel, peer, steps, chunk, send }
    ProxyStep { step }
    NetPlugin { id, data }
    KernelLaunch { stream }
    KernelChannel { channel, ptimer }
    UntimedKernelChannel { channel }
    KernelPhase { channel, phase, name, ptimer }
    GroupApi { captured, depth }
    CollApi { function, count, datatype, root, stream, captured }
    P2pApi { function, count, datatype, stream, captured }
    CeColl {
        sequence, function, send_buffer, receive_buffer, count, root, datatype, strategy, intra_batch_sync, batch_size, batches,
        ce_sequence, stream
    }
    CeSync { complete, ranks }
    CeBatch { operations, bytes, intra_sync }
    ProxyStepArguments { size }
    OperationProgress { size, steps }
    Appended { operations }
    NetUpdate { data }
    KernelStop { ptimer }
    InfinibandEvent { kind, request }
    WorkRequest { device, id, opcode, queue_pair, length }
    SocketEvent { kind, transfer }
    SocketTransfer { descriptor, operation, length }
}

/// Members of a union: where they lie and what they are (an assignment of another type does not compile).
macro_rules! members {
    ($lines:ident, $owner:expr, $whole:ty: $($name:ident = $($path:ident).+: $type:ty,)*) => { $(
        let _ = |whole: &mut $whole, member: $type| whole.$($path).+ = member;
        <$type>::list(&format!("{}.{}", $owner, stringify!($name)), "", offset_of!($whole, $($path).+), $lines);
    )* };
}

fn old_arguments(version: &str, lines: &mut Lines) {
    let owner = format!("{version}.arguments");
    members!(lines, owner, OldArguments: proxy_op = proxy_op: OperationProgress, proxy_ctrl = proxy_ctrl: Appended,);
    lines.insert(owner, (0, size_of::<OldArguments>()));
}

fn arguments(version: &str, lines: &mut Lines) {
    let owner = format!("{version}.arguments");
    members!(lines, owner, StateArguments:
        proxy_step = proxy_step: ProxyStepArguments,
        proxy_ctrl = proxy_ctrl: Appended,
        net_plugin = net_plugin: NetUpdate,
        kernel_ch = kernel_ch: KernelStop,
    );
    lines.insert(owner, (0, size_of::<StateArguments>()));
}

/// What is the same in all versions: the beginning of the descriptor, its size, and the table.
macro_rules! frame {
    ($lines:ident, $version:expr, $frame:ident, $raw:ty, $table:expr) => {
        let _ = |$frame { kind: _, parent: _, rank: _, payload: _ }: &$raw| ();
        let owner = format!("{}.descriptor", $version);
        member(|raw: &$raw| &raw.kind, &owner, "kind", offset_of!($raw, kind), $lines);
        member(|raw: &$raw| &raw.parent, &owner, "parent", offset_of!($raw, parent), $lines);
        member(|raw: &$raw| &raw.rank, &owner, "rank", offset_of!($raw, rank), $lines);
        $lines.insert(owner, (0, size_of::<$raw>()));
        table($version, $table, $lines);
    };
}

fn table<Init, V: Version>(version: &str, table: &'static ProfilerTable<Init, V>, lines: &mut Lines) {
    let ProfilerTable { name: _, init: _, start_event: _, stop_event: _, record_event_state: _, finalize: _ } = table;
    let owner = format!("{version}.table");
    let mut pointer = |name: &str, offset: usize| leaf::<*const c_void>(&owner, name, offset, lines);
    pointer("name", offset_of!(ProfilerTable<Init, V>, name));
    pointer("init", offset_of!(ProfilerTable<Init, V>, init));
    pointer("start_event", offset_of!(ProfilerTable<Init, V>, start_event));
    pointer("stop_event", offset_of!(ProfilerTable<Init, V>, stop_event));
    pointer("record_event_state", offset_of!(ProfilerTable<Init, V>, record_event_state));
    pointer("finalize", offset_of!(ProfilerTable<Init, V>, finalize));
    lines.insert(owner, (0, size_of::<ProfilerTable<Init, V>>()));
}

type InitV1 = unsafe extern "C-unwind" fn(*mut *mut c_void, *mut c_int) -> c_int;
type InitV4 = unsafe extern "C-unwind" fn(
    *mut *mut c_void,
    *mut c_int,
    *const c_char,
    u64,
    c_int,
    c_int,
    c_int,
    *const c_void,
) -> c_int;
type InitV5 = unsafe extern "C-unwind" fn(
    *mut *mut c_void,
    u64,
    *mut c_int,
    *const c_char,
    c_int,
    c_int,
    c_int,
    *const c_void,
) -> c_int;

// the arguments of init; headers.rs asks the same of NCCL's
const _: &ProfilerTable<InitV1, v1::V1> = &tables::ncclProfiler_v1;
const _: &ProfilerTable<InitV1, v2::V2> = &tables::ncclProfiler_v2;
const _: &ProfilerTable<InitV1, v3::V3> = &tables::ncclProfiler_v3;
const _: &ProfilerTable<InitV4, v4::V4> = &tables::ncclProfiler_v4;
const _: &ProfilerTable<InitV5, v5::V5> = &tables::ncclProfiler_v5;
const _: &ProfilerTable<InitV5, v6::V6> = &tables::ncclProfiler_v6;
const _: &ProfilerTable<InitV5, v7::V7> = &tables::ncclProfiler_v7;

/// All of all versions.
pub(crate) fn lines() -> Lines {
    let mut all = Lines::new();
    let lines = &mut all;
    // the contents of network events are of no version of the profiler's
    InfinibandEvent::list("v0.infiniband", "", 0, lines);
    SocketEvent::list("v0.sockets", "", 0, lines);
    old(lines);
    frame!(lines, "v4", Narrow, v4::Raw, &tables::ncclProfiler_v4);
    frame!(lines, "v5", Wide, v5::Raw, &tables::ncclProfiler_v5);
    frame!(lines, "v6", Wide, v6::Raw, &tables::ncclProfiler_v6);
    frame!(lines, "v7", Wide, v7::Raw, &tables::ncclProfiler_v7);
    ["v4", "v5", "v6", "v7"].iter().for_each(|version| arguments(version, lines));
    members!(lines, "v4", v4::Raw:
        coll = payload.coll: Coll,
        p2p = payload.p2p: P2p,
        proxy_op = payload.proxy_op: ProxyOperation,
        proxy_step = payload.proxy_step: ProxyStep,
        kernel_ch = payload.kernel_ch: KernelChannel,
        net_plugin = payload.net_plugin: NetPlugin,
    );
    members!(lines, "v5", v5::Raw:
        group_api = payload.group_api: GroupApi,
        coll_api = payload.coll_api: CollApi,
        p2p_api = payload.p2p_api: P2pApi,
        kernel_launch = payload.kernel_launch: KernelLaunch,
        coll = payload.coll: Grouped<Coll>,
        p2p = payload.p2p: Grouped<P2p>,
        proxy_op = payload.proxy_op: ProxyOperation,
        proxy_step = payload.proxy_step: ProxyStep,
        kernel_ch = payload.kernel_ch: KernelChannel,
        net_plugin = payload.net_plugin: NetPlugin,
    );
    members!(lines, "v6", v6::Raw:
        group_api = payload.v5.group_api: GroupApi,
        coll_api = payload.v5.coll_api: CollApi,
        p2p_api = payload.v5.p2p_api: P2pApi,
        kernel_launch = payload.v5.kernel_launch: KernelLaunch,
        coll = payload.v5.coll: Grouped<Coll>,
        p2p = payload.v5.p2p: Grouped<P2p>,
        proxy_op = payload.v5.proxy_op: ProxyOperation,
        proxy_step = payload.v5.proxy_step: ProxyStep,
        kernel_ch = payload.v5.kernel_ch: KernelChannel,
        net_plugin = payload.v5.net_plugin: NetPlugin,
        ce_coll = payload.ce_coll: CeColl,
        ce_sync = payload.ce_sync: CeSync,
        ce_batch = payload.ce_batch: CeBatch,
    );
    members!(lines, "v7", v7::Raw:
        group_api = payload.v6.v5.group_api: GroupApi,
        coll_api = payload.coll_api: Tagged<CollApi>,
        p2p_api = payload.p2p_api: Tagged<P2pApi>,
        kernel_launch = payload.v6.v5.kernel_launch: KernelLaunch,
        coll = payload.coll: CollV7,
        p2p = payload.p2p: Tagged<Grouped<P2p>>,
        proxy_op = payload.v6.v5.proxy_op: ProxyOperation,
        proxy_step = payload.v6.v5.proxy_step: ProxyStep,
        kernel_ch = payload.v6.v5.kernel_ch: KernelChannel,
        net_plugin = payload.v6.v5.net_plugin: NetPlugin,
        ce_coll = payload.ce_coll: Tagged<CeColl>,
        ce_sync = payload.v6.ce_sync: CeSync,
        ce_batch = payload.v6.ce_batch: CeBatch,
        kernel_phase = payload.kernel_phase: KernelPhase,
    );
    all
}

/// v1 to v3.
fn old(lines: &mut Lines) {
    frame!(lines, "v1", Narrow, v1::Raw, &tables::ncclProfiler_v1);
    frame!(lines, "v2", Narrow, v2::Raw, &tables::ncclProfiler_v2);
    frame!(lines, "v3", Narrow, v3::Raw, &tables::ncclProfiler_v3);
    ["v1", "v2", "v3"].iter().for_each(|version| old_arguments(version, lines));
    members!(lines, "v1", v1::Raw:
        coll = payload.coll: NumberedColl,
        p2p = payload.p2p: NumberedP2p,
        proxy_op = payload.proxy_op: ProxyOperation,
        proxy_step = payload.proxy_step: ProxyStep,
    );
    members!(lines, "v2", v2::Raw:
        coll = payload.coll: Named<CollV2>,
        p2p = payload.p2p: NamedP2p,
        proxy_op = payload.proxy_op: ProxyOperation,
        proxy_step = payload.proxy_step: ProxyStep,
    );
    members!(lines, "v3", v3::Raw:
        coll = payload.coll: Named<Coll>,
        p2p = payload.p2p: NamedP2p,
        proxy_op = payload.proxy_op: ProxyOperation,
        proxy_step = payload.proxy_step: ProxyStep,
        kernel_ch = payload.kernel_ch: UntimedKernelChannel,
        net_plugin = payload.net_plugin: NetPlugin,
    );
}
