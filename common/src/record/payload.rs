//! The words of a slot that depend on the event's kind (see `slot`), as the start writes them. Callbacks pack them, the
//! collector unpacks them. This module alone defines the bits of each field.

use crate::event::name::Name;

/// Words 4 to 7 of a slot.
pub(crate) type Payload = [u64; 4];

/// Place of an operation or a call in the order of starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Place {
    /// Place in the order of starts of its communicator, below 2^48.
    pub order: u64,
    /// Distance from the first operation of the same kernel: 0 for the first one, and for an operation with a kernel of
    /// its own. 65,535 stands for all greater distances, too.
    pub distance: u16,
}

impl Place {
    const ORDER_BITS: u32 = 48;

    #[inline(always)]
    pub(crate) fn new(order: u64, distance: u64) -> Self {
        Self { order, distance: distance.min(u16::MAX.into()) as u16 }
    }

    #[inline(always)]
    fn pack(self) -> u64 {
        // no communicator starts so many operations that the order takes more bits
        u64::from(self.distance) << Self::ORDER_BITS | self.order
    }

    fn unpack(word: u64) -> Self {
        Self { order: word & ((1 << Self::ORDER_BITS) - 1), distance: (word >> Self::ORDER_BITS) as u16 }
    }
}

/// Payload of a Coll, P2p or CeColl.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OfOperation {
    /// Elements times their size.
    pub bytes: u64,
    /// The peer of a P2p ([`OfOperation::peer`]); NCCL's sequence number for the other kinds.
    pub number: u64,
    /// Function.
    pub function: Name,
    /// Algorithm, of a collective.
    pub algorithm: Name,
    /// Protocol, of a collective.
    pub protocol: Name,
    /// Number of channels that NCCL announced.
    pub channels: u8,
    /// Ticks since the launch of the kernel, below 2^32; 0 where that is not known.
    pub since_launch: u64,
    /// Place in the order of starts.
    pub place: Place,
}

impl OfOperation {
    #[inline(always)]
    pub(crate) fn pack(self) -> Payload {
        let Self { bytes, number, function, algorithm, protocol, channels, since_launch, place } = self;
        let shape = u32::from_le_bytes([function.bits(), algorithm.bits(), protocol.bits(), channels]);
        [bytes, number, u64::from(shape) | since_launch << 32, place.pack()]
    }

    /// Returns the packed words of an operation without a launch and a place, with both: they are known last, and a
    /// callback has no registers for all other fields until then.
    #[inline(always)]
    pub(crate) fn placed([bytes, number, shape, _]: Payload, since_launch: u64, place: Place) -> Payload {
        [bytes, number, shape | since_launch << 32, place.pack()]
    }

    pub(crate) fn unpack([bytes, number, shape, place]: Payload) -> Self {
        let [function, algorithm, protocol, channels] = (shape as u32).to_le_bytes();
        let [function, algorithm, protocol] = [function, algorithm, protocol].map(Name::from_bits);
        let place = Place::unpack(place);
        Self { bytes, number, function, algorithm, protocol, channels, since_launch: shape >> 32, place }
    }

    /// Returns an operation's number: the peer of a send or receive, which has no sequence number, else the sequence
    /// number.
    #[inline(always)]
    pub(crate) fn number(peer: Option<i32>, sequence: u64) -> u64 {
        peer.map_or(sequence, |peer| u64::from(peer.cast_unsigned()))
    }

    /// Returns the peer of a P2p.
    pub(crate) fn peer(&self) -> i32 {
        self.number as u32 as i32
    }
}

/// Payload of a CollApi or P2pApi.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OfCall {
    /// Elements times their size.
    pub bytes: u64,
    /// Function.
    pub function: Name,
    /// Whether the call was captured into a CUDA graph.
    pub captured: bool,
    /// Whether NCCL launches its kernel without reporting an operation.
    pub silent: bool,
    /// Place in the order of starts.
    pub place: Place,
}

impl OfCall {
    #[inline(always)]
    pub(crate) fn pack(self) -> Payload {
        let Self { bytes, function, captured, silent, place } = self;
        [bytes, u64::from(captured) | u64::from(silent) << 1, u64::from(function.bits()), place.pack()]
    }

    /// Returns the packed words of a call without a place, with its place, as [`OfOperation::placed`].
    #[inline(always)]
    pub(crate) fn placed([bytes, flags, function, _]: Payload, place: Place) -> Payload {
        [bytes, flags, function, place.pack()]
    }

    pub(crate) fn unpack([bytes, flags, function, place]: Payload) -> Self {
        let [captured, silent] = [flags & 1 != 0, flags & 2 != 0];
        Self { bytes, function: Name::from_bits(function as u8), captured, silent, place: Place::unpack(place) }
    }
}

