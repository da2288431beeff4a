//! The lanes of a step: each call with its wait, its transfer, and a mark where its host enqueued it.

use super::super::names::Names;
use super::super::units::{TimeUnit, bytes, known, time};
use super::draw::{Area, Key, Mark, Path, Px, Scale, across, shortened};
use crate::answer::{Swim, SwimBar, SwimLane};
use maud::{Markup, html};
use std::collections::BTreeMap;

/// Number of functions with a colour of their own; the others share one.
const COLOURS: usize = 6;
/// Largest number of calls that are drawn one by one with their facts; of more, each function has one path.
const SINGLE: usize = 1500;
/// Least height of a lane that has room for its name.
const NAMED: f64 = 13.0;

/// The lanes of a step on their axis.
pub(super) struct Lanes<'a> {
    swim: &'a Swim,
    names: &'a Names<'a>,
    /// Colours by function.
    colours: BTreeMap<&'a str, usize>,
    area: Area,
    /// Height of a lane.
    height: f64,
    /// First time of the axis, microseconds since the step's begin. Enqueues before it are not drawn.
    first_us: f64,
    unit: TimeUnit,
    x: Scale,
}

impl<'a> Lanes<'a> {
    /// Lays out the lanes of a step.
    pub(super) fn of(swim: &'a Swim, names: &'a Names<'a>) -> Self {
        let bars = || swim.lanes.iter().flat_map(|lane| &lane.bars);
        let height = (900.0 / swim.lanes.len().max(1) as f64).clamp(7.0, 24.0);
        let area = Area { left: 176.0, top: 10.0, right: 866.0, bottom: 10.0 + height * swim.lanes.len() as f64 };
        let first_us = bars().map(|bar| bar.enqueued_us).fold(0.0, f64::min).max(-0.1 * swim.length_us);
        let last_us = bars().map(|bar| bar.stop_us).fold(swim.length_us, f64::max);
        let unit = TimeUnit::of(last_us);
        let x = Scale::linear([first_us / unit.us, last_us / unit.us], [area.left, area.right]);
        Self { swim, names, colours: colours(swim), area, height, first_us, unit, x }
    }

    /// Returns the height of the drawing.
    pub(super) fn bottom(&self) -> f64 {
        self.area.bottom + 46.0
    }

    /// Returns whether each lane has its name.
    pub(super) fn are_named(&self) -> bool {
        self.height >= NAMED
    }

    /// Draws the key.
    pub(super) fn key(&self) -> Markup {
        let class = |colour: usize| format!("f{colour}");
        let mut functions: Vec<(String, String)> = self
            .colours
            .iter()
            .filter(|(_, colour)| **colour < COLOURS)
            .map(|(function, colour)| (class(*colour), format!("{function}, transferring")))
            .collect();
        if functions.len() < self.colours.len() {
            functions.push((class(COLOURS), "other functions, transferring".into()));
        }
        let mut keys = vec![Key { class: "waiting", mark: Mark::Box, text: "waiting for other ranks".into() }];
        keys.extend(functions.iter().map(|(class, text)| Key { class, mark: Mark::Box, text: text.clone() }));
        keys.push(Key { class: "enqueue", mark: Mark::Upright, text: "the host enqueued a call".into() });
        Key::draw(&keys)
    }

    /// Draws the axis and the lanes.
    pub(super) fn draw(&self) -> Markup {
        let calls: usize = self.swim.lanes.iter().map(|lane| lane.bars.len()).sum();
        let title = format!("time since the step's begin, {}", self.unit.name);
        html! {
            (across(self.area, &self.x, &title, self.x.numbers(8)))
            (self.labels())
            @if calls <= SINGLE { (self.single()) } @else { (self.together()) }
        }
    }

    /// Draws the names of lanes, or of GPUs where lanes are low, and a line between two GPUs. A name that would touch
    /// the one above is left out.
    fn labels(&self) -> Markup {
        let mut free = f64::MIN;
        let mut gpu = None;
        let mut label = |lane: &SwimLane, y: f64| {
            let is_new = gpu.replace(lane.gpu) != Some(lane.gpu);
            let text = match (is_new, self.are_named()) {
                (true, true) => format!("{} {}", shortened(&self.names.gpu(lane.gpu)), group(lane, self.names)),
                (true, false) => shortened(&self.names.gpu(lane.gpu)),
                (false, true) => group(lane, self.names),
                (false, false) => return (is_new, None),
            };
            let fits = y >= free;
            if fits {
                free = y + 12.0;
            }
            (is_new, fits.then_some(text))
        };
        let edge = self.area.left - 170.0;
        html! {
            g.axis {
                @for (place, lane) in self.swim.lanes.iter().enumerate() {
                    @let top = self.area.top + place as f64 * self.height;
                    @let y = top + self.height / 2.0 + 4.0;
                    @let (is_new, text) = label(lane, y);
                    @if is_new && place > 0 {
                        path.grid d={ "M" (Px(edge)) " " (Px(top)) "H" (Px(self.area.right)) } {}
                    }
                    @if let Some(text) = text {
                        text x=(Px(self.area.left - 6.0)) y=(Px(y)) text-anchor="end" { (text) }
                    }
                }
            }
        }
    }

