//! The rows below an operation's calls: kernel channels, and the steps of proxy operations.

use super::super::names::ReportNames;
use super::super::units::{TimeUnit, counted, time};
use super::draw::{Area, Path, Px, Scale, across, shortened};
use super::lanes::transfer_us;
use crate::answer::{OperationCallbacks, ProxyOperation, RankCallbacks, StepState};
use maud::{Markup, html};

/// Height of a call's row, and of the least row of its kernel channels.
const CALL: f64 = 15.0;
/// Height of a kernel channel.
const CHANNEL: f64 = 2.5;
/// Height of a row of steps. Steps run beside each other, so each has one of these places.
const STEP: f64 = 4.0;
/// Places of steps in the row of their proxy operation.
const PLACES: u32 = 4;
/// Room between the rows of two ranks.
const GAP: f64 = 8.0;

/// An operation's ranks on their axis.
pub(super) struct Below<'a> {
    operation: &'a OperationCallbacks,
    names: &'a ReportNames<'a>,
    area: Area,
    unit: TimeUnit,
    x: Scale,
    /// First and last time of the axis, microseconds since the step's begin.
    span_us: [f64; 2],
}

impl<'a> Below<'a> {
    /// Lays out the rows of an operation.
    pub(super) fn of(operation: &'a OperationCallbacks, names: &'a ReportNames<'a>) -> Self {
        let height: f64 = operation.ranks.iter().map(height).sum();
        let area = Area { left: 176.0, top: 10.0, right: 866.0, bottom: 10.0 + height };
        let span_us = span(operation);
        let unit = TimeUnit::of(span_us[1]);
        let x = Scale::linear(span_us.map(|us| us / unit.us), [area.left, area.right]);
        Self { operation, names, area, unit, x, span_us }
    }

    /// Returns the height of the drawing.
    pub(super) fn bottom(&self) -> f64 {
        self.area.bottom + 46.0
    }

    /// Returns whether the axis leaves times of callbacks out.
    pub(super) fn is_cut(&self) -> bool {
        let [first, last] = self.span_us;
        self.operation
            .ranks
            .iter()
            .flat_map(|rank| &rank.proxies)
            .any(|proxy| proxy.start_us < first || proxy.stop_us.is_some_and(|stop| stop > last))
    }

    /// Draws the axis and the rows.
    pub(super) fn draw(&self) -> Markup {
        let title = format!("time since the step's begin, {}", self.unit.name);
        let mut top = self.area.top;
        html! {
            (across(self.area, &self.x, &title, self.x.numbers(8)))
            @for rank in &self.operation.ranks {
                (self.rank(rank, top))
                @let () = top += height(rank);
            }
        }
    }

    fn at(&self, us: f64) -> f64 {
        let [first, last] = self.span_us;
        self.x.at(us.clamp(first, last.max(first)) / self.unit.us)
    }

    fn label(&self, text: &str, y: f64) -> Markup {
        html! { text x=(Px(self.area.left - 6.0)) y=(Px(y)) text-anchor="end" { (text) } }
    }

    fn rank(&self, rank: &RankCallbacks, top: f64) -> Markup {
        let channels = top + CALL + 3.0;
        let proxies = channels + channels_height(rank);
        html! {
            g.axis {
                (self.label(&shortened(&self.names.gpu(rank.gpu)), top + CALL - 3.0))
                @if !rank.channels.is_empty() {
                    (self.label(&counted(rank.channels.len() as u64, "kernel channel"), channels + 10.0))
                }
                @for (place, proxy) in rank.proxies.iter().enumerate() {
                    (self.label(&way(proxy, self.names), proxies + proxy_height() * place as f64 + 12.0))
                }
                path.grid d={ "M" (Px(self.area.left - 170.0)) " " (Px(top + height(rank) - GAP / 2.0)) "H"
                    (Px(self.area.right)) } {}
            }
            (self.call(rank, top))
            (self.channels(rank, channels))
            @for (place, proxy) in rank.proxies.iter().enumerate() {
                (self.proxy(proxy, proxies + proxy_height() * place as f64))
            }
        }
    }

    fn call(&self, rank: &RankCallbacks, top: f64) -> Markup {
        let call = &rank.call;
        let [start, transfer, stop] = [call.start_us, transfer_us(call), call.stop_us].map(|us| self.at(us));
        html! {
            g.call {
                title { (self.names.gpu(rank.gpu)) ": " (call.function) ", " (time(call.stop_us - call.start_us)) " long" }
                @if transfer > start {
                    rect.waiting x=(Px(start)) y=(Px(top)) width=(Px(transfer - start)) height=(Px(CALL - 2.0)) {}
                }
                @if call.stop_us > call.start_us {
                    rect.f0 x=(Px(transfer)) y=(Px(top)) width=(Px((stop - transfer).max(0.6)))
                        height=(Px(CALL - 2.0)) {}
                }
                @if call.enqueued_us >= self.span_us[0] {
                    path.enqueue d={ "M" (Px(self.at(call.enqueued_us))) " " (Px(top - 1.5)) "v" (Px(CALL + 1.0)) } {}
                }
            }
        }
    }

