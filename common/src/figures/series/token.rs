//! The names of series: a figure's name, and whose values they are.

use crate::figures::metric::{PROCESS_SERIES, SERIES, SeriesMetric};
use std::fmt::{self, Display, Formatter};

/// The communicators and peers that a series covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Of {
    /// `#N`: the communicator of this number.
    Communicator(u32),
    /// `#N@P`: its transfers to its rank P.
    Peer(u32, i32),
    /// `#other`: all communicators without a series of their own.
    Other,
    /// Nothing behind the name: the process.
    Process,
}

/// A series: `nccl_window_effective_busbw#0`, `nccl_window_transfer_rate#0@3`, `nccl_window_effective_busbw#other`.
#[derive(Debug, Clone, Copy)]
pub struct SeriesName {
    /// The figure's series.
    pub series: &'static SeriesMetric,
    /// The communicators and peers.
    pub of: Of,
}

impl Of {
    /// Returns whether it covers the communicator of this number alone.
    pub fn is_of(self, communicator: u32) -> bool {
        matches!(self, Self::Communicator(number) | Self::Peer(number, _) if number == communicator)
    }
}

impl SeriesName {
    /// Parses a series' name; `None` if no series has it.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(series) = PROCESS_SERIES.iter().find(|series| series.name == text) {
            return Some(Self { series, of: Of::Process });
        }
        let (name, of) = text.split_once('#')?;
        let series = SERIES.iter().find(|series| series.name == name)?;
        let of = match of.split_once('@') {
            _ if of == "other" => Of::Other,
            None => Of::Communicator(number(of)?),
            Some((communicator, peer)) => Of::Peer(number(communicator)?, i32::try_from(number(peer)?).ok()?),
        };
        let has = match of {
            Of::Communicator(_) => true,
            Of::Peer(..) => series.by_peer,
            Of::Other => series.of_other,
            Of::Process => false,
        };
        has.then_some(Self { series, of })
    }
}

/// Parses a number without leading zeros or signs, so that each series has one name.
fn number(digits: &str) -> Option<u32> {
    let number: u32 = digits.parse().ok()?;
    (number.to_string() == digits).then_some(number)
}

impl Display for SeriesName {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let name = self.series.name;
        match self.of {
            Of::Communicator(number) => write!(formatter, "{name}#{number}"),
            Of::Peer(number, peer) => write!(formatter, "{name}#{number}@{peer}"),
            Of::Other => write!(formatter, "{name}#other"),
            Of::Process => formatter.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_the_communicator_and_the_peer() {
        let of = |text: &str| SeriesName::parse(text).map(|token| (token.series.name, token.of));
        assert_eq!(of("nccl_window_effective_busbw#2"), Some(("nccl_window_effective_busbw", Of::Communicator(2))));
        assert_eq!(of("nccl_window_transfer_rate#0@3"), Some(("nccl_window_transfer_rate", Of::Peer(0, 3))));
        assert_eq!(of("nccl_window_collective_time#other"), Some(("nccl_window_collective_time", Of::Other)));
        assert_eq!(of("nccl_nvlink_sent_rate"), Some(("nccl_nvlink_sent_rate", Of::Process)));
        for text in [
            "nccl_nvlink_received_rate",
            "nccl_window_effective_busbw#2",
            "nccl_window_transfer_latency#7@12",
            "nccl_window_transfer_rate#other",
        ] {
            assert_eq!(SeriesName::parse(text).unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_no_series_is_called_is_none() {
        for text in [
            "nccl_window_effective_busbw",
            "nccl_window_effective_busbw#",
            "nccl_window_effective_busbw#-1",
            "nccl_window_effective_busbw#+1",
            "nccl_window_effective_busbw#01",
            "nccl_window_effective_busbw#1@0",
            "nccl_window_transfer_rate#1@",
            "nccl_window_transfer_rate#other@1",
            "nccl_window_transfer_latency#other",
            "nccl_busbw#0",
            "nccl_nvlink_sent_rate#0",
            "#0",
        ] {
            assert!(SeriesName::parse(text).is_none(), "{text}");
        }
    }
}
