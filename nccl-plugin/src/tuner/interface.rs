//! NCCL's tuner interface, v2 to v6: the tables, and the types of their functions.
//!
//! Every function returns ncclResult_t, 0 for success. The functions may unwind: a tuner of the user's is called in its
//! own way, whatever it does.

use std::ffi::{c_char, c_int, c_void};

/// The type of init up to v4: ranks, nodes, logger, place for the context.
pub type InitV2 = unsafe extern "C-unwind" fn(usize, usize, *const c_void, *mut *mut c_void) -> c_int;

/// The type of init since v5: place for the context, communicator, ranks, nodes, logger, and two structures of NCCL's,
/// of NVLink domains and of the model's constants. A tuner may change the constants.
pub type InitV5 =
    unsafe extern "C-unwind" fn(*mut *mut c_void, u64, usize, usize, *const c_void, *mut c_void, *mut c_void) -> c_int;

/// The type of getCollInfo in v2: context, function, bytes, whether the network and NVLink can reduce, pipelined
/// operations; places for algorithm, protocol and number of channels.
pub type ChooseV2 = unsafe extern "C-unwind" fn(
    *mut c_void,
    c_int,
    usize,
    c_int,
    c_int,
    c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;

/// The type of getCollInfo in v3: context, function, bytes, pipelined operations, table of times, its numbers of
/// algorithms and protocols, place for the number of channels.
pub type ChooseV3 =
    unsafe extern "C-unwind" fn(*mut c_void, c_int, usize, c_int, *mut f32, c_int, c_int, *mut c_int) -> c_int;

/// The type of getCollInfo since v4: as in v3, with whether buffers can be registered before the last place.
pub type ChooseV4 =
    unsafe extern "C-unwind" fn(*mut c_void, c_int, usize, c_int, *mut f32, c_int, c_int, c_int, *mut c_int) -> c_int;

/// The type of destroy, which is called finalize since v5: the context.
pub type Finalize = unsafe extern "C-unwind" fn(*mut c_void) -> c_int;

/// The type of getChunkSize in v6: context, function, bytes, algorithm, protocol, channels, place of the chunk's size.
pub type ChooseChunk = unsafe extern "C-unwind" fn(*mut c_void, c_int, usize, c_int, c_int, c_int, *mut usize) -> c_int;

/// A table up to v5. The functions' types differ between versions. In v6 another function follows ([`TunerTableV6`]).
#[repr(C)]
#[derive(Debug)]
pub struct TunerTable<Init, Choose> {
    /// Name of the tuner.
    pub name: *const c_char,
    /// Called when NCCL has created a communicator.
    pub init: Init,
    /// Called when NCCL schedules collectives.
    pub choose: Choose,
    /// Called when NCCL destroys a communicator.
    pub finalize: Finalize,
}

// SAFETY: the table is never written, and its name points to a constant.
unsafe impl<Init: Sync, Choose: Sync> Sync for TunerTable<Init, Choose> {}

/// The table of v6.
#[repr(C)]
#[derive(Debug)]
pub struct TunerTableV6<Chunk> {
    /// The functions that v5 has, too.
    pub base: TunerTable<InitV5, ChooseV4>,
    /// getChunkSize, or NULL: then NCCL keeps its own size.
    pub choose_chunk: Chunk,
}
