//! Event descriptors as NCCL lays them out in memory (x86_64 and aarch64).

use crate::capture::Event;
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::Arc;

/// A descriptor's memory; larger than any version's.
#[repr(C, align(8))]
#[derive(Debug)]
pub(super) struct Descriptor([u8; 160]);

/// Strings that live as long as the process, as NCCL's do.
#[derive(Debug, Default)]
pub(super) struct Strings(HashMap<Arc<str>, &'static CString>);

impl Strings {
    /// Address of the string, or 0 for none.
    fn address(&mut self, text: Option<&Arc<str>>) -> u64 {
        let Some(text) = text else { return 0 };
        let kept = self.0.entry(text.clone()).or_insert_with(|| {
            let bytes: Vec<u8> = text.bytes().filter(|&byte| byte != 0).collect();
            Box::leak(Box::new(CString::new(bytes).unwrap_or_default()))
        });
        kept.as_ptr() as u64
    }
}

/// Where the union of payloads begins.
const PAYLOAD: usize = 24;

impl Descriptor {
    /// The descriptor of an event as version `api` of the interface has it; `pid` stands for the recorded process' own.
    pub(super) fn new(api: u32, event: &Event, parent: u64, rank: i32, pid: i32, strings: &mut Strings) -> Self {
        let mut descriptor = Self([0; 160]);
        if api <= 4 {
            // 8 bits up to v4; what does not fit was never sent through them
            descriptor.put(0, &[u8::try_from(event.bits()).unwrap_or(0)]);
        } else {
            descriptor.put(0, &event.bits().to_ne_bytes());
        }
        descriptor.put(8, &parent.to_ne_bytes());
        descriptor.put(16, &rank.to_ne_bytes());
        descriptor.payload(event, pid, strings);
        descriptor
    }

    /// For the call.
    pub(super) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr()
    }

    fn put(&mut self, offset: usize, bytes: &[u8]) {
        self.0[offset..offset + bytes.len()].copy_from_slice(bytes);
    }

    fn word(&mut self, offset: usize, value: u64) {
        self.put(PAYLOAD + offset, &value.to_ne_bytes());
    }

    fn int(&mut self, offset: usize, value: i32) {
        self.put(PAYLOAD + offset, &value.to_ne_bytes());
    }

    fn byte(&mut self, offset: usize, value: u8) {
        self.put(PAYLOAD + offset, &[value]);
    }

    fn payload(&mut self, event: &Event, pid: i32, strings: &mut Strings) {
        match event {
            Event::Coll { seq, func, count, dtype, root, nch, nwarps, algo, proto } => {
                self.word(0, *seq);
                self.word(8, strings.address(func.as_ref()));
                self.word(32, *count);
                self.int(40, *root);
                self.word(48, strings.address(dtype.as_ref()));
                self.byte(56, *nch);
                self.byte(57, *nwarps);
                self.word(64, strings.address(algo.as_ref()));
                self.word(72, strings.address(proto.as_ref()));
            }
            Event::P2p { func, count, dtype, peer, nch } => {
                self.word(0, strings.address(func.as_ref()));
                self.word(16, strings.address(dtype.as_ref()));
                self.word(24, *count);
                self.int(32, *peer);
                self.byte(36, *nch);
            }
            Event::ProxyOp { ch, peer, nsteps, chunk, send, .. } => {
                self.int(0, pid);
                self.byte(4, *ch);
                self.int(8, *peer);
                self.int(12, *nsteps);
                self.int(16, *chunk);
                self.int(20, i32::from(*send));
            }
            Event::ProxyStep { step } => self.int(0, *step),
            Event::KernelCh { ch, ptimer } => {
                self.byte(0, *ch);
                self.word(8, *ptimer);
            }
            Event::GroupApi { depth, graph } => {
                self.byte(0, u8::from(*graph));
                self.int(4, *depth);
            }
            Event::CollApi { func, count, dtype, root, stream, graph } => {
                self.word(0, strings.address(func.as_ref()));
                self.word(8, *count);
                self.word(16, strings.address(dtype.as_ref()));
                self.int(24, *root);
                self.word(32, *stream);
                self.byte(40, u8::from(*graph));
            }
            Event::P2pApi { func, count, dtype, stream, graph } => {
                self.word(0, strings.address(func.as_ref()));
                self.word(8, *count);
                self.word(16, strings.address(dtype.as_ref()));
                self.word(24, *stream);
                self.byte(32, u8::from(*graph));
            }
            Event::KernelLaunch { stream } => self.word(0, *stream),
            Event::CeColl { seq, func, count, dtype, root, stream } => {
                self.word(0, *seq);
                self.word(8, strings.address(func.as_ref()));
                self.word(32, *count);
                self.int(40, *root);
                self.word(48, strings.address(dtype.as_ref()));
                self.word(80, *stream);
            }
            Event::KernelPhase { ch, phase, ptimer } => {
                self.byte(0, *ch);
                self.byte(1, *phase);
                self.word(16, *ptimer);
            }
            Event::Group | Event::ProxyCtrl | Event::NetPlugin | Event::CeSync | Event::CeBatch | Event::Unknown { .. } => {}
        }
    }
}
