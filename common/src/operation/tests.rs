use super::*;
use crate::base::mapping::Mapping;
use crate::event::datatype::Datatype;
use crate::event::handle::Handle;
use crate::operation::kernels::Firsts;
use crate::operation::verdict::StampVerdict;
use crate::record::context::switching::ChannelsAsked;
use crate::record::payload::StartOrder;
use crate::record::slot::Slot;

/// Returns an operation that was recorded with this kind, start and payload.
pub(crate) fn recorded(kind: EventKind, start: u64, payload: OfOperation) -> Operation {
    let slot = Mapping::<Slot>::new(1).unwrap();
    slot[0].start(Handle::of_event(kind, 0, 1), 0, start, payload.pack());
    Operation::new(&slot[0].read(1).unwrap())
}

/// A kernel with one operation and without events: only stamps time it.
const ALONE: Kernel = Kernel {
    shared: false,
    when: KernelTiming::Unheard,
    unstamped: false,
    asked: ChannelsAsked::Yes,
    firsts: Firsts::NONE,
};

fn operation(kind: EventKind, channels: u8) -> Operation {
    let [function, algorithm] = [c"AllGather", c"RING"].map(|name| NcclName::of(Some(name)));
    let (place, since_launch) = (StartOrder::new(5, 0), 30);
    let number = match kind {
        EventKind::P2p => OperationWord::of_peer(3, Datatype::default()),
        _ => OperationWord::of_collective(3, None, Datatype::default()),
    };
    let payload = OfOperation {
        bytes: 4096,
        number,
        function,
        algorithm,
        channels,
        since_launch,
        place,
        ..OfOperation::default()
    };
    recorded(kind, 1000, payload)
}

#[test]
fn is_read_from_its_slot() {
    let p2p = operation(EventKind::P2p, 2);
    assert_eq!((p2p.bytes, p2p.peer(), p2p.order, p2p.channels, p2p.start), (4096, Some(3), 5, 2, 1000));
    assert_eq!((p2p.sequence, p2p.not_begun), (0, moment(970)));
    let coll = operation(EventKind::Coll, 2);
    assert_eq!((coll.peer(), coll.sequence, coll.not_begun), (None, 3, moment(970)));
}

#[test]
fn time_is_last_stop_less_first_start() {
    let mut coll = operation(EventKind::Coll, 2);
    coll.stop = moment(1010);
    coll.kernel_ended(Some((500, 700)));
    assert!(!coll.looks_done(ALONE));
    assert_eq!(coll.timing(StampVerdict::InStep, ALONE), Timing::Enqueue(10));
    coll.kernel_ended(Some((490, 600)));
    coll.kernel_ended(Some((900, 10)));
    assert!(coll.looks_done(ALONE));
    assert_eq!(coll.timing(StampVerdict::InStep, ALONE), Timing::Stamps { start: 490, stop: 700 });
    let mut without = operation(EventKind::Coll, 2);
    without.kernel_ended(Some((500, 700)));
    without.kernel_ended(None);
    assert_eq!(without.timing(StampVerdict::InStep, ALONE), Timing::Enqueue(0));
}

#[test]
fn stamps_of_zero_are_stamps() {
    let mut coll = operation(EventKind::Coll, 1);
    coll.kernel_ended(None);
    assert_eq!(coll.span(), None);
    coll.kernel_ended(Some((0, 0)));
    assert_eq!(
        (coll.span(), coll.timing(StampVerdict::InStep, ALONE)),
        (Some((0, 0)), Timing::Stamps { start: 0, stop: 0 })
    );
    coll.kernel_ended(Some((0, 5)));
    assert_eq!(coll.timing(StampVerdict::InStep, ALONE), Timing::Stamps { start: 0, stop: 5 });
}

#[test]
fn out_of_step_falls_back_to_proxy_then_enqueue() {
    let mut coll = operation(EventKind::Coll, 1);
    coll.stop = moment(1010);
    coll.kernel_ended(Some((500, 700)));
    assert_eq!(coll.timing(StampVerdict::OutOfStep, ALONE), Timing::Enqueue(10));
    coll.proxy_stop = moment(5000);
    assert_eq!(coll.timing(StampVerdict::OutOfStep, ALONE), Timing::Proxy(4000));
}
