//! Events on the GPU: kernel launches, kernel channels, and phases within kernel channels.

use super::pointer;
use crate::interface::descriptor::Payload;
use common::text::CText;
use std::ffi::{c_char, c_void};

/// The launch of a kernel (v5 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelLaunch {
    /// Stream.
    pub stream: *mut c_void,
}

impl KernelLaunch {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::KernelLaunch { stream: self.stream as usize }
    }

    pub(crate) fn encode(stream: usize) -> Self {
        Self { stream: stream as *mut c_void }
    }
}

/// A kernel channel (v4 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelChannel {
    /// Channel id.
    pub channel: u8,
    /// GPU clock at the start.
    pub ptimer: u64,
}

impl KernelChannel {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::KernelCh { channel: self.channel, ptimer: Some(self.ptimer) }
    }
}

/// A kernel channel of v3, which has no GPU clock.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct UntimedKernelChannel {
    /// Channel id.
    pub channel: u8,
}

impl UntimedKernelChannel {
    #[inline(always)]
    pub(crate) fn decode<'a>(&self) -> Payload<'a> {
        Payload::KernelCh { channel: self.channel, ptimer: None }
    }
}

/// A phase within a kernel channel (v7 and later).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelPhase {
    /// Channel id.
    pub channel: u8,
    /// 0 for the initial synchronisation, 1 for compute, 2 for the final synchronisation.
    pub phase: u8,
    /// NCCL's name of the phase.
    pub name: *const c_char,
    /// GPU clock at the start.
    pub ptimer: u64,
}

impl KernelPhase {
    /// # Safety
    /// The name is NCCL's, alive during the callback.
    #[inline(always)]
    pub(crate) unsafe fn decode<'a>(&self) -> Payload<'a> {
        // SAFETY: the caller upholds the condition.
        let name = unsafe { CText::new(self.name) };
        Payload::KernelPhase { channel: self.channel, phase: self.phase, name, ptimer: self.ptimer }
    }

    pub(crate) fn encode(channel: u8, phase: u8, name: Option<CText<'_>>, ptimer: u64) -> Self {
        Self { channel, phase, name: pointer(name), ptimer }
    }
}
