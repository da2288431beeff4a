//! The words of a slot that depend on the event's kind (see `slot`), as the start writes them. Callbacks pack them, the
//! collector unpacks them. This module alone defines the bits of each field.

use crate::event::datatype::Datatype;
use crate::event::name::NcclName;

/// Words 4 to 7 of a slot.
pub(crate) type Payload = [u64; 4];

/// Place of an operation or a call in the order of starts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct StartOrder {
    /// Place in the order of starts of its communicator, below 2^48.
    pub order: u64,
    /// Distance from the first operation of the same kernel: 0 for the first one, and for an operation with a kernel of
    /// its own. 65,535 stands for all greater distances, too.
    pub distance: u16,
}

impl StartOrder {
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
    /// The peer of a P2p, or the sequence number and the root of another kind; the type of its elements.
    pub number: OperationWord,
    /// Function.
    pub function: NcclName,
    /// Algorithm, of a collective.
    pub algorithm: NcclName,
    /// Protocol, of a collective.
    pub protocol: NcclName,
    /// Number of channels that NCCL announced.
    pub channels: u8,
    /// Ticks since the launch of the kernel, below 2^32; 0 where that is not known.
    pub since_launch: u64,
    /// Place in the order of starts.
    pub place: StartOrder,
}

impl OfOperation {
    #[inline(always)]
    pub(crate) fn pack(self) -> Payload {
        let Self { bytes, number, function, algorithm, protocol, channels, since_launch, place } = self;
        let shape = u32::from_le_bytes([function.bits(), algorithm.bits(), protocol.bits(), channels]);
        [bytes, number.0, u64::from(shape) | since_launch << 32, place.pack()]
    }

    /// Returns the packed words of an operation without a launch and a place, with both: they are known last, and a
    /// callback has no registers for all other fields until then.
    #[inline(always)]
    pub(crate) fn placed([bytes, number, shape, _]: Payload, since_launch: u64, place: StartOrder) -> Payload {
        [bytes, number, shape | since_launch << 32, place.pack()]
    }

    pub(crate) fn unpack([bytes, number, shape, place]: Payload) -> Self {
        let [function, algorithm, protocol, channels] = (shape as u32).to_le_bytes();
        let [function, algorithm, protocol] = [function, algorithm, protocol].map(NcclName::from_bits);
        let place = StartOrder::unpack(place);
        let number = OperationWord(number);
        Self { bytes, number, function, algorithm, protocol, channels, since_launch: shape >> 32, place }
    }
}

/// Fields of an operation that share a word:
///
/// ```text
/// bit 63               24 23          8 7          0
///     [ sequence 40 or   ][           ][            ]
///     [ peer 32          ][ root 16   ][ datatype 8 ]
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OperationWord(u64);

impl OperationWord {
    const LOW_BITS: u32 = 24;
    const DATATYPE_BITS: u32 = 8;
    /// Stands for all roots that do not fit.
    const NO_ROOT: u32 = 0xFFFF;

    /// Packs the peer of a P2p, which has no sequence number.
    #[inline(always)]
    pub(crate) fn of_peer(peer: i32, datatype: Datatype) -> Self {
        let below = Self::NO_ROOT << Self::DATATYPE_BITS | u32::from(datatype.bits());
        Self(u64::from(peer.cast_unsigned()) << Self::LOW_BITS | u64::from(below))
    }

    /// Packs the sequence number of a collective, modulo 2^40, and its root.
    #[inline(always)]
    pub(crate) fn of_collective(sequence: u64, root: Option<i32>, datatype: Datatype) -> Self {
        // a negative root is a large one, too
        let root = root.map_or(Self::NO_ROOT, |root| root.cast_unsigned().min(Self::NO_ROOT));
        let low = u64::from(root << Self::DATATYPE_BITS | u32::from(datatype.bits()));
        Self(sequence << Self::LOW_BITS | low)
    }

    /// Returns the peer of a P2p.
    pub(crate) fn peer(self) -> i32 {
        (self.0 >> Self::LOW_BITS) as u32 as i32
    }

    /// Returns the sequence number of a collective.
    pub(crate) fn sequence(self) -> u64 {
        self.0 >> Self::LOW_BITS
    }

    /// Returns the root of a collective; `None` if it is not below 65,535.
    pub(crate) fn root(self) -> Option<i32> {
        let root = (self.0 >> Self::DATATYPE_BITS) as u32 & Self::NO_ROOT;
        (root != Self::NO_ROOT).then_some(root.cast_signed())
    }

    /// Returns the type of the elements.
    pub(crate) fn datatype(self) -> Datatype {
        Datatype::from_bits(self.0 as u8)
    }
}

