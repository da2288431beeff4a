//! The Rust side: every member of the structures that nccl-plugin declares.

use super::Lines;
use nccl_plugin::entry::ProfilerTable;
use nccl_plugin::payload::{CMember, CONTENTS, StateUnion};
use nccl_plugin::tables;
use nccl_plugin::version::{RawDescriptor, V1, V2, V3, V4, V5, V6, V7, Version};
use std::ffi::{c_char, c_int, c_void};
use std::mem::offset_of;

fn line(owner: &str, name: &str, offset: usize, size: usize, lines: &mut Lines) {
    let known = lines.insert(format!("{owner}.{name}"), (offset, size));
    assert_eq!(known, None, "{owner}.{name} comes twice");
}

/// The members of a structure that lies at `base` of what NCCL passes.
fn structure(owner: &str, base: usize, members: &[CMember], lines: &mut Lines) {
    members.iter().for_each(|member| line(owner, member.name, base + member.offset, member.size, lines));
}

/// The descriptor, the arguments of a state change and the table of a version.
fn version<Init, V: Version>(all: &'static ProfilerTable<Init, V>, lines: &mut Lines) {
    let version = format!("v{}", V::NUMBER);
    for (name, base, members) in RawDescriptor::<V>::structures() {
        structure(&format!("{version}.{name}"), base, members, lines);
    }
    lines.insert(format!("{version}.descriptor"), (0, size_of::<RawDescriptor<V>>()));
    for &(name, members) in V::Arguments::STRUCTURES {
        structure(&format!("{version}.arguments.{name}"), 0, members, lines);
    }
    lines.insert(format!("{version}.arguments"), (0, size_of::<V::Arguments>()));
    table(&version, all, lines);
}

fn table<Init, V: Version>(version: &str, table: &'static ProfilerTable<Init, V>, lines: &mut Lines) {
    let ProfilerTable { name: _, init: _, start_event: _, stop_event: _, record_event_state: _, finalize: _ } = table;
    let owner = format!("{version}.table");
    let mut pointer = |name: &str, offset: usize| line(&owner, name, offset, size_of::<*const c_void>(), lines);
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
const _: &ProfilerTable<InitV1, V1> = &tables::ncclProfiler_v1;
const _: &ProfilerTable<InitV1, V2> = &tables::ncclProfiler_v2;
const _: &ProfilerTable<InitV1, V3> = &tables::ncclProfiler_v3;
const _: &ProfilerTable<InitV4, V4> = &tables::ncclProfiler_v4;
const _: &ProfilerTable<InitV5, V5> = &tables::ncclProfiler_v5;
const _: &ProfilerTable<InitV5, V6> = &tables::ncclProfiler_v6;
const _: &ProfilerTable<InitV5, V7> = &tables::ncclProfiler_v7;

/// All of all versions.
pub(crate) fn lines() -> Lines {
    let mut all = Lines::new();
    let lines = &mut all;
    // the contents of network events are of no version of the profiler's
    CONTENTS.iter().for_each(|(name, base, members)| structure(&format!("v0.{name}"), *base, members, lines));
    version(&tables::ncclProfiler_v1, lines);
    version(&tables::ncclProfiler_v2, lines);
    version(&tables::ncclProfiler_v3, lines);
    version(&tables::ncclProfiler_v4, lines);
    version(&tables::ncclProfiler_v5, lines);
    version(&tables::ncclProfiler_v6, lines);
    version(&tables::ncclProfiler_v7, lines);
    all
}
