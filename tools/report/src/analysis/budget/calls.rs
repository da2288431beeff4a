//! The rates of the calls of each dimension of parallelism.

use crate::analysis::factor::{factors, moved};
use crate::analysis::sketch::TimeSketch;
use crate::answer::{CallRates, Spread};
use crate::job::{Communicator, Links, reduces_in_network};
use crate::stream::JudgedCall;

/// Most of a link's rate that calls reach in the mean. A machine's link with more than that is not the one that they use.
const MOST: f64 = 1.1;

/// The rates of all dimensions' calls, by number of the dimension.
#[derive(Debug, Default)]
pub(super) struct DimensionCalls(Vec<Rates>);

/// The rates of a dimension's calls.
#[derive(Debug, Clone, Default)]
struct Rates {
    algbw: Figures,
    busbw: Figures,
    of_link: Figures,
    /// Whether the link's rate is unknown for some calls.
    is_unrated: bool,
    /// Whether the machine, and not the user, gives the link's rate for some calls.
    is_of_machine: bool,
}

/// Figures of calls, counted in billionths.
#[derive(Debug, Clone, Default)]
struct Figures {
    sketch: TimeSketch,
    sum: f64,
}

impl DimensionCalls {
    /// Takes in a call of a step that counts.
    pub(super) fn call(&mut self, judged: &JudgedCall, dimension: usize, of: &Communicator, links: &Links) {
        let call = judged.call();
        let transfer = judged.latest.map(|[start, stop]| stop.saturating_sub(start)).filter(|&ns| ns > 0);
        let (Some(transfer), false) = (transfer, call.is_fused) else { return };
        let (size, bus) = factors(call.kind, call.function, of.nranks);
        // bytes over nanoseconds are GB/s
        let rate = |factor: f64| moved(call) as f64 * factor / transfer as f64;
        let Some(busbw) = bus.map(rate).filter(|&busbw| busbw > 0.0) else { return };
        if dimension >= self.0.len() {
            self.0.resize_with(dimension + 1, Rates::default);
        }
        let rates = &mut self.0[dimension];
        rates.busbw.add(busbw);
        size.map(rate).into_iter().for_each(|algbw| rates.algbw.add(algbw));
        let is_given = links.is_given(of.comm);
        let link = links.of(of.comm, call.kind).filter(|&rate| rate > 0.0);
        match link.filter(|_| is_given || !reduces_in_network(&call.algorithm.text())) {
            Some(link) => rates.of_link.add(busbw / link),
            None => rates.is_unrated = true,
        }
        rates.is_of_machine |= !is_given;
    }

    /// Returns the rates of a dimension's calls.
    pub(super) fn answer(&self, dimension: usize) -> CallRates {
        let Some(rates) = self.0.get(dimension) else { return CallRates::default() };
        let of_link =
            rates.of_link.spread().filter(|of| !rates.is_unrated && (!rates.is_of_machine || of.mean <= MOST));
        CallRates {
            count: rates.busbw.sketch.count(),
            algbw: rates.algbw.spread(),
            busbw: rates.busbw.spread(),
            of_link,
        }
    }
}

impl Figures {
    fn add(&mut self, figure: f64) {
        self.sketch.add((figure * 1e9) as u64);
        self.sum += figure;
    }

    fn spread(&self) -> Option<Spread> {
        let p95 = self.sketch.percentile(0.95)? / 1e9;
        Some(Spread { mean: self.sum / self.sketch.count() as f64, p95 })
    }
}
