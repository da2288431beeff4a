//! Lines of relays, as a channel may bring them.

use super::message::{RelayMessage, RelayedLife, RelayedLook};
use super::piece::{Piece, pieces};
use super::receiver::Relays;
use crate::statuses::{Life, Observed};
use common::origin::Origin;
use common::status::{SCHEMA, Status, StatusCommunicator};

/// A process of a relay's host, at its so-manieth writing.
fn process(host: &str, beat: u64) -> Observed {
    let origin = Origin { host: Some(host.into()), ..Origin::default() };
    // more than one line, also packed
    let name = (0..500_u64).map(|digit| format!("{:x}", (digit * digit * 7919) % 65_521)).collect();
    let communicators = vec![StatusCommunicator { name, ..StatusCommunicator::default() }];
    let status = Status { schema: SCHEMA.into(), pid: 7, origin, beat, communicators, ..Status::default() };
    Observed { file: "a".into(), status, life: Life::Runs, beats: true, moved: vec![true] }
}

fn lines(relay: u64, number: u32, message: &RelayMessage) -> Vec<String> {
    let packed = message.packed().unwrap();
    pieces(relay, number, &packed).unwrap().map(|piece: Piece| piece.line()).collect()
}

fn look(place: &str, beat: u64) -> RelayMessage {
    let processes = vec![RelayedLife { file: "a".into(), beat, life: Life::Runs, beats: true }];
    RelayMessage::Look(RelayedLook { place: place.into(), interval: 2.0, is_whole: true, processes })
}

/// Gives a look of one process to the receiver, without the line of this number.
fn give(to: &mut Relays, relay: u64, host: &str, beat: u64, now: f64, without: Option<usize>) {
    let number = 2 * beat as u32;
    let mut all = lines(relay, number, &RelayMessage::Process(Box::new(process(host, beat))));
    assert!(all.len() > 1);
    without.map(|without| all.remove(without));
    all.extend(lines(relay, number + 1, &look(host, beat)));
    all.iter().for_each(|line| to.take(line.trim_end().as_bytes(), now));
}

#[test]
fn the_next_look_repairs_a_message_that_has_lost_a_line() {
    for without in [0, 1] {
        let mut relays = Relays::default();
        give(&mut relays, 1, "n1", 1, 0.0, Some(without));
        assert!(relays.reading(0.0).processes.is_empty());
        give(&mut relays, 1, "n1", 2, 2.0, None);
        give(&mut relays, 1, "n1", 3, 4.0, Some(without));
        let processes = relays.reading(4.0).processes;
        assert_eq!((processes.len(), processes[0].status.beat, &*processes[0].file), (1, 2, "n1/a"));
        assert_eq!((processes[0].moved.as_slice(), processes[0].life), ([true].as_slice(), Life::Runs));
        // of a message without its first line, the others belong to none
        assert_eq!(relays.lost, if without == 0 { 0 } else { 2 });
    }
}

#[test]
fn the_lines_of_two_relays_may_be_mixed() {
    let mut relays = Relays::default();
    let of = |relay, host| lines(relay, 1, &RelayMessage::Process(Box::new(process(host, 1))));
    for (one, other) in of(1, "n1").iter().zip(&of(2, "n2")) {
        relays.take(one.trim_end().as_bytes(), 0.0);
        relays.take(other.trim_end().as_bytes(), 0.0);
    }
    for (relay, host) in [(1, "n1"), (2, "n2")] {
        lines(relay, 2, &look(host, 1)).iter().for_each(|line| relays.take(line.trim_end().as_bytes(), 0.0));
    }
    let reading = relays.reading(1.0);
    assert_eq!(reading.processes.iter().map(|process| &*process.file).collect::<Vec<_>>(), ["n1/a", "n2/a"]);
    assert!(reading.left_out.is_empty() && relays.lost == 0);
}

#[test]
fn whether_the_processes_of_a_relay_live_is_not_known_after_its_end() {
    let mut relays = Relays::default();
    give(&mut relays, 1, "n1", 1, 0.0, None);
    let read = |relays: &Relays, now| {
        let mut reading = relays.reading(now);
        let process = reading.processes.remove(0);
        (process.life, process.beats, reading.left_out.len())
    };
    assert_eq!(read(&relays, 7.0), (Life::Runs, true, 0));
    assert_eq!(read(&relays, 9.0), (Life::Elsewhere, false, 1));
    // it goes on
    give(&mut relays, 1, "n1", 2, 10.0, None);
    assert_eq!(read(&relays, 11.0), (Life::Runs, true, 0));
    lines(1, 9, &RelayMessage::End).iter().for_each(|line| relays.take(line.trim_end().as_bytes(), 11.0));
    assert_eq!(read(&relays, 11.0), (Life::Elsewhere, false, 1));
    // another relay of the node takes its place
    give(&mut relays, 2, "n1", 3, 12.0, None);
    assert_eq!(read(&relays, 12.0), (Life::Runs, true, 0));
}

#[test]
fn what_its_own_host_says_of_a_process_counts() {
    let mut relays = Relays::default();
    give(&mut relays, 1, "n1", 1, 0.0, None);
    let RelayMessage::Look(mut end) = look("n1", 1) else { unreachable!() };
    (end.processes[0].life, end.processes[0].beats) = (Life::Gone, false);
    let mut give = |number, end| {
        let lines = lines(1, number, &RelayMessage::Look(end));
        lines.iter().for_each(|line| relays.take(line.trim_end().as_bytes(), 2.0));
        relays.reading(2.0).processes
    };
    let processes = give(10, end);
    assert_eq!((processes[0].life, processes[0].beats), (Life::Gone, false));
    // nothing of it has come since the look before
    assert_eq!(processes[0].moved, [false]);
    // its file is removed
    let RelayMessage::Look(mut end) = look("n1", 1) else { unreachable!() };
    end.processes.clear();
    assert!(give(11, end).is_empty());
}

#[test]
fn a_process_that_two_relays_have_is_one() {
    let mut relays = Relays::default();
    give(&mut relays, 1, "n1", 1, 0.0, None);
    let mut elsewhere = process("n1", 1);
    elsewhere.life = Life::Elsewhere;
    let end = RelayMessage::Look(RelayedLook {
        place: "n2".into(),
        interval: 2.0,
        is_whole: true,
        processes: vec![RelayedLife { file: "a".into(), beat: 1, life: Life::Elsewhere, beats: true }],
    });
    let mut all = lines(2, 1, &RelayMessage::Process(Box::new(elsewhere)));
    all.extend(lines(2, 2, &end));
    all.iter().for_each(|line| relays.take(line.trim_end().as_bytes(), 0.0));
    let processes = relays.reading(1.0).processes;
    assert_eq!((processes.len(), &*processes[0].file, processes[0].life), (1, "n1/a", Life::Runs));
}

#[test]
fn relays_without_an_end_cost_no_memory_without_bound() {
    let mut relays = Relays::default();
    for relay in 0..20_000 {
        let piece = Piece { relay, message: 1, number: 0, count: 2, data: vec![0] };
        relays.take(piece.line().trim_end().as_bytes(), 0.0);
    }
    let reading = relays.reading(0.0);
    assert_eq!(reading.left_out, ["standard input: more than 1 GiB or 16384 relays are left out"]);
}
