//! NCCL's callbacks below the slowest operations of the step: a chart for each, with its kernel channels, its proxy
//! operations and the states of their steps.

use super::super::names::ReportNames;
use super::super::units::{bytes, count, counted, known, time};
use super::callbacks_below::{Below, class, way};
use super::draw::{Chart, LegendEntry, Mark};
use super::section::{absent, part};
use super::table::PageTable;
use crate::answer::{Callbacks, KernelChannel, OperationCallbacks, Part, ProxyOperation, RankCallbacks, StepState};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// Writes the section: the charts, or why there are none.
pub(super) fn of(callbacks: &Part<Callbacks>, names: &ReportNames<'_>) -> Markup {
    part("callbacks", "Below the slowest operations", callbacks, |callbacks| {
        html! {
            @if callbacks.operations.is_empty() { (absent("no operation of the step has callbacks.")) }
            @for (place, operation) in callbacks.operations.iter().enumerate() { (chart(place, operation, names)) }
            @for note in &callbacks.notes { p.note { (note) } }
        }
    })
}

fn chart(place: usize, operation: &OperationCallbacks, names: &ReportNames<'_>) -> Markup {
    let Some(call) = operation.ranks.first().map(|rank| &rank.call) else { return Markup::default() };
    let drawn = Below::of(operation, names);
    let sequence = call.sequence.map_or_else(String::new, |number| format!(" {number}"));
    // a send and its receive are one operation
    let functions: BTreeSet<&str> = operation.ranks.iter().map(|rank| rank.call.function.as_str()).collect();
    let function = functions.into_iter().rev().collect::<Vec<_>>().join(" and ");
    let name = format!("{function}{sequence} of {}", names.communicator(&operation.comm));
    let is_timed = |rank: &RankCallbacks| rank.call.stop_us > rank.call.start_us;
    let (channels, proxies): (usize, usize) = operation
        .ranks
        .iter()
        .fold((0, 0), |(channels, proxies), rank| (channels + rank.channels.len(), proxies + rank.proxies.len()));
    let lasts = operation.ranks.iter().map(|rank| rank.call.stop_us - rank.call.start_us).fold(0.0, f64::max);
    let left_out: u64 = operation.ranks.iter().map(|rank| rank.left_out).sum();
    let chart = Chart {
        id: &format!("callbacks-chart-{}", place + 1),
        title: &format!("Callbacks below {name}"),
        look: "Look for the longest strokes of steps: waits for the GPU point to a GPU that is late or busy, waits for \
               the receiver to the peer, and those in the network, behind the begin of both ranks' calls, to the link.",
        description: format!(
            "{} with {} and {}, as time strokes below the calls of {}. The table has their figures.",
            name,
            counted(channels as u64, "kernel channel"),
            counted(proxies as u64, "proxy operation"),
            counted(operation.ranks.len() as u64, "rank"),
        ),
        size: [880.0, drawn.bottom()],
        key: key(),
        drawing: drawn.draw(),
        notes: html! {
            p {
                "The slowest " (function) " of its dimension in the step, " (bytes(call.bytes as f64)) ". "
                "Strokes are the times at which NCCL called the plugin; a kernel channel's are those at which the host \
                 learnt of the GPU."
                @if operation.left_out > 0 {
                    " Of the ranks, those that began or ended last are shown; "
                    (counted(operation.left_out, "further rank")) " of the step's lanes found no room."
                }
                @if !operation.ranks.iter().all(is_timed) {
                    " A call without a GPU time has its mark where the host enqueued it, and no stroke."
                }
                @if drawn.is_cut() { " What is one length of the calls before or behind them is cut off." }
                @if left_out > 0 {
                    " " (counted(left_out, "further kernel channel or proxy operation")) " found no room."
                }
                @if channels + proxies == 0 { " The recordings have no event below these calls." }
                @else if proxies == 0 { " It has no proxy operations: it does not leave the node." }
            }
        },
        below: html! { (table(operation, names)) },
    };
    html! {
        details {
            summary { (name) ", " (time(lasts)) }
            (chart)
        }
    }
}

fn key() -> Markup {
    let entry = |class, text: &str| LegendEntry { class, mark: Mark::Box, text: text.to_owned() };
    LegendEntry::draw(&[
        entry("waiting", "the call waits for other ranks"),
        entry("f0", "the call transfers"),
        entry("channel", "kernel channel"),
        entry(class(StepState::Queued), text(StepState::Queued)),
        entry(class(StepState::Gpu), text(StepState::Gpu)),
        entry(class(StepState::Peer), text(StepState::Peer)),
        entry(class(StepState::Network), text(StepState::Network)),
        entry(class(StepState::Flush), text(StepState::Flush)),
    ])
}

fn text(state: StepState) -> &'static str {
    match state {
        StepState::Queued => "proxy step behind earlier ones",
        StepState::Gpu => "proxy step waits for the GPU",
        StepState::Peer => "proxy step waits for the receiver",
        StepState::Network => "proxy step in the network",
        StepState::Flush => "proxy step on its way into the GPU's memory",
    }
}

fn table(operation: &OperationCallbacks, names: &ReportNames<'_>) -> PageTable {
    let rows = operation.ranks.iter().flat_map(|rank| {
        let gpu = names.gpu(rank.gpu);
        let channels = (!rank.channels.is_empty()).then(|| channels(&gpu, rank));
        channels.into_iter().chain(rank.proxies.iter().map(move |proxy| of_proxy(&gpu, proxy, names)))
    });
    let columns = [
        "GPU",
        "event",
        "begins at",
        "lasts",
        "steps",
        "bytes",
        "queued",
        "waits for GPU",
        "waits for receiver",
        "in network",
        "flush",
    ];
    PageTable::new("Callbacks below the operation", &columns, 2, rows).without_unknown()
}

fn channels(gpu: &str, rank: &RankCallbacks) -> Vec<String> {
    let first = rank.channels.iter().map(|channel| channel.start_us).fold(f64::INFINITY, f64::min);
    let end = |channel: &KernelChannel| channel.stop_us;
    let last = rank.channels.iter().map(end).try_fold(first, |last, stop| Some(last.max(stop?)));
    let unknown = || super::super::units::UNKNOWN.to_owned();
    let mut row = vec![
        gpu.to_owned(),
        counted(rank.channels.len() as u64, "kernel channel"),
        time(first),
        known(last, |last| time(last - first)),
    ];
    row.resize_with(11, unknown);
    row
}

fn of_proxy(gpu: &str, proxy: &ProxyOperation, names: &ReportNames<'_>) -> Vec<String> {
    let [queued_us, gpu_us, peer_us, network_us, flush_us] = proxy.sums_us;
    let unless_other_way = |us: f64, is_its: bool| known(is_its.then_some(us), time);
    vec![
        gpu.to_owned(),
        format!("{} {}", if proxy.is_send { "send" } else { "receive" }, way(proxy, names)),
        time(proxy.start_us),
        known(proxy.stop_us, |stop| time(stop - proxy.start_us)),
        count(proxy.steps),
        bytes(proxy.bytes as f64),
        time(queued_us),
        time(gpu_us),
        unless_other_way(peer_us, proxy.is_send),
        time(network_us),
        unless_other_way(flush_us, !proxy.is_send),
    ]
}
