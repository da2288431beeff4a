use super::*;

pub(super) fn handle(generation: u32, kind: EventKind) -> Handle {
    Handle::of_event(kind, 0, generation)
}

pub(super) fn empty() -> Slot {
    Slot { words: Default::default() }
}

#[test]
fn is_one_cache_line() {
    assert_eq!((size_of::<Slot>(), align_of::<Slot>()), (64, 64));
}

#[test]
fn an_empty_slot_holds_nothing() {
    assert_eq!(empty().read(1), None);
    assert_eq!(empty().read(0), None);
}

#[test]
fn a_step_keeps_its_send_wait_and_its_stop() {
    let slot = empty();
    let start = 0xABCD_FFFF_FFFF_FFF0; // low 48 bits wrap between start and stop
    slot.start(handle(5, EventKind::ProxyStep), 42, start, [0, 0, 3, 0]);
    assert_eq!(slot.read(5).and_then(|event| event.send_wait()), None);
    slot.send_wait(5, start + 20, 1000);
    slot.stop(5, start + 100);
    let event = slot.read(5).unwrap();
    assert_eq!((event.parent, event.start, event.stop), (42, start, Some(start + 100)));
    assert_eq!(event.send_wait(), Some(SendWait { time: start + 20, bytes: 1000 }));
}

#[test]
fn an_untimed_stop_is_one_without_a_time() {
    let slot = empty();
    let start = 0xABCD_FFFF_FFFF_FFF0;
    slot.start(handle(5, EventKind::KernelCh), 42, start, [7, 0, 3, 0]);
    assert_eq!((slot.parent(), slot.read(5).unwrap().timed_stop()), (42, None));
    slot.stop_untimed(5);
    let event = slot.read(5).unwrap();
    assert_eq!((event.stop, event.timed_stop()), (Some(start), None));
    slot.stop(5, start + 1);
    assert_eq!(slot.read(5).unwrap().timed_stop(), Some(start + 1));
}

#[test]
fn a_step_starts_again_and_no_event_after_it_does() {
    let slot = empty();
    slot.start(handle(5, EventKind::ProxyStep), 0, 10, [0; 4]);
    slot.restart(5, 15);
    slot.stop(5, 20);
    let event = slot.read(5).unwrap();
    assert_eq!((event.start, event.stop), (15, Some(20)));
    slot.start(handle(6, EventKind::ProxyStep), 0, 30, [0; 4]);
    slot.restart(5, 40);
    assert_eq!(slot.read(6).unwrap().start, 30);
    slot.start(handle(5 + (1 << 15), EventKind::ProxyStep), 0, 50, [0; 4]);
    assert_eq!(slot.read(5 + (1 << 15)).unwrap().start, 50);
}

#[test]
fn a_write_for_an_older_event_reads_as_absent() {
    let slot = empty();
    slot.start(handle(5, EventKind::ProxyStep), 0, 10, [0; 4]);
    slot.start(handle(6, EventKind::ProxyStep), 0, 20, [0; 4]);
    slot.stop(5, 30);
    slot.send_wait(5, 30, 8);
    let event = slot.read(6).unwrap();
    assert_eq!((event.stop, event.send_wait()), (None, None));
    assert_eq!(slot.read(5), None);
}

#[test]
fn sizes_and_stamps_out_of_range_are_absent() {
    let slot = empty();
    slot.start(handle(1, EventKind::ProxyStep), 0, 0, [0; 4]);
    slot.send_wait(1, 1, u64::MAX);
    assert_eq!(slot.read(1).unwrap().send_wait(), None);
    slot.start(handle(2, EventKind::KernelCh), 0, 0, [1000, 0, 0, 0]);
    slot.kernel_stop(2, u64::MAX / 2);
    assert_eq!(slot.read(2).unwrap().kernel(), None);
}

#[test]
fn kernel_stops_before_and_after_their_start() {
    let slot = empty();
    let start = 1_795_151_200_592_925_376;
    slot.start(handle(3, EventKind::KernelCh), 0, 0, [start, 0, 7, 0]);
    slot.kernel_stop(3, start + 43_744);
    assert_eq!(slot.read(3).unwrap().kernel(), Some((start, start + 43_744)));
    slot.kernel_stop(3, start - 5);
    assert_eq!(slot.read(3).unwrap().kernel(), Some((start, start - 5)));
    assert_eq!(slot.read(3).unwrap().payload()[2], 7);
}