    fn channels(&self, rank: &RankCallbacks, top: f64) -> Markup {
        let mut path = Path::default();
        for (place, channel) in rank.channels.iter().enumerate() {
            let (start, stop) = (self.at(channel.start_us), self.at(channel.stop_us.unwrap_or(self.span_us[1])));
            path.stroke(start, top + CHANNEL * (place as f64 + 0.5), (stop - start).max(0.6));
        }
        html! {
            @if !path.is_empty() {
                g.below stroke-width=(Px(CHANNEL - 0.6)) { path.channel d=(path.data()) {} }
            }
        }
    }

    fn proxy(&self, proxy: &ProxyOperation, top: f64) -> Markup {
        let mut paths = StepState::ALL.map(|state| (state, Path::default()));
        for phase in &proxy.states {
            let y = top + 2.0 + STEP * (f64::from(phase.step % PLACES) + 0.5);
            let (from, until) = (self.at(phase.from_us), self.at(phase.until_us));
            let of_state = paths.iter_mut().find(|(state, _)| *state == phase.state);
            // shorter strokes would not be seen, and cost as much room
            if let Some((_, path)) = of_state.filter(|_| until - from >= 0.1) {
                path.stroke(from, y, until - from);
            }
        }
        html! {
            g.below stroke-width=(Px(STEP - 0.8)) {
                title { (way(proxy, self.names)) ": " (counted(proxy.steps, "step")) }
                path.frame-of d={ "M" (Px(self.at(proxy.start_us))) " " (Px(top + 1.0)) "H"
                    (Px(self.at(proxy.stop_us.unwrap_or(self.span_us[1])))) } {}
                @for (state, path) in paths.into_iter().filter(|(_, path)| !path.is_empty()) {
                    path class=(class(state)) d=(path.data()) {}
                }
            }
        }
    }
}

fn channels_height(rank: &RankCallbacks) -> f64 {
    match rank.channels.len() {
        0 => 0.0,
        channels => (CHANNEL * channels as f64).max(CALL - 1.0) + 3.0,
    }
}

fn proxy_height() -> f64 {
    STEP * f64::from(PLACES) + 4.0
}

fn height(rank: &RankCallbacks) -> f64 {
    CALL + 3.0 + channels_height(rank) + proxy_height() * rank.proxies.len() as f64 + GAP
}

/// Returns the first and last time of the axis: that of all calls and callbacks, but at most one length of the calls
/// before and behind them.
fn span(operation: &OperationCallbacks) -> [f64; 2] {
    let ranks = || operation.ranks.iter();
    let first = ranks().map(|rank| rank.call.start_us).fold(f64::INFINITY, f64::min);
    let last = ranks().map(|rank| rank.call.stop_us).fold(first, f64::max);
    let length = (last - first).max(1.0);
    let begins = ranks().flat_map(|rank| {
        let channels = rank.channels.iter().map(|channel| channel.start_us);
        channels.chain(rank.proxies.iter().map(|proxy| proxy.start_us)).chain([rank.call.enqueued_us])
    });
    let ends = ranks().flat_map(|rank| {
        let channels = rank.channels.iter().filter_map(|channel| channel.stop_us);
        channels.chain(rank.proxies.iter().filter_map(|proxy| proxy.stop_us))
    });
    let begin = begins.fold(first, f64::min).max(first - length);
    [begin, ends.fold(last, f64::max).min(last + length)]
}

/// Returns the class that gives a state its fill.
pub(super) fn class(state: StepState) -> &'static str {
    match state {
        StepState::Queued => "step-queued",
        StepState::Gpu => "step-gpu",
        StepState::Peer => "step-peer",
        StepState::Network => "step-network",
        StepState::Flush => "step-flush",
    }
}

/// Names a proxy operation.
pub(super) fn way(proxy: &ProxyOperation, names: &ReportNames<'_>) -> String {
    let way = if proxy.is_send { "to" } else { "from" };
    let peer = proxy.peer_gpu.map_or_else(|| format!("peer {}", proxy.peer), |gpu| shortened(&names.gpu(gpu)));
    format!("{way} {peer}, ch {}", proxy.channel)
}
