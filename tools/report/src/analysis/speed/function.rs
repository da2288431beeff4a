//! The functions that speeds are told apart by.

use crate::stream::{Call, CallKind, Occurrence};
use common::name::NcclName;

/// The function of an occurrence: a collective's, or one of sends and receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::analysis) enum OccurrenceFunction {
    Collective(NcclName),
    /// A send and its receive, each alone.
    SendRecv,
    /// Sends and receives in groups.
    Exchange,
    /// Sends and receives in groups, with every peer.
    AllToAll,
}

impl OccurrenceFunction {
    /// Returns the function of a call.
    pub(in crate::analysis) fn of_call(call: &Call) -> Self {
        match (call.kind, call.messages.len()) {
            (CallKind::Collective, _) => Self::Collective(call.function),
            (CallKind::AllToAll, _) => Self::AllToAll,
            (CallKind::Exchange, 1) => Self::SendRecv,
            (CallKind::Exchange, _) => Self::Exchange,
        }
    }

    /// Returns the function of an occurrence. Ranks may send and receive in groups of different sizes.
    pub(in crate::analysis) fn of_occurrence(occurrence: &Occurrence) -> Option<Self> {
        let mut functions = occurrence.parts.iter().map(|part| Self::of_call(&part.call));
        let first = functions.next()?;
        Some(if functions.all(|function| function == first) { first } else { Self::Exchange })
    }

    pub(in crate::analysis) fn kind(self) -> CallKind {
        match self {
            Self::Collective(_) => CallKind::Collective,
            Self::SendRecv | Self::Exchange => CallKind::Exchange,
            Self::AllToAll => CallKind::AllToAll,
        }
    }

    /// Returns its name.
    pub(in crate::analysis) fn text(self) -> String {
        match self {
            Self::Collective(name) => name.text(),
            Self::SendRecv => "SendRecv".into(),
            Self::Exchange => "Exchange".into(),
            Self::AllToAll => "AlltoAll".into(),
        }
    }
}
