//! Memory that descriptors point to. It lives as long as the process, as NCCL's strings do.

use common::event::network::NetworkEvent;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

/// C strings and contents of network events, each kept once.
#[derive(Debug, Default)]
pub(crate) struct CMemory {
    strings: HashMap<Arc<str>, &'static CString>,
    contents: HashMap<NetworkEvent, &'static [u64; 5]>,
}

impl CMemory {
    /// Returns the address of the string, or 0 for no string.
    pub(super) fn address(&mut self, text: Option<&Arc<str>>) -> u64 {
        let Some(text) = text else { return 0 };
        let kept = self.strings.entry(text.clone()).or_insert_with(|| {
            let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
            Box::leak(Box::new(CString::new(bytes).unwrap_or_default()))
        });
        kept.as_ptr() as u64
    }

    /// Returns the address of what NCCL's networks pass with the event, or 0 where that is not known.
    pub(super) fn contents(&mut self, event: NetworkEvent) -> u64 {
        let of_two = |low: i32, high: i32| u64::from(low.cast_unsigned()) | u64::from(high.cast_unsigned()) << 32;
        let words = match event {
            // type, device, work request, opcode and queue pair, bytes
            NetworkEvent::QueuePair { device, number, bytes } => [1, of_two(device, 0), 0, of_two(0, number), bytes],
            // type, file descriptor and 0 for a send, bytes
            NetworkEvent::Socket { descriptor, sends, bytes } => {
                [1, of_two(descriptor, i32::from(!sends)), bytes, 0, 0]
            }
            NetworkEvent::Other => return 0,
        };
        let kept = self.contents.entry(event).or_insert_with(|| Box::leak(Box::new(words)));
        kept.as_ptr() as u64
    }
}
