//! The lanes of a step: one for each GPU with its calls, and the critical path across them.

use super::super::names::ReportNames;
use super::super::units::TimeUnit;
use super::draw::{Area, LegendEntry, Mark, Path, Plot, Px, Scale, across, bars_beside, margin};
use maud::{Markup, html};
use report::answer::{Swim, SwimBar, SwimLane};
use std::collections::{BTreeMap, BTreeSet};

/// Number of functions with a colour of their own; the others share one.
const COLOURS: usize = 6;
/// Width of the lanes in coordinates of their own: whole numbers, fine enough for a zoom.
const WIDTH: f64 = 20_000.0;
/// Least height of a lane that has marks of enqueues.
const MARKED: f64 = 17.0;
/// Most rows of a lane: communicators whose calls overlap have different ones.
const ROWS: usize = 4;

/// The lanes of a step on their axis.
pub(super) struct StepLanes<'a> {
    swim: &'a Swim,
    names: &'a ReportNames<'a>,
    /// The GPUs, from above.
    gpus: Vec<usize>,
    /// Colours by function.
    colours: &'a BTreeMap<&'a str, usize>,
    /// Row in its lane of each dimension or, where that is unknown, communicator; and the number of rows.
    rows: (BTreeMap<&'a str, usize>, usize),
    area: Area,
    /// Height of a lane.
    height: f64,
    unit: TimeUnit,
    x: Scale,
    /// First and last time, microseconds since the step's begin.
    span_us: [f64; 2],
}

impl<'a> StepLanes<'a> {
    /// Lays out the lanes of a step. `colours` are those of [`colours`].
    pub(super) fn of(swim: &'a Swim, colours: &'a BTreeMap<&'a str, usize>, names: &'a ReportNames<'a>) -> Self {
        let bars = || swim.lanes.iter().flat_map(|lane| &lane.bars);
        let gpus: BTreeSet<usize> = swim.lanes.iter().map(|lane| lane.gpu).collect();
        let height = (900.0 / gpus.len().max(1) as f64).clamp(12.0, 34.0).round();
        let area =
            Area { left: margin(names.all()), top: 10.0, right: 866.0, bottom: 10.0 + height * gpus.len() as f64 };
        let first_us = bars().map(|bar| bar.start_us).fold(0.0, f64::min);
        let last_us = bars().map(|bar| bar.stop_us).fold(swim.length_us.max(1e-3), f64::max);
        let unit = TimeUnit::of(last_us);
        let x = Scale::linear([first_us / unit.us, last_us / unit.us], [area.left, area.right]);
        let gpus = gpus.into_iter().collect();
        let span_us = [first_us, last_us];
        Self { swim, names, gpus, colours, rows: rows(swim), area, height, unit, x, span_us }
    }

    /// Returns the height of the drawing.
    pub(super) fn bottom(&self) -> f64 {
        self.area.bottom + 46.0
    }

    /// Returns the number of lanes.
    pub(super) fn number(&self) -> usize {
        self.gpus.len()
    }

    /// Draws the key.
    pub(super) fn key(&self) -> Markup {
        let class = |colour: usize| format!("f{colour}");
        let mut functions: Vec<(String, String)> = self
            .colours
            .iter()
            .filter(|(_, colour)| **colour < COLOURS)
            .map(|(function, colour)| (class(*colour), (*function).to_owned()))
            .collect();
        if functions.len() < self.colours.len() {
            functions.push((class(COLOURS), "other functions".into()));
        }
        let mut keys: Vec<LegendEntry<'_>> =
            functions.iter().map(|(class, text)| LegendEntry { class, mark: Mark::Box, text: text.clone() }).collect();
        keys.push(LegendEntry { class: "wait-line", mark: Mark::Plain, text: "waiting for other ranks".into() });
        if !self.swim.path.is_empty() {
            keys.push(LegendEntry { class: "critical", mark: Mark::Plain, text: "critical path".into() });
        }
        if self.height >= MARKED {
            keys.push(LegendEntry { class: "enqueue", mark: Mark::Upright, text: "enqueued".into() });
        }
        LegendEntry::draw(&keys)
    }

