//! The section with one step in detail: a lane for each GPU and communicator, with waits, transfers and enqueues.

use super::super::names::Names;
use super::super::units::{TimeUnit, bytes, count, known, round, time};
use super::draw::{Area, Chart, Key, Mark, Path, Px, Scale, across};
use super::section::{absent, part};
use super::table::Table;
use crate::answer::{Part, Swim, SwimBar, SwimLane};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Number of functions with a colour of their own.
const COLOURS: usize = 6;
/// Largest number of calls that are drawn one by one with their facts; of more, each function has one path.
const SINGLE: usize = 1500;

/// Writes the section.
pub(super) fn of(swim: &Part<Swim>, names: &Names<'_>) -> Markup {
    part("swim", "One step in detail", swim, |swim| {
        if swim.lanes.is_empty() {
            absent("the step has no calls with a time.")
        } else {
            html! { (chart(swim, names)) }
        }
    })
}

fn chart(swim: &Swim, names: &Names<'_>) -> Chart<'static> {
    let colours = colours(swim);
    let number_of = swim.lanes.iter().map(|lane| lane.bars.len()).sum::<usize>();
    let height = (900.0 / swim.lanes.len() as f64).clamp(7.0, 24.0);
    let bottom = 10.0 + height * swim.lanes.len() as f64;
    let area = Area { left: 152.0, top: 10.0, right: 866.0, bottom };
    let first = swim.lanes.iter().flat_map(|lane| &lane.bars).map(|bar| bar.enqueued_us).fold(0.0, f64::min);
    let first = first.max(-0.1 * swim.length_us);
    let last = swim.lanes.iter().flat_map(|lane| &lane.bars).map(|bar| bar.stop_us).fold(swim.length_us, f64::max);
    let unit = TimeUnit::of(last);
    let x = Scale::linear([first / unit.us, last / unit.us], [area.left, area.right]);
    let mut gpu = None;
    let has_room = height >= 13.0;
    let label = |lane: &SwimLane| {
        let is_new = gpu.replace(lane.gpu) != Some(lane.gpu);
        match (is_new, has_room) {
            (true, true) => format!("{} {}", names.gpu(lane.gpu), lane_name(lane, names)),
            (true, false) => names.gpu(lane.gpu),
            (false, true) => lane_name(lane, names),
            (false, false) => String::new(),
        }
    };
    let texts: Vec<String> = swim.lanes.iter().map(label).collect();
    let changes = swim
        .lanes
        .windows(2)
        .enumerate()
        .filter(|(_, two)| matches!(two, [a, b] if a.gpu != b.gpu))
        .map(|(it, _)| it + 1);
    let at = |us: f64| x.at(us / unit.us);
    let drawing = html! {
        (across(area, &x, &format!("time since the step's begin, {}", unit.name), x.marks(8).into_iter().map(|it| (it, round(it)))))
        (labels(area, &texts, height))
        g { @for lane in changes {
            path.grid d={ "M" (Px(area.left - 146.0)) " " (Px(area.top + lane as f64 * height)) "H" (Px(area.right)) } {}
        } }
        @if number_of <= SINGLE { (single(swim, names, &colours, area, height, at)) }
        @else { (together(swim, &colours, area, height, at)) }
    };
    let functions = colours.iter().filter(|(_, colour)| **colour < COLOURS);
    let mut keys = vec![Key { class: "waiting", mark: Mark::Box, text: "waiting for other ranks".into() }];
    let classes: Vec<String> = functions.clone().map(|(_, colour)| format!("f{colour}")).collect();
    keys.extend(classes.iter().zip(functions).map(|(class, (function, _))| Key {
        class,
        mark: Mark::Box,
        text: format!("{function}, transferring"),
    }));
    if colours.len() > COLOURS {
        keys.push(Key { class: "f6", mark: Mark::Box, text: "other functions, transferring".into() });
    }
    keys.push(Key { class: "enqueue", mark: Mark::Upright, text: "the host enqueued a call".into() });
    let step = swim.step.map_or_else(|| "The recording".to_owned(), |step| format!("Step {step}"));
    Chart {
        id: "swim-chart",
        title: "Calls of the step",
        look: "Look for the lane whose hatched waits are shortest: the others wait for it. A transfer right behind its \
               enqueue mark means that the host was late, not the GPU.",
        description: format!(
            "{step} of {}: {} calls in {} lanes, one for each GPU and communicator. Of each call the wait and the transfer.",
            time(swim.length_us),
            count(number_of as u64),
            swim.lanes.len()
        ),
        size: [880.0, bottom + 46.0],
        key: Key::draw(&keys),
        drawing,
        below: html! {
            p.note {
                (step) ", " (time(swim.length_us)) " long."
                @if !has_room { " Lanes of a GPU from the top: communicators as in the table of lanes." }
                @if swim.left_out > 0 { " " (count(swim.left_out)) " further calls, most of other GPUs, are not drawn." }
            }
            (lanes(swim, names)) (calls(swim, names))
        },
    }
}

/// Draws the names of lanes; of a GPU whose name would touch the one above, none.
fn labels(area: Area, texts: &[String], height: f64) -> Markup {
    let mut free = f64::MIN;
    let mut fits = |y: f64| {
        let fits = y >= free;
        free = if fits { y + 12.0 } else { free };
        fits
    };
    html! {
        g.axis {
            @for (lane, text) in texts.iter().enumerate().filter(|(_, text)| !text.is_empty()) {
                @let y = area.top + (lane as f64 + 0.5) * height + 4.0;
                @if fits(y) { text x=(Px(area.left - 6.0)) y=(Px(y)) text-anchor="end" { (text) } }
            }
        }
    }
}

fn lane_name(lane: &SwimLane, names: &Names<'_>) -> String {
    match lane.dimension.as_str() {
        "" | "unknown" => names.communicator(&lane.comm).chars().take(8).collect(),
        dimension => dimension.to_owned(),
    }
}

/// Gives each function a colour, those with most calls first.
fn colours(swim: &Swim) -> BTreeMap<&str, usize> {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for bar in swim.lanes.iter().flat_map(|lane| &lane.bars) {
        *calls.entry(&bar.function).or_default() += 1;
    }
    let mut order: Vec<_> = calls.into_iter().collect();
    order.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    order.into_iter().enumerate().map(|(place, (function, _))| (function, place.min(COLOURS))).collect()
}

/// Returns where the wait ends and the transfer begins.
fn transfer_us(bar: &SwimBar) -> f64 {
    bar.wait_until_us.map_or(bar.start_us, |us| us.clamp(bar.start_us, bar.stop_us.max(bar.start_us)))
}

/// Draws each call with its facts.
fn single(
    swim: &Swim,
    names: &Names<'_>,
    colours: &BTreeMap<&str, usize>,
    area: Area,
    height: f64,
    at: impl Fn(f64) -> f64,
) -> Markup {
    html! {
        @for (lane, row) in swim.lanes.iter().zip(0..) {
            @let top = area.top + height * (f64::from(row) + 0.15);
            @for bar in &lane.bars {
                @let (start, transfer, stop) = (at(bar.start_us), at(transfer_us(bar)), at(bar.stop_us));
                g.call {
                    title { (names.gpu(lane.gpu)) ", " (names.communicator(&lane.comm)) ": " (facts(bar)) }
                    @if transfer > start {
                        rect.waiting x=(Px(start)) y=(Px(top)) width=(Px(transfer - start)) height=(Px(height * 0.7)) {}
                    }
                    rect class={ "f" (colours.get(bar.function.as_str()).copied().unwrap_or(COLOURS)) } x=(Px(transfer))
                        y=(Px(top)) width=(Px((stop - transfer).max(0.6))) height=(Px(height * 0.7)) {}
                    path.enqueue d={ "M" (Px(at(bar.enqueued_us))) " " (Px(top - height * 0.1)) "v" (Px(height * 0.9)) } {}
                }
            }
        }
    }
}

/// Draws the calls as one path for each kind, so that many calls need little room.
fn together(swim: &Swim, colours: &BTreeMap<&str, usize>, area: Area, height: f64, at: impl Fn(f64) -> f64) -> Markup {
    let (mut waits, mut enqueues) = (Path::default(), Path::default());
    let mut transfers = vec![Path::default(); COLOURS + 1];
    for (lane, row) in swim.lanes.iter().zip(0..) {
        let middle = area.top + height * (f64::from(row) + 0.5);
        for bar in &lane.bars {
            let (start, transfer, stop) = (at(bar.start_us), at(transfer_us(bar)), at(bar.stop_us));
            if transfer - start >= 0.1 {
                waits.stroke(start, middle, transfer - start);
            }
            let colour = colours.get(bar.function.as_str()).copied().unwrap_or(COLOURS);
            if let Some(path) = transfers.get_mut(colour) {
                path.stroke(transfer, middle, (stop - transfer).max(0.3));
            }
            enqueues.rise(at(bar.enqueued_us), middle - height * 0.45, height * 0.9);
        }
    }
    html! {
        g.lanes stroke-width=(Px(height * 0.7)) {
            path.waiting d=(waits.data()) {}
            @for (colour, path) in transfers.into_iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                path class={ "f" (colour) } d=(path.data()) {}
            }
        }
        path.enqueue d=(enqueues.data()) {}
    }
}

fn facts(bar: &SwimBar) -> String {
    let number = bar.sequence.map_or_else(String::new, |number| format!(" {number}"));
    let waited = known(bar.wait_until_us, |_| time(transfer_us(bar) - bar.start_us));
    format!(
        "{}{number} of {}, begins at {}, waits {waited}, transfers {}, enqueued at {}",
        bar.function,
        bytes(bar.bytes as f64),
        time(bar.start_us),
        time(bar.stop_us - transfer_us(bar)),
        time(bar.enqueued_us)
    )
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
fn calls(swim: &Swim, names: &Names<'_>) -> Table {
    let wait = |bar: &SwimBar| transfer_us(bar) - bar.start_us;
    let mut calls: Vec<(&SwimLane, &SwimBar)> =
        swim.lanes.iter().flat_map(|lane| lane.bars.iter().map(move |bar| (lane, bar))).collect();
    calls.sort_by(|(_, a), (_, b)| wait(b).total_cmp(&wait(a)));
    let rows = calls.into_iter().take(200).map(|(lane, bar)| {
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
    Table::new("Calls of the step that waited longest, at most 200", &columns, 3, rows)
}