/// Payload of a CollApi or P2pApi.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OfCall {
    /// Elements times their size.
    pub bytes: u64,
    /// Function.
    pub function: NcclName,
    /// Type of the elements.
    pub datatype: Datatype,
    /// Root of a collective; `None` if it is negative.
    pub root: Option<i32>,
    /// Whether the call was captured into a CUDA graph.
    pub captured: bool,
    /// Whether NCCL launches its kernel without reporting an operation.
    pub silent: bool,
    /// Place in the order of starts.
    pub place: StartOrder,
}

impl OfCall {
    #[inline(always)]
    pub(crate) fn pack(self) -> Payload {
        let Self { bytes, function, datatype, root, captured, silent, place } = self;
        let flags = u64::from(captured) | u64::from(silent) << 1;
        // all negative roots stand for none
        let root = u64::from(root.unwrap_or(-1).cast_unsigned()) << 32;
        [bytes, flags, u64::from(function.bits()) | u64::from(datatype.bits()) << 8 | root, place.pack()]
    }

    /// Returns the packed words of a call without a place, with its place, as [`OfOperation::placed`].
    #[inline(always)]
    pub(crate) fn placed([bytes, flags, contents, _]: Payload, place: StartOrder) -> Payload {
        [bytes, flags, contents, place.pack()]
    }

    pub(crate) fn unpack([bytes, flags, contents, place]: Payload) -> Self {
        let [captured, silent] = [flags & 1 != 0, flags & 2 != 0];
        let (function, datatype) = (NcclName::from_bits(contents as u8), Datatype::from_bits((contents >> 8) as u8));
        let root = Some(((contents >> 32) as u32).cast_signed()).filter(|&root| root >= 0);
        Self { bytes, function, datatype, root, captured, silent, place: StartOrder::unpack(place) }
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

/// Payload of a ProxyStep. Its states write the other words, and the low 48 bits of its number's, later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OfStep {
    /// Number of the step within its proxy operation, modulo 2^16. NCCL has far fewer steps of one under way.
    pub number: u64,
}

impl OfStep {
    const TIME_BITS: u32 = 48;

    #[inline(always)]
    pub(crate) fn pack(self) -> Payload {
        [0, 0, self.number << Self::TIME_BITS, 0]
    }

    pub(crate) fn unpack([_, _, word, _]: Payload) -> Self {
        Self { number: word >> Self::TIME_BITS }
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
            assert_eq!(
                StartOrder::unpack(StartOrder::new(order, distance).pack()),
                StartOrder { order, distance: farthest }
            );
        }
    }

    #[test]
    fn fields_of_a_word_do_not_touch_each_other() {
        let (no_type, datatype) = (Datatype::default(), Datatype::of(Some(c"ncclFloat64")));
        let sent = OperationWord::of_peer(-2, datatype);
        assert_eq!((sent.peer(), sent.datatype()), (-2, datatype));
        let most = (1 << 40) - 1;
        for (sequence, root, kept) in [
            (5, Some(0), Some(0)),
            (most, Some(65_534), Some(65_534)),
            (most, Some(65_535), None),
            (0, Some(i32::MAX), None),
            (7, Some(-1), None),
            (7, None, None),
        ] {
            for datatype in [no_type, datatype] {
                let number = OperationWord::of_collective(sequence, root, datatype);
                assert_eq!((number.sequence(), number.root(), number.datatype()), (sequence, kept, datatype));
            }
        }
        assert_eq!(
            OperationWord::of_collective(most + 3, Some(1), datatype),
            OperationWord::of_collective(2, Some(1), datatype)
        );
        let call = OfCall { root: Some(-3), datatype, ..OfCall::default() };
        assert_eq!(OfCall::unpack(call.pack()), OfCall { root: None, ..call });
    }

    #[test]
    fn what_was_packed_is_there() {
        let [function, algorithm, protocol] = [c"AllGather", c"RING", c"LL128"].map(|name| NcclName::of(Some(name)));
        let (channels, since_launch, place) = (255, u32::MAX.into(), StartOrder { order: 7, distance: 3 });
        let datatype = Datatype::of(Some(c"ncclFloat64"));
        let number = OperationWord::of_peer(-2, datatype);
        let operation =
            OfOperation { bytes: u64::MAX, number, function, algorithm, protocol, channels, since_launch, place };
        assert_eq!(OfOperation::unpack(operation.pack()), operation);
        let without = OfOperation { since_launch: 0, place: StartOrder::default(), ..operation };
        assert_eq!(OfOperation::placed(without.pack(), since_launch, place), operation.pack());
        for (captured, silent, root) in [(true, false, None), (false, true, Some(i32::MAX))] {
            let call = OfCall { bytes: 9, function, datatype, root, captured, silent, place };
            assert_eq!(OfCall::unpack(call.pack()), call);
            assert_eq!(OfCall::placed(OfCall { place: StartOrder::default(), ..call }.pack(), place), call.pack());
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
