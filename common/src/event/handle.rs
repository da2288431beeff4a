//! Handles and context identifiers: numbers that this library gives to NCCL and gets back. They are never pointers.
//!
//! In ordinary runs NCCL passes stale handles, handles of stopped events, and handles of other processes (PXN). So the
//! library dereferences nothing that it gets from NCCL. A number packs a nonce of this process, a generation, the kind
//! of event and an index. The owner of the index compares the generation, or the whole number, at every use.
//!
//! ```text
//! bit 63      56 55            32 31     28 27                 0
//!     [ nonce 8 ][ generation 24 ][ kind 4 ][     index 28      ]
//! ```

use crate::event::kind::EventKind;
use std::sync::atomic::{AtomicU8, Ordering};

/// Number of bits of the index.
pub const INDEX_BITS: u32 = 28;
/// Number of bits of the generation.
pub const GENERATION_BITS: u32 = 24;
const GENERATION_SHIFT: u32 = 64 - 8 - GENERATION_BITS;
const GENERATION_MASK: u64 = (1 << GENERATION_BITS) - 1;
const KIND_MASK: u64 = 15;
/// Mask of the index's bits.
pub(crate) const INDEX_MASK: u64 = (1 << INDEX_BITS) - 1;
/// Indices from here on name no slot. They are the handles of events that need none.
const SLOTLESS: u64 = (1 << INDEX_BITS) - 16;
const GROUP_API: u64 = SLOTLESS;
const KERNEL_LAUNCH: u64 = SLOTLESS + 1;
const NESTED_LAUNCH: u64 = SLOTLESS + 2;
const NESTED_GROUP: u64 = SLOTLESS + 3;
const PROXY_CTRL: u64 = SLOTLESS + 4;
const NET_PLUGIN: u64 = SLOTLESS + 5;

static NONCE: AtomicU8 = AtomicU8::new(0);

/// Meaning of a handle that many events share because they need no slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    /// A group of API calls.
    GroupApi,
    /// The launch of a kernel with events around it.
    KernelLaunch,
    /// The launch of an outer group's kernel, with or without events around it.
    NestedLaunch,
    /// The group of operations of an outer group's kernel.
    NestedGroup,
    /// A look at the states of a progress thread.
    ProxyCtrl,
    /// An event of a network plugin.
    NetPlugin,
}

/// An event handle or a context identifier, as a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Handle(u64);

impl Handle {
    /// Returns the handle of an API group. The group takes no slot, because only the time between its callbacks on one
    /// thread counts.
    pub fn group_api() -> Self {
        Self::new(GROUP_API as u32, 0)
    }

    /// Returns the handle of a timed launch. The launch takes no slot, because its thread knows which launch it is in.
    pub fn kernel_launch() -> Self {
        Self::new(KERNEL_LAUNCH as u32, 0)
    }

    /// Returns the handle of the launch of an outer group's kernel, which takes no slot either.
    pub fn nested_launch() -> Self {
        Self::new(NESTED_LAUNCH as u32, 0)
    }

    /// Returns the handle of the group of that kernel's operations, which takes no slot either.
    pub fn nested_group() -> Self {
        Self::new(NESTED_GROUP as u32, 0)
    }

    /// Returns the handle of a look at the states of a progress thread. Its thread knows its own state.
    pub fn proxy_ctrl() -> Self {
        Self::new(PROXY_CTRL as u32, 0)
    }

    /// Returns the handle of an event of a network plugin, which counts when it starts. NCCL's sockets start an event
    /// without a handle again at every poll.
    pub fn net_plugin() -> Self {
        Self::new(NET_PLUGIN as u32, 0)
    }

    /// Packs the index of a context with its generation.
    #[inline(always)]
    pub fn new(index: u32, generation: u32) -> Self {
        let generation = u64::from(generation) & GENERATION_MASK;
        Self(u64::from(nonce()) << 56 | generation << GENERATION_SHIFT | u64::from(index) & INDEX_MASK)
    }

    /// Packs the index of a slot with its block's generation and the kind of the event in it.
    #[inline(always)]
    pub fn of_event(kind: EventKind, index: u32, generation: u32) -> Self {
        Self(Self::new(index, generation).0 | (kind as u64) << INDEX_BITS)
    }

    /// Returns the number that NCCL passed as a handle, if it has this process' nonce. `None` for NULL and for handles
    /// of other processes.
    #[inline(always)]
    pub fn parse(raw: u64) -> Option<Self> {
        // 0 until the first handle is given out
        let nonce = NONCE.load(Ordering::Relaxed);
        (nonce != 0 && raw >> 56 == u64::from(nonce)).then_some(Self(raw))
    }

    /// Like [`Handle::parse`], for the number of a context.
    #[inline(always)]
    pub fn parse_context(raw: u64) -> Option<Self> {
        Self::parse(raw).filter(|id| id.0 >> INDEX_BITS & KIND_MASK == 0)
    }

    /// Returns the handle that a slot holds, if it is one of this process and of that generation.
    #[inline(always)]
    pub(crate) fn of_generation(raw: u64, generation: u32) -> Option<Self> {
        let nonce = NONCE.load(Ordering::Relaxed);
        let upper = u64::from(nonce) << GENERATION_BITS | u64::from(generation);
        (nonce != 0 && raw >> GENERATION_SHIFT == upper).then_some(Self(raw))
    }

