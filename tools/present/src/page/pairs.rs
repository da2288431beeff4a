//! The section on pairs of ranks: a matrix of their rates or bytes, or of the nodes' in a large job, with the slow ones
//! marked.

use super::super::names::ReportNames;
use super::super::units::{bytes, count, counted, number, rate};
use super::super::{sentences, tables};
use super::draw::{Area, Cells, Chart, Px, Scale, across, bars_beside, margin, shortened};
use super::section::{self, absent, part};
use super::table::PageTable;
use maud::{Markup, html};
use report::answer::{Pairs, RankPair, Report};
use std::collections::BTreeMap;

/// Largest number of cells in a row of the matrix; of more GPUs or nodes, neighbours share one.
const CELLS: usize = 128;
/// Largest number of GPUs that have a cell each, where their nodes are known.
const GPUS: usize = 64;
/// Largest number of GPUs whose cells have their numbers in them.
const NUMBERED: usize = 16;
/// Largest number of marks for slow pairs.
const MARKS: usize = 300;

/// A figure of a pair: its name with the unit, and how its values are taken and written.
struct PairFigure {
    name: &'static str,
    value: fn(&RankPair) -> Option<f64>,
    text: fn(f64) -> String,
    /// Whether pairs in one cell are added up; else the least one is taken.
    is_sum: bool,
}

const MEASURES: [PairFigure; 4] = [
    PairFigure { name: "rate at a typical transfer, GB/s", value: |pair| pair.typical, text: rate, is_sum: false },
    PairFigure { name: "sustained rate, GB/s", value: |pair| pair.sustained, text: rate, is_sum: false },
    PairFigure { name: "bytes over the network", value: |pair| positive(pair.bytes), text: bytes, is_sum: true },
    PairFigure { name: "bytes of sends", value: |pair| positive(pair.message_bytes), text: bytes, is_sum: true },
];

fn positive(bytes: u64) -> Option<f64> {
    (bytes > 0).then_some(bytes as f64)
}

/// The rows and columns of the matrix.
struct Side {
    /// Row of each GPU.
    cell: Vec<usize>,
    /// Names of the rows.
    texts: Vec<String>,
    /// Remark on what a row is, where it is not a GPU.
    note: Option<String>,
}

impl Side {
    /// Makes a row for each GPU, or for each node of a large job, or for neighbours.
    fn of(gpus: usize, nodes: &[String], names: &ReportNames<'_>) -> Self {
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut order: Vec<&str> = vec![];
        for node in nodes.iter().map(String::as_str) {
            places.entry(node).or_insert_with(|| {
                order.push(node);
                order.len() - 1
            });
        }
        let is_by_node = gpus > GPUS && order.len() > 1 && nodes.len() >= gpus;
        let (what, all) = if is_by_node { ("node", order.len()) } else { ("GPU", gpus) };
        let together = all.div_ceil(CELLS).max(1);
        let first = |cell: usize| match order.get(cell * together) {
            Some(node) if is_by_node => (*node).to_owned(),
            _ => names.gpu(cell * together),
        };
        let cell = |gpu: usize| if is_by_node { places.get(&*nodes[gpu]).copied().unwrap_or(0) } else { gpu };
        let note = match (is_by_node, together) {
            (false, 1) => None,
            (true, 1) => Some("Each row is a node.".to_owned()),
            _ => Some(format!("Each row is {together} neighbouring {what}s, named after the first.")),
        };
        Self {
            cell: (0..gpus).map(|gpu| cell(gpu) / together).collect(),
            texts: (0..all.div_ceil(together)).map(first).collect(),
            note,
        }
    }

    /// Returns the row and the column of a pair: by its GPUs, or its ranks where these were not found.
    fn place(&self, pair: &RankPair) -> Option<(usize, usize)> {
        let of = |gpu: usize| self.cell.get(gpu).copied();
        let (from, to) = gpus_of(pair)?;
        Some((of(from)?, of(to)?))
    }
}

