//! What callbacks and the collector share is made of this: the standard library's atomics, or those of the model
//! checker (`--cfg loom`, see `tests/models`). Statics that only count keep the standard library's, since a model
//! begins anew at every interleaving.

#[cfg(loom)]
pub(crate) use loom::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};
#[cfg(not(loom))]
pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence},
};