/// The connection that a proxy operation serves, in the low 41 bits of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Connection(u64);

impl Connection {
    const SENDS: u64 = 1 << 40;
    const MARK: u64 = 1 << 41;

    #[inline(always)]
    pub(crate) fn new(peer: i32, channel: u8, sends: bool) -> Self {
        Self(u64::from(peer.cast_unsigned()) | u64::from(channel) << 32 | u64::from(sends) << 40)
    }

    /// Returns the peer.
    pub(crate) fn peer(self) -> i32 {
        self.0 as u32 as i32
    }

    /// Returns the channel id.
    pub(crate) fn channel(self) -> u8 {
        (self.0 >> 32) as u8
    }

    /// Returns true for sends, false for receives.
    pub(crate) fn sends(self) -> bool {
        self.0 & Self::SENDS != 0
    }

    /// Returns the connection with or without the mark. This type gives the mark no meaning; its user does.
    pub(crate) fn marked(self, is_marked: bool) -> Self {
        Self(self.0 & !Self::MARK | if is_marked { Self::MARK } else { 0 })
    }

    pub(crate) fn is_marked(self) -> bool {
        self.0 & Self::MARK != 0
    }
}

/// Payload of a ProxyOp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfProxyOp {
    /// The connection.
    pub connection: Connection,
    /// Number of steps that NCCL announced.
    pub steps: i32,
}

impl OfProxyOp {
    #[inline(always)]
    pub(crate) fn pack(self) -> Payload {
        [self.connection.0, u64::from(self.steps.cast_unsigned()), 0, 0]
    }

    pub(crate) fn unpack([connection, steps, _, _]: Payload) -> Self {
        Self { connection: Connection(connection), steps: steps as u32 as i32 }
    }
}

/// Payload of a ProxyStep. Its states write the other words later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfStep {
    /// Number of the step within its proxy operation.
    pub number: u64,
}

impl OfStep {
    #[inline(always)]
    pub(crate) fn pack(self) -> Payload {
        [0, 0, self.number, 0]
    }

    pub(crate) fn unpack([_, _, number, _]: Payload) -> Self {
        Self { number }
    }
}

/// Payload of a KernelCh. Its stop on the GPU's clock is written later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfKernelChannel {
    /// Start on the GPU's clock, as NCCL passed it; 0 where NCCL passed none.
    pub start: u64,
    /// Channel id.
    pub channel: u8,
}

impl OfKernelChannel {
    #[inline(always)]
    pub(crate) fn pack(self) -> Payload {
        [self.start, 0, u64::from(self.channel), 0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_have_an_end() {
        for (order, distance, farthest) in [(0, 0, 0), (7, 3, 3), ((1 << 48) - 1, 65_535, 65_535), (9, 1 << 40, 65_535)]
        {
            assert_eq!(Place::unpack(Place::new(order, distance).pack()), Place { order, distance: farthest });
        }
    }

    #[test]
    fn what_was_packed_is_there() {
        let [function, algorithm, protocol] = [c"AllGather", c"RING", c"LL128"].map(|name| Name::of(Some(name)));
        let (channels, since_launch, place) = (255, u32::MAX.into(), Place { order: 7, distance: 3 });
        let number = OfOperation::number(Some(-2), 5);
        let operation =
            OfOperation { bytes: u64::MAX, number, function, algorithm, protocol, channels, since_launch, place };
        assert_eq!((OfOperation::unpack(operation.pack()), operation.peer()), (operation, -2));
        let without = OfOperation { since_launch: 0, place: Place::default(), ..operation };
        assert_eq!(OfOperation::placed(without.pack(), since_launch, place), operation.pack());
        assert_eq!(OfOperation::number(None, 5), 5);
        for (captured, silent) in [(true, false), (false, true)] {
            let call = OfCall { bytes: 9, function, captured, silent, place };
            assert_eq!(OfCall::unpack(call.pack()), call);
            assert_eq!(OfCall::placed(OfCall { place: Place::default(), ..call }.pack(), place), call.pack());
        }
        for (peer, channel, sends) in [(-1, 255, true), (i32::MAX, 0, false)] {
            let proxy = OfProxyOp { connection: Connection::new(peer, channel, sends), steps: -3 };
            assert_eq!(OfProxyOp::unpack(proxy.pack()), proxy);
            for is_marked in [true, false] {
                let found = proxy.connection.marked(!is_marked).marked(is_marked);
                assert_eq!(
                    (found.peer(), found.channel(), found.sends(), found.is_marked()),
                    (peer, channel, sends, is_marked)
                );
            }
        }
        assert_eq!(OfStep::unpack(OfStep { number: 4 }.pack()), OfStep { number: 4 });
        assert_eq!(OfKernelChannel { start: 6, channel: 8 }.pack(), [6, 0, 8, 0]);
    }
}