/// Writes the section.
pub(super) fn of(report: &Report, names: &ReportNames<'_>) -> Markup {
    part("pairs", "Network, from rank to rank", &report.pairs, |pairs| {
        let table = &tables::pairs(pairs, report, names);
        let table = PageTable::of("Pairs, slow ones first, then those with most bytes", table).without_unknown();
        let measure = MEASURES.iter().find(|measure| pairs.rows.iter().any(|pair| (measure.value)(pair).is_some()));
        html! {
            @match measure {
                Some(measure) => (chart(pairs, measure, names, &report.nodes, &table)),
                None => { (absent("no pair has a rate or bytes.")) (table) }
            }
            (section::transfers(report, names))
        }
    })
}

fn gpus_of(pair: &RankPair) -> Option<(usize, usize)> {
    let rank = |rank: i32| usize::try_from(rank).ok();
    Some((pair.from.or(rank(pair.rank))?, pair.to.or(rank(pair.peer))?))
}

/// Returns the value of each cell that has one.
fn cells(pairs: &Pairs, measure: &PairFigure, side: &Side) -> BTreeMap<(usize, usize), f64> {
    let mut cells = BTreeMap::new();
    for pair in &pairs.rows {
        let (Some(place), Some(value)) = (side.place(pair), (measure.value)(pair)) else { continue };
        let join = |old: &mut f64| *old = if measure.is_sum { *old + value } else { old.min(value) };
        cells.entry(place).and_modify(join).or_insert(value);
    }
    cells
}

fn chart(
    pairs: &Pairs,
    measure: &PairFigure,
    names: &ReportNames<'_>,
    nodes: &[String],
    table: &PageTable,
) -> Chart<'static> {
    let beyond = pairs.rows.iter().filter_map(gpus_of).map(|(from, to)| from.max(to) + 1).max().unwrap_or(0);
    let gpus = names.len().max(beyond);
    let matrix = Side::of(gpus, nodes, names);
    let side = matrix.texts.len();
    let cells = cells(pairs, measure, &matrix);
    let levels = Levels::of(cells.values().copied());
    let mut rows = vec![vec![0_i8; side]; side];
    for ((from, to), value) in &cells {
        if let Some(cell) = rows.get_mut(*from).and_then(|row| row.get_mut(*to)) {
            *cell = levels.level(*value);
        }
    }
    let edge = (if side <= 4 { 320.0 } else { 520.0 }) / side as f64;
    let left = margin(&matrix.texts);
    let area = Area { left, top: 14.0, right: left + edge * side as f64, bottom: 14.0 + edge * side as f64 };
    let x = Scale::linear([0.0, side as f64], [area.left, area.right]);
    let texts = &matrix.texts;
    let receivers = texts.iter().map(|name| shortened(name));
    let is_numbered = gpus <= NUMBERED;
    let marked: Vec<&RankPair> = pairs.rows.iter().filter(|pair| pair.slow).collect();
    let drawing = html! {
        (across(area, &x, "receiver", (0..).map(|cell| f64::from(cell) + 0.5).zip(receivers)))
        (bars_beside(area, texts, edge))
        rect.frame x=(Px(area.left)) y=(Px(area.top)) width=(Px(area.width())) height=(Px(area.height())) {}
        (Cells::new(rows).draw([area.left, area.top], [edge, edge]))
        @if is_numbered {
            @for ((from, to), value) in &cells {
                text class={ "inside cell" (levels.level(*value)) } text-anchor="middle"
                    x=(Px(area.left + (*to as f64 + 0.5) * edge)) y=(Px(area.top + (*from as f64 + 0.5) * edge + 4.0)) {
                    @if measure.is_sum { ((measure.text)(*value)) } @else { (number(*value)) }
                }
            }
        }
        @for (pair, place) in marked.iter().take(MARKS).filter_map(|pair| Some((pair, matrix.place(pair)?))) {
            (mark(area, edge, place, &format!("slow: {}", sentences::pair(pair, names))))
        }
    };
    let slow = pairs.rows.iter().filter(|pair| pair.slow).count();
    Chart {
        id: "pairs-chart",
        title: if measure.is_sum { "Bytes from rank to rank" } else { "Rate from rank to rank" },
        look: "Look for frames with a filled corner, which are pairs slow beside others of their class, and for whole \
               rows or columns of them, which point to one rank's adapter or cable.",
        description: format!(
            "Matrix of senders (rows) and receivers (columns), {}. {} in {}; {} slow.",
            measure.name,
            counted(pairs.rows.len() as u64, "pair"),
            counted(cells.len() as u64, "cell"),
            count(slow as u64)
        ),
        size: [area.right + 20.0, area.bottom + 46.0],
        key: html! {
            p.note { "Rows send, columns receive; " (measure.name) ":" }
            (Cells::key(&levels.texts(measure.text)))
        },
        drawing,
        notes: html! {
            @if let Some(note) = &matrix.note {
                p { (note) " A cell is " @if measure.is_sum { "the sum" } @else { "the slowest" } " of its pairs." }
            }
            @if slow > MARKS { p { "Of " (count(slow as u64)) " slow pairs " (MARKS) " are marked." } }
        },
        below: html! { (table) },
    }
}

