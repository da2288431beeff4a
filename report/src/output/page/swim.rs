//! The section with one step in detail: a lane for each GPU and communicator, with waits, transfers and enqueues.

use super::super::names::Names;
use super::super::units::{bytes, count, counted, known, time};
use super::callbacks;
use super::draw::Chart;
use super::lanes::{Lanes, transfer_us};
use super::section::{absent, part};
use super::table::Table;
use crate::answer::{Callbacks, Part, Swim, SwimBar, SwimLane};
use maud::{Markup, html};

/// Number of calls in their table.
const CALLS: usize = 200;

/// Writes the section.
pub(super) fn of(swim: &Part<Swim>, below: &Part<Callbacks>, names: &Names<'_>) -> Markup {
    part("swim", "One step in detail", swim, |swim| {
        if swim.lanes.is_empty() {
            absent("the step has no calls with a time.")
        } else {
            html! { (chart(swim, names)) (callbacks::of(below, names)) }
        }
    })
}

fn chart(swim: &Swim, names: &Names<'_>) -> Chart<'static> {
    let drawn = Lanes::of(swim, names);
    let calls: usize = swim.lanes.iter().map(|lane| lane.bars.len()).sum();
    let step = swim.step.map_or_else(|| "The recording".to_owned(), |step| format!("Step {step}"));
    Chart {
        id: "swim-chart",
        title: "Calls of the step",
        look: "Look for the lane whose hatched waits are shortest, which the others wait for: if its calls begin right \
               behind their enqueue marks, its host enqueues late.",
        description: format!(
            "{step}, {} long: {} in {}, one for each GPU and communicator, with the wait and the transfer of each.",
            time(swim.length_us),
            counted(calls as u64, "call"),
            counted(swim.lanes.len() as u64, "lane")
        ),
        size: [880.0, drawn.bottom()],
        key: drawn.key(),
        drawing: drawn.draw(),
        below: html! {
            p.note {
                (step) ", " (time(swim.length_us)) " long."
                @if !drawn.are_named() { " The table of lanes names the communicators of each GPU, in the same order." }
                @if swim.left_out > 0 { " " (counted(swim.left_out, "further call")) " found no room." }
            }
            (lanes(swim, names)) (longest(swim, names))
        },
    }
}

fn lanes(swim: &Swim, names: &Names<'_>) -> Table {
    let rows = swim.lanes.iter().map(|lane| {
        let sum = |of: fn(&SwimBar) -> f64| lane.bars.iter().map(of).sum::<f64>();
        let waits_known = lane.bars.iter().any(|bar| bar.wait_until_us.is_some());
        vec![
            names.gpu(lane.gpu),
            names.communicator(&lane.comm),
            count(lane.bars.len() as u64),
            known(waits_known.then(|| sum(|bar| transfer_us(bar) - bar.start_us)), time),
            time(sum(|bar| bar.stop_us - transfer_us(bar))),
        ]
    });
    Table::new("Lanes of the step", &["GPU", "communicator", "calls", "sum of waits", "sum of transfers"], 2, rows)
}

/// Makes the table of the calls that waited longest.
fn longest(swim: &Swim, names: &Names<'_>) -> Table {
    let wait = |bar: &SwimBar| transfer_us(bar) - bar.start_us;
    let mut calls: Vec<(&SwimLane, &SwimBar)> =
        swim.lanes.iter().flat_map(|lane| lane.bars.iter().map(move |bar| (lane, bar))).collect();
    calls.sort_by(|(_, a), (_, b)| wait(b).total_cmp(&wait(a)));
    let rows = calls.into_iter().take(CALLS).map(|(lane, bar)| {
        let sequence = bar.sequence.map_or_else(String::new, |number| format!(" {number}"));
        vec![
            names.gpu(lane.gpu),
            names.communicator(&lane.comm),
            format!("{}{sequence}", bar.function),
            bytes(bar.bytes as f64),
            time(bar.enqueued_us),
            time(bar.start_us),
            known(bar.wait_until_us, |_| time(wait(bar))),
            time(bar.stop_us - transfer_us(bar)),
        ]
    });
    let columns = ["GPU", "communicator", "operation", "bytes", "enqueued at", "begins at", "waits", "transfers"];
    Table::new("Calls of the step that waited longest", &columns, 3, rows)
}