    /// Draws the axis and the lanes.
    pub(super) fn draw(&self) -> Markup {
        let title = format!("time since the step's begin, {}", self.unit.name);
        let names: Vec<String> = self.gpus.iter().map(|gpu| self.names.gpu(*gpu)).collect();
        let plot = Plot {
            class: "calls",
            area: self.area,
            size: [WIDTH, self.area.height()],
            rows: self.gpus.clone(),
            together: 1,
            span: self.span_us.map(|us| us / self.unit.us),
            across: None,
            unit: self.unit.name,
            values: None,
        };
        html! {
            (across(self.area, &self.x, &title, self.x.numbers(8)))
            (bars_beside(self.area, &names, self.height))
            (plot.draw(&html! { (self.ground()) (self.calls()) (self.enqueues()) (self.critical()) }))
        }
    }

    /// Draws a ground below every other lane, so that an eye finds the lane's name.
    fn ground(&self) -> Markup {
        let mut path = Path::default();
        for place in (0..self.gpus.len()).skip(1).step_by(2) {
            path.stroke(0.0, self.height * (place as f64 + 0.5), WIDTH);
        }
        html! { path.lane stroke-width=(Px(self.height)) d=(path.data()) {} }
    }

    /// Returns the coordinate of a time.
    fn at(&self, us: f64) -> f64 {
        let [first, last] = self.span_us;
        ((us - first) / (last - first).max(1e-9) * WIDTH).clamp(0.0, WIDTH).round()
    }

    fn place(&self, gpu: usize) -> Option<f64> {
        self.gpus.binary_search(&gpu).ok().map(|place| place as f64)
    }

    /// Draws the calls as paths: two for each function of a communicator, since many calls need little room so.
    fn calls(&self) -> Markup {
        let mut groups: BTreeMap<&str, (&SwimLane, BTreeMap<&str, [Path; 2]>)> = BTreeMap::new();
        let height = self.height * 0.8 / self.rows.1 as f64;
        for lane in &self.swim.lanes {
            let Some(place) = self.place(lane.gpu) else { continue };
            let row = self.rows.0.get(kind(lane)).copied().unwrap_or(0) as f64;
            let y = self.height * (place + 0.1) + height * (row + 0.5);
            let (_, of_comm) = groups.entry(&lane.comm).or_insert_with(|| (lane, BTreeMap::new()));
            for bar in &lane.bars {
                let [start, transfer, stop] = [bar.start_us, transfer_us(bar), bar.stop_us].map(|us| self.at(us));
                let [waits, transfers] = of_comm.entry(&bar.function).or_default();
                if transfer > start {
                    waits.stroke(start, y, transfer - start);
                }
                if bar.stop_us > bar.start_us {
                    transfers.stroke(transfer, y, (stop - transfer).max(4.0));
                }
            }
        }
        let [thick, thin] = [height * 0.92, (height * 0.3).clamp(1.6, 4.0)];
        html! {
            @for (comm, (lane, functions)) in groups {
                g data-c=(self.names.communicator(comm)) data-d=(lane.dimension) {
                    @for (function, [waits, transfers]) in functions {
                        @if !waits.is_empty() {
                            path.waiting stroke-width=(Px(thin)) data-f=(function) d=(waits.data()) {}
                        }
                        @if !transfers.is_empty() {
                            @let colour = self.colours.get(function).copied().unwrap_or(COLOURS);
                            path class={ "f" (colour) } stroke-width=(Px(thick)) data-f=(function)
                                d=(transfers.data()) {}
                        }
                    }
                }
            }
        }
    }

    /// Draws marks where the hosts enqueued calls, at the lower edges of high lanes.
    fn enqueues(&self) -> Markup {
        let mut marks = Path::default();
        for lane in self.swim.lanes.iter().filter(|_| self.height >= MARKED) {
            let Some(place) = self.place(lane.gpu) else { continue };
            for bar in lane.bars.iter().filter(|bar| bar.enqueued_us >= self.span_us[0]) {
                marks.rise(self.at(bar.enqueued_us), self.height * (place + 0.78), self.height * 0.22);
            }
        }
        html! { @if !marks.is_empty() { path.enqueue d=(marks.data()) {} } }
    }

    /// Draws the critical path; a line breaks where it leads through GPUs without a lane.
    fn critical(&self) -> Markup {
        let mut path = Path::default();
        let stretches = &self.swim.path;
        for piece in stretches.chunk_by(|a, b| self.place(a.gpu).is_some() == self.place(b.gpu).is_some()) {
            path.line(piece.iter().flat_map(|stretch| {
                let y = self.place(stretch.gpu).map(|place| self.height * (place + 0.5));
                y.into_iter().flat_map(|y| [stretch.from_us, stretch.until_us].map(|us| (self.at(us), y)))
            }));
        }
        let data = path.data();
        html! {
            @if !data.0.is_empty() { path.critical.halo d=(data) {} path.critical d=(data) {} }
        }
    }
}

