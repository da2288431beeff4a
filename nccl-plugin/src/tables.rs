//! The tables that NCCL looks up by name, one for each version. NCCL takes the newest that it knows.

use crate::entry::{self, ProfilerTable};
use crate::interface::version::{V1, V2, V3, V4, V5, V6, V7, Version};
use crate::opening::logger::Logger;
use std::ffi::{c_char, c_int, c_void};

/// Type of init up to v3.
type UnintroducedInit = unsafe extern "C-unwind" fn(context: *mut *mut c_void, mask: *mut c_int) -> c_int;

/// Type of init in v4.
type MaskFirstInit = unsafe extern "C-unwind" fn(
    context: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    id: u64,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: *const c_void,
) -> c_int;

/// Type of init since v5.
type Init = unsafe extern "C-unwind" fn(
    context: *mut *mut c_void,
    id: u64,
    mask: *mut c_int,
    name: *const c_char,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: *const c_void,
) -> c_int;

/// # Safety
/// The pointers are NCCL's and valid during the call.
unsafe extern "C-unwind" fn init_unintroduced<V: Version>(context: *mut *mut c_void, mask: *mut c_int) -> c_int {
    // SAFETY: the caller upholds the condition.
    unsafe { entry::init_unintroduced::<V>(context, mask) }
}

/// # Safety
/// The pointers are NCCL's and valid during the call; the logger is NULL or NCCL's.
unsafe extern "C-unwind" fn init_mask_first<V: Version>(
    context: *mut *mut c_void,
    mask: *mut c_int,
    name: *const c_char,
    id: u64,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: *const c_void,
) -> c_int {
    // SAFETY: the caller upholds the condition.
    unsafe { entry::init::<V>(context, mask, id, name, [nodes, ranks, rank], Logger::new(logger)) }
}

/// # Safety
/// The pointers are NCCL's and valid during the call; the logger is NULL or NCCL's.
unsafe extern "C-unwind" fn init<V: Version>(
    context: *mut *mut c_void,
    id: u64,
    mask: *mut c_int,
    name: *const c_char,
    nodes: c_int,
    ranks: c_int,
    rank: c_int,
    logger: *const c_void,
) -> c_int {
    // SAFETY: the caller upholds the condition.
    unsafe { entry::init::<V>(context, mask, id, name, [nodes, ranks, rank], Logger::new(logger)) }
}

/// The table that NCCL 2.23 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v1: ProfilerTable<UnintroducedInit, V1> = ProfilerTable::new(init_unintroduced::<V1>);

/// The table that NCCL 2.24 and 2.25 look up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v2: ProfilerTable<UnintroducedInit, V2> = ProfilerTable::new(init_unintroduced::<V2>);

/// The table that NCCL 2.26 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v3: ProfilerTable<UnintroducedInit, V3> = ProfilerTable::new(init_unintroduced::<V3>);

/// The table that NCCL 2.27 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v4: ProfilerTable<MaskFirstInit, V4> = ProfilerTable::new(init_mask_first::<V4>);

/// The table that NCCL 2.28 looks up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v5: ProfilerTable<Init, V5> = ProfilerTable::new(init::<V5>);

/// The table that NCCL 2.29 and 2.30 look up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v6: ProfilerTable<Init, V6> = ProfilerTable::new(init::<V6>);

/// The table that NCCL 2.31.2 and later look up.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclProfiler_v7: ProfilerTable<Init, V7> = ProfilerTable::new(init::<V7>);