    /// Returns the shared meaning of a number, or `None` if it is no shared handle.
    #[inline(always)]
    pub fn shared(raw: u64) -> Option<Shared> {
        Self::group_api().beside(raw)
    }

    /// Like [`Handle::shared`], for a caller that has the group's handle (`self`) at hand.
    #[inline(always)]
    pub(crate) fn beside(self, raw: u64) -> Option<Shared> {
        // shared handles have neither generation nor kind
        match raw ^ self.0 ^ GROUP_API {
            GROUP_API => Some(Shared::GroupApi),
            KERNEL_LAUNCH => Some(Shared::KernelLaunch),
            NESTED_LAUNCH => Some(Shared::NestedLaunch),
            NESTED_GROUP => Some(Shared::NestedGroup),
            PROXY_CTRL => Some(Shared::ProxyCtrl),
            NET_PLUGIN => Some(Shared::NetPlugin),
            _ => None,
        }
    }

    /// Wraps a number that is known to be a handle of this process.
    #[inline(always)]
    pub(crate) fn known(raw: u64) -> Self {
        Self(raw)
    }

    /// Returns the number for NCCL; never 0.
    #[inline(always)]
    pub fn raw(self) -> u64 {
        self.0
    }

    /// Returns the index of the slot or context.
    #[inline(always)]
    pub fn index(self) -> u32 {
        (self.0 & INDEX_MASK) as u32
    }

    /// Returns the generation of the slot's block or of the context.
    #[inline(always)]
    pub fn generation(self) -> u32 {
        (self.0 >> GENERATION_SHIFT & GENERATION_MASK) as u32
    }

    /// Returns the kind of the event; `None` for a context.
    #[inline(always)]
    pub fn kind(self) -> Option<EventKind> {
        EventKind::from_bits(self.0 >> INDEX_BITS & KIND_MASK)
    }
}

/// Returns a number from 1 to 255 that differs between two processes with a probability of 254/255. So most handles of
/// other processes (PXN) are noticed at once. The process id in a proxy operation is the surer test, but processes in
/// two containers may have the same id.
#[inline(always)]
fn nonce() -> u8 {
    match NONCE.load(Ordering::Relaxed) {
        0 => {
            // SAFETY: the kernel gives every process 16 random bytes, which stay at their address.
            let random = unsafe { (libc::getauxval(libc::AT_RANDOM) as *const u8).as_ref() };
            let nonce = random.map_or_else(|| std::process::id() as u8, |&byte| byte).max(1);
            NONCE.store(nonce, Ordering::Relaxed);
            nonce
        }
        nonce => nonce,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packs_and_unpacks() {
        let handle = Handle::new(123_456, 0x00FF_FFFF);
        assert_eq!(Handle::parse(handle.raw()), Some(handle));
        assert_eq!((handle.index(), handle.generation(), handle.kind()), (123_456, 0x00FF_FFFF, None));
        let event = Handle::of_event(EventKind::Skipped, 123_456, 0x00FF_FFFF);
        assert_eq!((event.index(), event.generation(), event.kind()), (123_456, 0x00FF_FFFF, Some(EventKind::Skipped)));
        assert!(Handle::group_api().index() as usize >= crate::record::pool::MOST_SLOTS);
    }

    #[test]
    fn only_what_many_events_share_is_shared() {
        let [group, launch] = [Handle::group_api(), Handle::kernel_launch()].map(Handle::raw);
        let nested = [Handle::nested_launch(), Handle::nested_group()].map(Handle::raw);
        assert_eq!([group, launch].map(Handle::shared), [Some(Shared::GroupApi), Some(Shared::KernelLaunch)]);
        assert_eq!(nested.map(Handle::shared), [Some(Shared::NestedLaunch), Some(Shared::NestedGroup)]);
        let counted = [Handle::proxy_ctrl(), Handle::net_plugin()].map(Handle::raw);
        assert_eq!(counted.map(Handle::shared), [Some(Shared::ProxyCtrl), Some(Shared::NetPlugin)]);
        let kind = Handle::of_event(EventKind::Coll, SLOTLESS as u32, 0).raw();
        for other in [0, 1, u64::MAX, group ^ 1 << 56, group | 1 << 40, kind, counted[1] + 1, Handle::new(7, 0).raw()] {
            assert_eq!(Handle::shared(other), None, "{other:x}");
        }
    }

    #[test]
    fn null_and_foreign_numbers_are_refused() {
        assert_eq!(Handle::parse(0), None);
        let raw = Handle::new(1, 1).raw();
        assert_eq!(Handle::parse(raw ^ 1 << 60), None);
        assert_eq!(Handle::parse_context(raw), Handle::parse(raw));
        assert_eq!(Handle::parse_context(Handle::of_event(EventKind::Coll, 1, 1).raw()), None);
    }

    #[test]
    fn generations_wrap_within_their_bits() {
        assert_eq!(Handle::new(7, 1 << GENERATION_BITS).generation(), 0);
    }
}