/// Marks a slow pair's cell with a frame and a filled corner.
fn mark(area: Area, edge: f64, (from, to): (usize, usize), text: &str) -> Markup {
    let half = (edge / 2.0 - 1.0).max(5.0);
    let (x, y) = (area.left + (to as f64 + 0.5) * edge, area.top + (from as f64 + 0.5) * edge);
    let corner = (half * 0.6).clamp(4.0, 12.0);
    html! {
        g.slow {
            title { (text) }
            rect x=(Px(x - half)) y=(Px(y - half)) width=(Px(2.0 * half)) height=(Px(2.0 * half)) {}
            path d={ "M" (Px(x + half - corner)) " " (Px(y - half)) "h" (Px(corner)) "v" (Px(corner)) "z" } {}
        }
    }
}

/// Levels of colour between the least and the largest value: equal steps, or equal factors where values differ widely.
struct Levels {
    least: f64,
    most: f64,
    is_log: bool,
}

impl Levels {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = values.clone().fold(f64::MAX, f64::min);
        let most = values.fold(0.0, f64::max);
        Self { least, most, is_log: least > 0.0 && most > 10.0 * least }
    }

    /// Returns the lower bound of a level from 1.
    fn bound(&self, level: usize) -> f64 {
        let part = (level - 1) as f64 / 8.0;
        if self.is_log { self.least * (self.most / self.least).powf(part) } else { self.most * part }
    }

    fn level(&self, value: f64) -> i8 {
        (2..=8).take_while(|level| value >= self.bound(*level)).count() as i8 + 1
    }

    fn texts(&self, text: impl Fn(f64) -> String) -> Vec<String> {
        (1..=8).map(|level| format!("≥ {}", text(self.bound(level)))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_equal_steps_or_equal_factors() {
        let levels = Levels::of([4.0, 8.0].into_iter());
        assert_eq!([0.0, 0.9, 1.0, 4.0, 8.0].map(|value| levels.level(value)), [1, 1, 2, 5, 8]);
        let levels = Levels::of([1.0, 256.0].into_iter());
        assert_eq!([1.0, 2.0, 17.0, 256.0].map(|value| levels.level(value)), [1, 2, 5, 8]);
    }

    #[test]
    fn a_large_job_has_a_row_for_each_node() {
        let report = crate::sample::sample(128);
        let side = Side::of(128, &report.nodes, &ReportNames::of(&report));
        assert_eq!((side.texts.len(), side.texts[15].as_str(), side.cell[127]), (16, "node15", 15));
        assert_eq!(
            Side::of(130, &[], &ReportNames::of(&report)).note.unwrap(),
            "Each row is 2 neighbouring GPUs, named after the first."
        );
    }

    #[test]
    fn pairs_in_one_cell_add_their_bytes_or_show_the_slowest() {
        let pair = |from, to, rate| RankPair {
            from: Some(from),
            to: Some(to),
            typical: Some(rate),
            bytes: 5,
            ..RankPair::default()
        };
        let pairs =
            Pairs { rows: vec![pair(0, 2, 40.0), pair(1, 3, 30.0), pair(2, 0, 20.0)], left_out: 0, slow: vec![] };
        let side = Side { cell: vec![0, 0, 1, 1], texts: vec![], note: None };
        assert_eq!(cells(&pairs, &MEASURES[0], &side), BTreeMap::from([((0, 1), 30.0), ((1, 0), 20.0)]));
        assert_eq!(cells(&pairs, &MEASURES[2], &side), BTreeMap::from([((0, 1), 10.0), ((1, 0), 5.0)]));
    }
}
