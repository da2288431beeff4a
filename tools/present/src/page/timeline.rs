//! The section with two steps in detail: a median one and the slowest one, with the critical path.

use super::super::names::ReportNames;
use super::super::units::{bytes, count, counted, known, part_of, share, time};
use super::draw::Chart;
use super::lanes::{StepLanes, colours, transfer_us};
use super::section::{absent, part};
use super::table::PageTable;
use maud::{Markup, html};
use report::answer::{Report, Swim, SwimBar, SwimLane};
use std::collections::BTreeMap;

/// Number of calls in their table.
const CALLS: usize = 200;

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    let slowest = report.steps.known().and_then(|steps| steps.slowest.first()).map(|slow| slow.step);
    part("timeline", "A step, rank by rank", &report.swim, |swim| {
        if swim.lanes.is_empty() {
            return absent("the step has no calls with a time.");
        }
        let colours = colours(swim);
        let title = match swim.step {
            None => "The recording",
            step if step == slowest => "The slowest step",
            Some(_) => "The chosen step",
        };
        html! {
            @if let Some(usual) = swim.usual.as_deref().filter(|usual| !usual.lanes.is_empty()) {
                (choice(swim, usual, title))
                div.of-usual { (chart(usual, ["usual-chart", "A step of median length"], &colours, names)) }
            }
            div.of-chosen { (chart(swim, ["swim-chart", title], &colours, names)) }
        }
    })
}

/// Writes the choice between the steps. Without it, both are shown.
fn choice(swim: &Swim, usual: &Swim, title: &str) -> Markup {
    let text = |step: &Swim| known(step.step, |number| format!("step {}, {}", count(number), time(step.length_us)));
    html! {
        fieldset.choice {
            legend { "Step" }
            input type="radio" name="step" id="choose-usual" checked="";
            label for="choose-usual" { "A step of median length" span { (text(usual)) } }
            input type="radio" name="step" id="choose-chosen";
            label for="choose-chosen" { (title) span { (text(swim)) } }
        }
    }
}

fn chart<'a>(
    swim: &Swim,
    [id, title]: [&'a str; 2],
    colours: &BTreeMap<&str, usize>,
    names: &ReportNames<'_>,
) -> Chart<'a> {
    let gpus = names.len();
    let drawn = StepLanes::of(swim, colours, names);
    let calls: usize = swim.lanes.iter().map(|lane| lane.bars.len()).sum();
    let step = swim.step.map_or_else(|| "The recording".to_owned(), |step| format!("Step {}", count(step)));
    Chart {
        id,
        title,
        look: "Look for the lane that the critical path stays on between operations, since its rank's own time makes \
               the step as long as it is; the other ranks wait there.",
        description: format!(
            "{step}, {} long: {} in {}, one for each GPU, with the wait and the transfer of each. {}",
            time(swim.length_us),
            counted(calls as u64, "call"),
            counted(drawn.number() as u64, "lane"),
            in_words(swim, names)
        ),
        size: [880.0, drawn.bottom()],
        key: drawn.key(),
        drawing: drawn.draw(),
        notes: html! {
            p {
                (step) ", " (time(swim.length_us)) " long. A thick bar is a call that transfers, a thin line before it \
                 one that waits. Where a lane is empty, the rank is between its operations. " (in_words(swim, names))
            }
            p {
                "The critical path goes from the step's last end back: of an operation to the rank that began last, \
                 and of that rank to the latest end before. To shorten the step, something on this line must be \
                 shorter."
                @if swim.path.is_empty() { " It is not known in this step: not all of its calls are here." }
            }
            @if drawn.number() < gpus {
                p {
                    "Of " (counted(gpus as u64, "GPU")) ", " (count(drawn.number() as u64)) " have a lane: those that \
                     stand out, those on the critical path, their peers, and the first one of each node."
                }
            }
            @if swim.left_out > 0 { p { (counted(swim.left_out, "further call")) " found no room." } }
        },
        below: html! { (on_path(swim, names)) (lanes(swim, names)) (longest(swim, names)) },
    }
}

/// Returns where the path's time goes: the GPU with most of it.
fn in_words(swim: &Swim, names: &ReportNames<'_>) -> String {
    let shares = shares(swim);
    let all: f64 = shares.values().map(|[own, operations]| own + operations).sum();
    let own = shares.iter().max_by(|(_, a), (_, b)| a[0].total_cmp(&b[0]));
    own.filter(|(_, [own, _])| *own > 0.0).map_or_else(String::new, |(gpu, [own, _])| {
        let name = names.gpu(*gpu);
        format!("{} of the critical path is time of {name} between its operations.", share(part_of(*own, all)))
    })
}

/// Returns the path's time by GPU, between operations and in operations, microseconds.
fn shares(swim: &Swim) -> BTreeMap<usize, [f64; 2]> {
    let mut shares: BTreeMap<usize, [f64; 2]> = BTreeMap::new();
    for stretch in &swim.path {
        let [own, operations] = shares.entry(stretch.gpu).or_default();
        *if stretch.function.is_some() { operations } else { own } += stretch.until_us - stretch.from_us;
    }
    shares
}

fn on_path(swim: &Swim, names: &ReportNames<'_>) -> PageTable {
    let mut order: Vec<(usize, [f64; 2])> = shares(swim).into_iter().collect();
    order.sort_by(|(_, a), (_, b)| (b[0] + b[1]).total_cmp(&(a[0] + a[1])));
    let all: f64 = order.iter().map(|(_, [own, operations])| own + operations).sum();
    let rows = order.into_iter().map(|(gpu, [own, operations])| {
        vec![names.gpu(gpu), time(own), time(operations), share(part_of(own + operations, all))]
    });
    let columns = ["GPU", "between operations", "in operations that it began last", "of the path"];
    PageTable::new("Critical path by GPU", &columns, 1, rows)
}

fn lanes(swim: &Swim, names: &ReportNames<'_>) -> PageTable {
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
    let columns = ["GPU", "communicator", "calls", "sum of waits", "sum of transfers"];
    PageTable::new("Lanes by communicator", &columns, 2, rows)
}

/// Makes the table of the calls that waited longest.
fn longest(swim: &Swim, names: &ReportNames<'_>) -> PageTable {
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
    PageTable::new("Calls of the step that waited longest", &columns, 3, rows)
}
