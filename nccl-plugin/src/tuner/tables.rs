//! The tables that NCCL looks up by name in the library that `NCCL_TUNER_PLUGIN` names. NCCL takes the newest that it
//! knows: every NCCL since 2.22 takes v3 or later, so there is none of v2. Without the feature `tuner` the tables have no
//! such names.

use super::interface::{ChooseChunk, ChooseV3, ChooseV4, InitV2, InitV5, TunerTable, TunerTableV6};
use super::user::{CollectiveArguments, InitArguments};
use super::{choose, choose_chunk, finalize, init, search};
use std::ffi::{c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// # Safety
/// The pointers are NCCL's and valid during the call; the logger is NULL or NCCL's.
unsafe extern "C-unwind" fn init_nameless<const VERSION: u32>(
    ranks: usize,
    nodes: usize,
    logger: *const c_void,
    context: *mut *mut c_void,
) -> c_int {
    let (domains, constants) = (ptr::null_mut(), ptr::null_mut());
    let arguments = InitArguments { comm: None, ranks, nodes, logger, domains, constants };
    // SAFETY: the caller upholds the conditions.
    unsafe { init(VERSION, context, &arguments) }
}

/// # Safety
/// The pointers are NCCL's and valid during the call; the logger is NULL or NCCL's.
unsafe extern "C-unwind" fn init_named<const VERSION: u32>(
    context: *mut *mut c_void,
    comm: u64,
    ranks: usize,
    nodes: usize,
    logger: *const c_void,
    domains: *mut c_void,
    constants: *mut c_void,
) -> c_int {
    let arguments = InitArguments { comm: Some(comm), ranks, nodes, logger, domains, constants };
    // SAFETY: the caller upholds the conditions.
    let result = unsafe { init(VERSION, context, &arguments) };
    if VERSION == 6 && search::user(VERSION).is_some_and(|user| user.choose_chunk().is_some()) {
        // only now: with a function, NCCL bounds sizes of chunks that it does not bound without
        ncclTunerPlugin_v6.choose_chunk.store(chunk as ChooseChunk as *mut c_void, Ordering::Release);
    }
    result
}

/// # Safety
/// The pointers are NCCL's and valid during the call.
unsafe extern "C-unwind" fn choose_v3(
    context: *mut c_void,
    function: c_int,
    bytes: usize,
    pipelined: c_int,
    times: *mut f32,
    algorithms: c_int,
    protocols: c_int,
    channels: *mut c_int,
) -> c_int {
    // SAFETY: the caller upholds the condition.
    unsafe { choose_v4(context, function, bytes, pipelined, times, algorithms, protocols, 0, channels) }
}

/// # Safety
/// The pointers are NCCL's and valid during the call.
unsafe extern "C-unwind" fn choose_v4(
    context: *mut c_void,
    function: c_int,
    bytes: usize,
    pipelined: c_int,
    times: *mut f32,
    algorithms: c_int,
    protocols: c_int,
    registered: c_int,
    channels: *mut c_int,
) -> c_int {
    let arguments =
        CollectiveArguments { function, bytes, pipelined, times, algorithms, protocols, registered, channels };
    // SAFETY: the caller upholds the condition.
    unsafe { choose(context, &arguments) }
}

/// # Safety
/// The pointers are NCCL's and valid during the call.
unsafe extern "C-unwind" fn chunk(
    context: *mut c_void,
    function: c_int,
    bytes: usize,
    algorithm: c_int,
    protocol: c_int,
    channels: c_int,
    size: *mut usize,
) -> c_int {
    // SAFETY: the caller upholds the condition.
    unsafe { choose_chunk(context, [function, algorithm, protocol, channels], bytes, size) }
}

unsafe extern "C-unwind" fn end(context: *mut c_void) -> c_int {
    finalize(context)
}

const fn nameless<const VERSION: u32, Choose>(choose: Choose) -> TunerTable<InitV2, Choose> {
    TunerTable { name: c"scorep".as_ptr(), init: init_nameless::<VERSION>, choose, finalize: end }
}

const fn named<const VERSION: u32>() -> TunerTable<InitV5, ChooseV4> {
    TunerTable { name: c"scorep".as_ptr(), init: init_named::<VERSION>, choose: choose_v4, finalize: end }
}

/// The table that NCCL 2.22 and 2.23 look up.
#[cfg_attr(feature = "tuner", unsafe(no_mangle))]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclTunerPlugin_v3: TunerTable<InitV2, ChooseV3> = nameless::<3, ChooseV3>(choose_v3);

/// The table that NCCL 2.24 to 2.27 look up.
#[cfg_attr(feature = "tuner", unsafe(no_mangle))]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclTunerPlugin_v4: TunerTable<InitV2, ChooseV4> = nameless::<4, ChooseV4>(choose_v4);

/// The table that NCCL 2.28 and 2.29 look up.
#[cfg_attr(feature = "tuner", unsafe(no_mangle))]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclTunerPlugin_v5: TunerTable<InitV5, ChooseV4> = named::<5>();

/// The table that NCCL 2.30 and later look up.
#[cfg_attr(feature = "tuner", unsafe(no_mangle))]
#[allow(non_upper_case_globals, reason = "the name is NCCL's")]
pub static ncclTunerPlugin_v6: TunerTableV6<AtomicPtr<c_void>> =
    TunerTableV6 { base: named::<6>(), choose_chunk: AtomicPtr::new(ptr::null_mut()) };
