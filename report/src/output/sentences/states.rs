//! Where the time of a pair's transfers goes.

use super::super::names::ReportNames;
use super::super::units::{part_of, share};
use crate::answer::PairStates;

/// Names the ranks of a pair, the sender first.
pub(crate) fn sender_and_receiver(pair: &PairStates, names: &ReportNames<'_>) -> String {
    let name = |gpu: Option<usize>, rank: i32| gpu.map_or_else(|| format!("rank {rank}"), |gpu| names.gpu(gpu));
    format!("{} to {}", name(pair.from, pair.rank), name(pair.to, pair.peer))
}

/// Returns where the time of a pair's transfers goes, of its sender and its receiver: without the queue, in which a
/// transfer waits for others and which has no cause of its own.
pub(crate) fn pair_states(pair: &PairStates, names: &ReportNames<'_>) -> String {
    let side = |times: Option<[f64; 4]>, who: &str, parts: [&str; 3]| {
        let [_, times @ ..] = times?;
        let whole: f64 = times.iter().sum();
        let parts = times.into_iter().zip(parts).map(|(us, of)| format!("{} {of}", share(part_of(us, whole))));
        (whole > 0.0).then(|| format!("of the {who}'s time beyond the queue {}", parts.collect::<Vec<_>>().join(", ")))
    };
    let of_send = side(pair.send_us, "sender", ["waits for its GPU", "for the receiver", "for the network"]);
    let of_receive =
        side(pair.receive_us, "receiver", ["waits for the network and the sender", "for the flush", "for its GPU"]);
    let sides: Vec<String> = of_send.into_iter().chain(of_receive).collect();
    format!("{}: {}.", sender_and_receiver(pair, names), sides.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    #[test]
    fn each_side_has_its_shares() {
        let report = sample(8);
        let pair = PairStates {
            rank: 3,
            peer: 7,
            from: Some(3),
            to: Some(7),
            send_us: Some([900.0, 70.0, 25.0, 5.0]),
            receive_us: Some([50.0, 3.0, 1.0, 0.0]),
            ..PairStates::default()
        };
        let names = &ReportNames::of(&report);
        assert_eq!(
            pair_states(&pair, names),
            "rank 3 to rank 7: of the sender's time beyond the queue 70 % waits for its GPU, 25 % for the receiver, \
             5.0 % for the network; of the receiver's time beyond the queue 75 % waits for the network and the sender, \
             25 % for the flush, 0 % for its GPU."
        );
        let of_sender = pair_states(&PairStates { receive_us: None, ..pair }, names);
        assert!(of_sender.ends_with("5.0 % for the network."), "{of_sender}");
    }
}