    fn at(&self, us: f64) -> f64 {
        self.x.at(us / self.unit.us)
    }

    /// Returns where a call begins, where its transfer begins, and where it ends.
    fn times(&self, bar: &SwimBar) -> [f64; 3] {
        [bar.start_us, transfer_us(bar), bar.stop_us].map(|us| self.at(us))
    }

    fn colour(&self, bar: &SwimBar) -> usize {
        self.colours.get(bar.function.as_str()).copied().unwrap_or(COLOURS)
    }

    /// Draws each call with its facts.
    fn single(&self) -> Markup {
        let height = self.height * 0.7;
        html! {
            @for (place, lane) in self.swim.lanes.iter().enumerate() {
                @let top = self.area.top + self.height * (place as f64 + 0.15);
                @for bar in &lane.bars {
                    @let [start, transfer, stop] = self.times(bar);
                    g.call {
                        title {
                            (self.names.gpu(lane.gpu)) ", " (self.names.communicator(&lane.comm)) ": " (facts(bar))
                        }
                        @if transfer > start {
                            rect.waiting x=(Px(start)) y=(Px(top)) width=(Px(transfer - start)) height=(Px(height)) {}
                        }
                        rect class={ "f" (self.colour(bar)) } x=(Px(transfer)) y=(Px(top))
                            width=(Px((stop - transfer).max(0.6))) height=(Px(height)) {}
                        @if bar.enqueued_us >= self.first_us {
                            @let enqueued = self.at(bar.enqueued_us);
                            path.enqueue d={ "M" (Px(enqueued)) " " (Px(top - 1.5)) "v" (Px(height + 3.0)) } {}
                        }
                    }
                }
            }
        }
    }

    /// Draws the calls as one path for each kind, so that many calls need little room.
    fn together(&self) -> Markup {
        let (mut waits, mut enqueues) = (Path::default(), Path::default());
        let mut transfers = vec![Path::default(); COLOURS + 1];
        for (place, lane) in self.swim.lanes.iter().enumerate() {
            let middle = self.area.top + self.height * (place as f64 + 0.5);
            for bar in &lane.bars {
                let [start, transfer, stop] = self.times(bar);
                if transfer - start >= 0.1 {
                    waits.stroke(start, middle, transfer - start);
                }
                if let Some(path) = transfers.get_mut(self.colour(bar)) {
                    path.stroke(transfer, middle, (stop - transfer).max(0.3));
                }
                if bar.enqueued_us >= self.first_us {
                    enqueues.rise(self.at(bar.enqueued_us), middle - self.height * 0.45, self.height * 0.9);
                }
            }
        }
        html! {
            g.lanes stroke-width=(Px(self.height * 0.7)) {
                path.waiting d=(waits.data()) {}
                @for (colour, path) in transfers.into_iter().enumerate().filter(|(_, path)| !path.is_empty()) {
                    path class={ "f" (colour) } d=(path.data()) {}
                }
            }
            path.enqueue d=(enqueues.data()) {}
        }
    }
}

/// Returns the time at which a call's wait ends and its transfer begins, microseconds since the step's begin.
pub(super) fn transfer_us(bar: &SwimBar) -> f64 {
    bar.wait_until_us.map_or(bar.start_us, |us| us.min(bar.stop_us).max(bar.start_us))
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

/// Returns the dimension of a lane's communicator, or the beginning of its name where that is unknown.
fn group(lane: &SwimLane, names: &Names<'_>) -> String {
    match lane.dimension.as_str() {
        "" | "unknown" => names.communicator(&lane.comm).chars().take(8).collect(),
        dimension => dimension.to_owned(),
    }
}

fn facts(bar: &SwimBar) -> String {
    let sequence = bar.sequence.map_or_else(String::new, |number| format!(" {number}"));
    let waited = known(bar.wait_until_us, |_| time(transfer_us(bar) - bar.start_us));
    format!(
        "{}{sequence} of {}, begins at {}, waits {waited}, transfers {}, enqueued at {}",
        bar.function,
        bytes(bar.bytes as f64),
        time(bar.start_us),
        time(bar.stop_us - transfer_us(bar)),
        time(bar.enqueued_us)
    )
}
