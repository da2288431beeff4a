//! Bytes that an operation should move over the NVLinks of its rank's GPU.
//!
//! Known where NCCL's algorithm says it: a ring, in which each rank sends to the next one and receives from the one
//! before (nccl-tests' bus bandwidth is defined by it), and sends and receives. With NVLS, the switch adds and copies;
//! in a tree, a rank's bytes depend on its place, which NCCL does not report. Nor does it report who comes next in a
//! ring, so in a communicator of several nodes, the ring may leave the node here or there.

use super::Operation;
use super::bus::bus_factor;
use crate::event::kind::EventKind;
use crate::event::name::NcclName;
use crate::hardware::Ways;

/// Why the bytes of an operation are not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum UnknownBytes {
    /// NCCL has not reported the numbers of ranks and nodes (interfaces v1 to v3).
    Members,
    /// Its communicator spans several nodes.
    Nodes,
    /// The copy engine moves its bytes.
    CopyEngine,
    /// Its algorithm is not a ring.
    Algorithm(NcclName),
    /// In a ring, the bytes of this function depend on the rank's place.
    Function(NcclName),
}

impl UnknownBytes {
    /// Returns the reason in words.
    pub fn text(self) -> String {
        match self {
            Self::Members => "ranks and nodes not reported".into(),
            Self::Nodes => "several nodes".into(),
            Self::CopyEngine => "copy engine".into(),
            Self::Algorithm(name) => format!("algorithm {}", name.text()),
            Self::Function(name) => name.text(),
        }
    }
}

/// Returns the bytes over the links for one byte of data: NCCL's protocols send flags beside the data. LL sends 4 bytes
/// of flag with 4 of data; LL128 sends 8 with 120.
fn with_flags(protocol: NcclName) -> f64 {
    match protocol.text().as_str() {
        "LL" => 2.0,
        "LL128" => 128.0 / 120.0,
        _ => 1.0,
    }
}

/// Returns the bytes that rank `rank` should send and receive for an operation, in a communicator with these numbers of
/// ranks and nodes.
///
/// # Errors
/// Says why they are not known.
pub fn moved(operation: &Operation, rank: i32, (nranks, nnodes): (i32, i32)) -> Result<Ways<u64>, UnknownBytes> {
    if nranks == 1 || operation.peer() == Some(rank) {
        return Ok(Ways::default());
    }
    match nnodes {
        ..1 => return Err(UnknownBytes::Members),
        1 => {}
        _ => return Err(UnknownBytes::Nodes),
    }
    let Operation { bytes, function, algorithm, protocol, kind, .. } = *operation;
    match (kind, function.text().as_str()) {
        (EventKind::P2p, "Send") => return Ok(Ways { sent: bytes, received: 0 }),
        (EventKind::P2p, "Recv") => return Ok(Ways { sent: 0, received: bytes }),
        (EventKind::CeColl, _) => return Err(UnknownBytes::CopyEngine),
        (EventKind::Coll, _) if algorithm.text() == "RING" => {}
        _ => return Err(UnknownBytes::Algorithm(algorithm)),
    }
    let factor = bus_factor(function, nranks).ok_or(UnknownBytes::Function(function))?;
    let over_links = (bytes as f64 * factor * with_flags(protocol)).round() as u64;
    Ok(Ways { sent: over_links, received: over_links })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::tests::recorded;
    use crate::record::payload::OfOperation;

    const ALL: (i32, i32) = (4, 1);

    fn coll(function: &str, algorithm: &str, protocol: &str) -> Operation {
        let [function, algorithm, protocol] = [function, algorithm, protocol].map(NcclName::of_text);
        recorded(
            EventKind::Coll,
            1,
            OfOperation { bytes: 1200, function, algorithm, protocol, ..OfOperation::default() },
        )
    }

    fn both(bytes: u64) -> Result<Ways<u64>, UnknownBytes> {
        Ok(Ways { sent: bytes, received: bytes })
    }

    /// Of 4 ranks: an all-reduce moves 2 x 3/4 of the buffer; the others move 3 times the bytes of one rank.
    #[test]
    fn a_ring_sends_what_nccl_tests_say() {
        for (function, bytes) in [("AllReduce", 1800), ("AllGather", 3600), ("ReduceScatter", 3600)] {
            assert_eq!(moved(&coll(function, "RING", "SIMPLE"), 0, ALL), both(bytes), "{function}");
        }
        assert_eq!(moved(&coll("AllGather", "RING", "LL"), 0, ALL), both(7200));
        assert_eq!(moved(&coll("AllGather", "RING", "LL128"), 0, ALL), both(3840));
        assert_eq!(moved(&coll("AllGather", "NVLS", "SIMPLE"), 0, (1, 1)), both(0));
    }

    #[test]
    fn what_is_not_known_has_a_reason() {
        let [nvls, broadcast] = ["NVLS", "Broadcast"].map(NcclName::of_text);
        let ring = coll("AllReduce", "RING", "SIMPLE");
        assert_eq!(moved(&coll("AllReduce", "NVLS", "SIMPLE"), 0, ALL), Err(UnknownBytes::Algorithm(nvls)));
        assert_eq!(moved(&coll("Broadcast", "RING", "SIMPLE"), 0, ALL), Err(UnknownBytes::Function(broadcast)));
        assert_eq!(
            [(8, 2), (0, 0)].map(|of| moved(&ring, 0, of)),
            [Err(UnknownBytes::Nodes), Err(UnknownBytes::Members)]
        );
        let copied = Operation { kind: EventKind::CeColl, ..ring };
        assert_eq!(moved(&copied, 0, ALL), Err(UnknownBytes::CopyEngine));
    }
}
