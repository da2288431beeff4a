//! Callbacks below three operations of the sample's step, as many as a report may hold.

use report::answer::{
    Callbacks, KernelChannel, OperationCallbacks, ProxyOperation, RankCallbacks, StepPhase, StepState, Swim, SwimBar,
    SwimLane,
};

/// Steps of a proxy operation.
const STEPS: u32 = 64;

/// Makes the callbacks of the first operation in each of the first GPU's lanes.
pub(super) fn of(swim: &Swim) -> Callbacks {
    let firsts = swim.lanes.iter().filter(|lane| lane.gpu == 0).filter_map(|lane| Some((lane, lane.bars.first()?)));
    let operation = |(of, first): (&SwimLane, &SwimBar)| {
        let lanes: Vec<_> = swim.lanes.iter().filter(|lane| lane.comm == of.comm).collect();
        let ranks: Vec<RankCallbacks> = lanes
            .iter()
            .take(4)
            .filter_map(|lane| Some((lane.gpu, lane.bars.iter().find(|bar| bar.occurrence == first.occurrence)?)))
            .map(|(gpu, bar)| rank(gpu, bar))
            .collect();
        OperationCallbacks {
            comm: of.comm.clone(),
            dimension: of.dimension.clone(),
            occurrence: first.occurrence,
            left_out: (lanes.len() - ranks.len()) as u64,
            ranks,
        }
    };
    Callbacks { operations: firsts.take(3).map(operation).collect(), notes: Vec::new() }
}

fn rank(gpu: usize, call: &SwimBar) -> RankCallbacks {
    let channel = |channel: u8| KernelChannel {
        channel,
        start_us: call.start_us + f64::from(channel),
        stop_us: Some(call.stop_us + f64::from(channel % 7)),
    };
    RankCallbacks {
        gpu,
        call: call.clone(),
        channels: (0..32).map(channel).collect(),
        proxies: (0..8).map(|number| proxy(number, call)).collect(),
        left_out: 3,
    }
}

fn proxy(number: u8, call: &SwimBar) -> ProxyOperation {
    let is_send = number.is_multiple_of(2);
    let each = (call.stop_us - call.start_us) / f64::from(STEPS + 4);
    let order = match is_send {
        true => [StepState::Queued, StepState::Gpu, StepState::Peer, StepState::Network],
        false => [StepState::Queued, StepState::Network, StepState::Flush, StepState::Gpu],
    };
    let states = (0..STEPS).flat_map(|step| {
        let begin = call.start_us + f64::from(step) * each;
        (0..4).zip(order).map(move |(place, state)| StepPhase {
            step,
            state,
            from_us: begin + f64::from(place) * each,
            until_us: begin + f64::from(place + 1) * each,
        })
    });
    ProxyOperation {
        channel: number / 2,
        peer: i32::from(number % 3),
        peer_gpu: (!number.is_multiple_of(3)).then_some(1),
        is_send,
        start_us: call.start_us,
        stop_us: Some(call.stop_us),
        bytes: call.bytes,
        steps: STEPS.into(),
        sums_us: [each; 5].map(|each| each * f64::from(STEPS)),
        states: states.collect(),
    }
}
