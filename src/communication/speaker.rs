//! One lane: which communication each of its events stands for.

use crate::archive::lane;
use common::name::NcclName;

/// An event of a lane.
#[derive(Debug, Clone, Copy)]
pub(super) enum SpokenEvent<'a> {
    /// An operation begins; `other` is its peer or its root, if it has one.
    Enter { region: &'a str, other: Option<i32> },
    /// The bytes of the operation.
    Bytes(u64),
    /// The operation ends.
    Leave,
}

/// Returns the number of the MPI function that does the same as a collective of NCCL's, `OTF2_COLLECTIVE_OP_...`.
pub(super) fn number(function: &str) -> Option<u8> {
    Some(match function {
        "Broadcast" => 1,
        "Gather" => 2,
        "Scatter" => 4,
        "AllGather" => 6,
        "AlltoAll" => 8,
        "AllReduce" => 11,
        "Reduce" => 12,
        // the same count for each rank: MPI_Reduce_scatter_block
        "ReduceScatter" => 16,
        _ => return None,
    })
}

/// A collective: its function, and OTF2's number for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SpokenCollective {
    pub(super) function: NcclName,
    pub(super) number: u8,
}

/// A moment of communication. Ranks are the communicator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpokenMoment {
    /// A message is sent to a rank.
    Send { to: i32, bytes: u64 },
    /// A message of a rank has come.
    Receive { from: i32, bytes: u64 },
    /// A collective begins.
    Begin { collective: SpokenCollective, root: Option<i32> },
    /// A collective ends.
    End { collective: SpokenCollective, root: Option<i32>, bytes: u64 },
}

impl SpokenMoment {
    /// Returns whether it is of a message, and not of a collective.
    pub(super) fn is_of_message(&self) -> bool {
        matches!(self, Self::Send { .. } | Self::Receive { .. })
    }
}

/// The operation that is open on a lane, and its bytes once they are known.
#[derive(Debug, Clone, Copy)]
enum OpenOperation {
    Send(i32),
    Receive(i32, u64),
    Collective(SpokenCollective, Option<i32>, u64),
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Speaker(Option<OpenOperation>);

impl Speaker {
    /// Takes an event; returns the moment that it stands for. Sends are sent where their bytes are known, which is at
    /// their begin.
    pub(super) fn see(&mut self, seen: SpokenEvent<'_>) -> Option<SpokenMoment> {
        match seen {
            SpokenEvent::Enter { region, other } => {
                self.0 = lane::function(region).and_then(|function| match (function, other) {
                    ("Send", Some(peer)) => Some(OpenOperation::Send(peer)),
                    ("Recv", Some(peer)) => Some(OpenOperation::Receive(peer, 0)),
                    (function, root) => {
                        let (function, number) = (NcclName::of_text(function), number(function)?);
                        let collective = SpokenCollective { function, number };
                        Some(OpenOperation::Collective(collective, root.filter(|_| function.has_root()), 0))
                    }
                });
                match self.0 {
                    Some(OpenOperation::Collective(collective, root, _)) => {
                        Some(SpokenMoment::Begin { collective, root })
                    }
                    _ => None,
                }
            }
            SpokenEvent::Bytes(of) => match self.0.as_mut()? {
                OpenOperation::Send(to) => Some(SpokenMoment::Send { to: *to, bytes: of }),
                OpenOperation::Receive(_, bytes) | OpenOperation::Collective(_, _, bytes) => {
                    *bytes = of;
                    None
                }
            },
            SpokenEvent::Leave => match self.0.take()? {
                OpenOperation::Send(_) => None,
                OpenOperation::Receive(from, bytes) => Some(SpokenMoment::Receive { from, bytes }),
                OpenOperation::Collective(collective, root, bytes) => {
                    Some(SpokenMoment::End { collective, root, bytes })
                }
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_says_what_it_moves() {
        let mut speaker = Speaker::default();
        let mut say = |region, other, bytes| {
            let events = [SpokenEvent::Enter { region, other }, SpokenEvent::Bytes(bytes), SpokenEvent::Leave];
            events.map(|seen| speaker.see(seen))
        };
        let of =
            |function| SpokenCollective { function: NcclName::of_text(function), number: number(function).unwrap() };
        let begin = |function, root| Some(SpokenMoment::Begin { collective: of(function), root });
        let end = |function, root, bytes| Some(SpokenMoment::End { collective: of(function), root, bytes });
        assert_eq!(say("ncclSend", Some(3), 8), [None, Some(SpokenMoment::Send { to: 3, bytes: 8 }), None]);
        assert_eq!(
            say("ncclRecv (not GPU-timed)", Some(2), 8),
            [None, None, Some(SpokenMoment::Receive { from: 2, bytes: 8 })]
        );
        assert_eq!(say("ncclAllReduce", None, 5), [begin("AllReduce", None), None, end("AllReduce", None, 5)]);
        assert_eq!(say("ncclBroadcast", Some(1), 5), [begin("Broadcast", Some(1)), None, end("Broadcast", Some(1), 5)]);
        assert_eq!((say("NCCL transfers", None, 5), say("ncclSend", None, 5)), ([None; 3], [None; 3]));
    }
}
