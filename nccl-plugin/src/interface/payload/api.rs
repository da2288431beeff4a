//! Calls of NCCL's API (v5 and later).

use super::{Tagged, pointer};
use crate::interface::descriptor::{self, Payload};
use common::text::CText;
use std::ffi::{c_char, c_int, c_void};

/// A group of API calls.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct GroupApi {
    /// As in [`CollApi`].
    pub captured: u8,
    /// Depth of nested groups.
    pub depth: c_int,
}

impl GroupApi {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::GroupApi { captured: self.captured != 0, depth: self.depth }
    }

    pub(crate) fn encode(captured: bool, depth: c_int) -> Self {
        Self { captured: u8::from(captured), depth }
    }
}

/// A call of a collective function.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CollApi {
    /// Name of the function.
    pub function: *const c_char,
    /// Number of elements.
    pub count: usize,
    /// Name of the element type.
    pub datatype: *const c_char,
    /// Rank of the root.
    pub root: c_int,
    /// Stream.
    pub stream: *mut c_void,
    /// Whether the call is captured into a CUDA graph: a C bool, declared as a byte because NCCL may write values other
    /// than 0 and 1.
    pub captured: u8,
}

impl CollApi {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::CollApi<'a> {
        // SAFETY: the caller upholds the condition for both strings.
        let [function, datatype] = unsafe { [CText::new(self.function), CText::new(self.datatype)] };
        descriptor::CollApi {
            function,
            count: self.count as u64,
            datatype,
            root: self.root,
            stream: self.stream as usize,
            captured: self.captured != 0,
            tag: 0,
        }
    }

    pub(crate) fn encode(call: &descriptor::CollApi<'_>) -> Self {
        Self {
            function: pointer(call.function),
            count: call.count as usize,
            datatype: pointer(call.datatype),
            root: call.root,
            stream: call.stream as *mut c_void,
            captured: u8::from(call.captured),
        }
    }
}

impl Tagged<CollApi> {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::CollApi<'a> {
        // SAFETY: the caller upholds the condition.
        descriptor::CollApi { tag: self.tag, ..unsafe { self.inner.decode() } }
    }

    pub(crate) fn encode(call: &descriptor::CollApi<'_>) -> Self {
        Self { inner: CollApi::encode(call), tag: call.tag }
    }
}

/// A call of a point-to-point function.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct P2pApi {
    /// Name of the function.
    pub function: *const c_char,
    /// Number of elements.
    pub count: usize,
    /// Name of the element type.
    pub datatype: *const c_char,
    /// Stream.
    pub stream: *mut c_void,
    /// As in [`CollApi`].
    pub captured: u8,
}

impl P2pApi {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2pApi<'a> {
        // SAFETY: the caller upholds the condition for both strings.
        let [function, datatype] = unsafe { [CText::new(self.function), CText::new(self.datatype)] };
        descriptor::P2pApi {
            function,
            count: self.count as u64,
            datatype,
            stream: self.stream as usize,
            captured: self.captured != 0,
            tag: 0,
        }
    }

    pub(crate) fn encode(call: &descriptor::P2pApi<'_>) -> Self {
        Self {
            function: pointer(call.function),
            count: call.count as usize,
            datatype: pointer(call.datatype),
            stream: call.stream as *mut c_void,
            captured: u8::from(call.captured),
        }
    }
}

impl Tagged<P2pApi> {
    /// # Safety
    /// The strings are NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> descriptor::P2pApi<'a> {
        // SAFETY: the caller upholds the condition.
        descriptor::P2pApi { tag: self.tag, ..unsafe { self.inner.decode() } }
    }

    pub(crate) fn encode(call: &descriptor::P2pApi<'_>) -> Self {
        Self { inner: P2pApi::encode(call), tag: call.tag }
    }
}