/// Returns the time at which a call's wait ends and its transfer begins, microseconds since the step's begin.
pub(super) fn transfer_us(bar: &SwimBar) -> f64 {
    bar.wait_until_us.map_or(bar.start_us, |us| us.min(bar.stop_us).max(bar.start_us))
}

/// Gives each function of a step and of the usual one a colour, those with most calls first.
pub(super) fn colours(swim: &Swim) -> BTreeMap<&str, usize> {
    let mut calls: BTreeMap<&str, usize> = BTreeMap::new();
    for lane in swim.usual.iter().flat_map(|usual| &usual.lanes).chain(&swim.lanes) {
        lane.bars.iter().for_each(|bar| *calls.entry(&bar.function).or_default() += 1);
    }
    let mut order: Vec<_> = calls.into_iter().collect();
    order.sort_by_key(|(_, calls)| std::cmp::Reverse(*calls));
    order.into_iter().enumerate().map(|(place, (function, _))| (function, place.min(COLOURS))).collect()
}

/// Returns the dimension of a lane's communicator, or the communicator where that is unknown.
fn kind(lane: &SwimLane) -> &str {
    match lane.dimension.as_str() {
        "" | "unknown" => &lane.comm,
        dimension => dimension,
    }
}

/// Gives the kinds of communicators rows, those with most calls first: the same row to kinds of which no GPU has calls
/// that overlap.
fn rows(swim: &Swim) -> (BTreeMap<&str, usize>, usize) {
    let mut by_kind: BTreeMap<&str, Vec<&SwimLane>> = BTreeMap::new();
    for lane in &swim.lanes {
        by_kind.entry(kind(lane)).or_default().push(lane);
    }
    let calls = |lanes: &[&SwimLane]| lanes.iter().map(|lane| lane.bars.len()).sum::<usize>();
    let mut kinds: Vec<_> = by_kind.into_iter().collect();
    kinds.sort_by_key(|(_, lanes)| std::cmp::Reverse(calls(lanes)));
    let mut taken: Vec<BTreeMap<usize, Vec<&SwimLane>>> = vec![];
    let mut rows = BTreeMap::new();
    for (kind, lanes) in kinds {
        let is_free = |row: &BTreeMap<usize, Vec<&SwimLane>>| {
            lanes.iter().all(|lane| row.get(&lane.gpu).into_iter().flatten().all(|other| !overlap(lane, other)))
        };
        let row = taken.iter().position(is_free).unwrap_or(taken.len().min(ROWS - 1));
        if row == taken.len() {
            taken.push(BTreeMap::new());
        }
        let Some(of_row) = taken.get_mut(row) else { continue };
        lanes.iter().for_each(|lane| of_row.entry(lane.gpu).or_default().push(lane));
        rows.insert(kind, row);
    }
    (rows, taken.len().max(1))
}

/// Returns whether two lanes of a GPU, sorted by begin, have calls at one time.
fn overlap(one: &SwimLane, other: &SwimLane) -> bool {
    let (mut ours, mut theirs) = (one.bars.iter().peekable(), other.bars.iter().peekable());
    while let (Some(our), Some(their)) = (ours.peek(), theirs.peek()) {
        if our.start_us < their.stop_us && their.start_us < our.stop_us {
            return true;
        }
        if our.stop_us <= their.stop_us {
            ours.next()
        } else {
            theirs.next()
        };
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(gpu: usize, dimension: &str, spans: &[[f64; 2]]) -> SwimLane {
        let bar = |span: &[f64; 2]| SwimBar { start_us: span[0], stop_us: span[1], ..SwimBar::default() };
        SwimLane { gpu, dimension: dimension.into(), bars: spans.iter().map(bar).collect(), ..SwimLane::default() }
    }

    #[test]
    fn communicators_whose_calls_overlap_have_rows_of_their_own() {
        let lanes = vec![
            lane(0, "TP", &[[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]),
            lane(0, "DP", &[[2.5, 3.5], [9.0, 9.5]]),
            lane(0, "PP", &[[1.0, 2.0]]),
            lane(1, "TP", &[[0.0, 1.0]]),
        ];
        let swim = Swim { lanes, ..Swim::default() };
        assert_eq!(rows(&swim), (BTreeMap::from([("TP", 0), ("DP", 1), ("PP", 0)]), 2));
    }
}
