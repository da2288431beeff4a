//! Reads the fields of a line that starts an event, which depend on the event's type.

use super::call::{CallbackKind, CapturedEvent};
use super::error::Problem;
use super::field::{hexadecimal, int};
use super::line::LineFields;
use super::strings::Strings;
use super::value::WholeNumber;
use common::event::network::NetworkEvent;

impl LineFields<'_> {
    pub(super) fn start(&self, strings: &mut Strings) -> Result<CallbackKind, Problem> {
        let bits = self.kind.as_ref().ok_or(Problem::Missing("type"))?.bits()?;
        Ok(CallbackKind::Start {
            ctx: int("ctx", self.ctx)?,
            h: int("h", self.h)?,
            parent: int("parent", self.parent)?,
            rank: int("rank", self.rank)?,
            event: self.event(bits, strings)?,
        })
    }

    fn event(&self, bits: u64, strings: &mut Strings) -> Result<CapturedEvent, Problem> {
        let number = if bits.is_power_of_two() { bits.trailing_zeros() } else { u32::MAX };
        Ok(match number {
            0 => CapturedEvent::Group,
            1 => CapturedEvent::Coll {
                seq: int("seq", self.seq)?,
                func: strings.keep("func", self.func.as_ref())?,
                count: int("count", self.count)?,
                dtype: strings.keep("dtype", self.dtype.as_ref())?,
                root: int("root", self.root)?,
                nch: int("nch", self.nch)?,
                nwarps: int("nwarps", self.nwarps)?,
                algo: strings.keep("algo", self.algo.as_ref())?,
                proto: strings.keep("proto", self.proto.as_ref())?,
                symmetric: match self.sym {
                    Some(sym) if sym.0 != 0 => Some(strings.keep("variant", self.variant.as_ref())?),
                    _ => None,
                },
                tag: self.tag()?,
            },
            2 => CapturedEvent::P2p {
                func: strings.keep("func", self.func.as_ref())?,
                count: int("count", self.count)?,
                dtype: strings.keep("dtype", self.dtype.as_ref())?,
                peer: int("peer", self.peer)?,
                nch: int("nch", self.nch)?,
                tag: self.tag()?,
            },
            3 => CapturedEvent::ProxyOp {
                pid: int("pid", self.pid)?,
                ch: int("ch", self.ch)?,
                peer: int("peer", self.peer)?,
                nsteps: int("nsteps", self.nsteps)?,
                chunk: int("chunk", self.chunk)?,
                send: int::<i32>("send", self.send)? != 0,
            },
            4 => CapturedEvent::ProxyStep { step: int("step", self.step)? },
            5 => CapturedEvent::ProxyCtrl,
            6 => CapturedEvent::KernelCh { ch: int("ch", self.ch)?, ptimer: int("ptimer", self.ptimer)? },
            7 => CapturedEvent::NetPlugin {
                plugin: int("plugin", self.plugin.or(Some(WholeNumber(0))))?,
                event: self.network_event()?,
            },
            8 => CapturedEvent::GroupApi { depth: int("depth", self.depth)?, graph: self.graph()? },
            9 => CapturedEvent::CollApi {
                func: strings.keep("func", self.func.as_ref())?,
                count: int("count", self.count)?,
                dtype: strings.keep("dtype", self.dtype.as_ref())?,
                root: int("root", self.root)?,
                stream: hexadecimal("stream", self.stream.as_ref())?,
                graph: self.graph()?,
                tag: self.tag()?,
            },
            10 => CapturedEvent::P2pApi {
                func: strings.keep("func", self.func.as_ref())?,
                count: int("count", self.count)?,
                dtype: strings.keep("dtype", self.dtype.as_ref())?,
                stream: hexadecimal("stream", self.stream.as_ref())?,
                graph: self.graph()?,
                tag: self.tag()?,
            },
            11 => CapturedEvent::KernelLaunch { stream: hexadecimal("stream", self.stream.as_ref())? },
            12 => CapturedEvent::CeColl {
                seq: int("seq", self.seq.or(Some(WholeNumber(0))))?,
                func: strings.keep("func", self.func.as_ref())?,
                count: int("count", self.count.or(Some(WholeNumber(0))))?,
                dtype: strings.keep("dtype", self.dtype.as_ref())?,
                root: int("root", self.root.or(Some(WholeNumber(0))))?,
                stream: match &self.stream {
                    Some(stream) => hexadecimal("stream", Some(stream))?,
                    None => 0,
                },
                tag: self.tag()?,
            },
            13 => CapturedEvent::CeSync,
            14 => CapturedEvent::CeBatch,
            15 => CapturedEvent::KernelPhase {
                ch: int("ch", self.ch)?,
                phase: int("phase", self.phase)?,
                ptimer: int("ptimer", self.ptimer)?,
            },
            _ => CapturedEvent::Unknown { bits },
        })
    }

    fn graph(&self) -> Result<bool, Problem> {
        Ok(int::<u8>("graph", self.graph)? != 0)
    }

    /// Returns the user's tag; 0 for none.
    fn tag(&self) -> Result<u64, Problem> {
        int("tag", self.tag.or(Some(WholeNumber(0))))
    }

    /// Returns the contents of a network plugin's event, which older recorders did not write.
    fn network_event(&self) -> Result<NetworkEvent, Problem> {
        Ok(match (self.qp, self.fd) {
            (Some(_), _) => NetworkEvent::QueuePair {
                device: int("dev", self.dev)?,
                number: int("qp", self.qp)?,
                bytes: int("bytes", self.bytes)?,
            },
            (None, Some(_)) => NetworkEvent::Socket {
                descriptor: int("fd", self.fd)?,
                sends: int::<i32>("send", self.send)? != 0,
                bytes: int("bytes", self.bytes)?,
            },
            (None, None) => NetworkEvent::Other,
        })
    }
}
