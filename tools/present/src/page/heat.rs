//! A heat map of GPUs: a row for each, or for some neighbours, and columns of equal length.

use super::super::names::ReportNames;
use super::draw::{Area, Cells, Plot, Px, Scale, across, bars_beside, digits, margin};
use maud::{Markup, html};
use std::collections::BTreeSet;

/// A heat map. It has at least one row and one column.
#[derive(Debug)]
pub(super) struct HeatMap<'a> {
    pub(super) names: &'a ReportNames<'a>,
    /// Neighbouring GPUs of a row, at least 1.
    pub(super) gpus: usize,
    /// Figures by row and column; no number where nothing is known.
    pub(super) rows: &'a [Vec<f32>],
    /// What the right edge stands for; the left one stands for 0.
    pub(super) end: f64,
}

/// What the figures of a heat map are, for its axis and for the page's script.
#[derive(Debug)]
pub(super) struct HeatFigures {
    /// Title of the axis below.
    pub(super) title: String,
    /// Marks of the axis.
    pub(super) marks: Vec<(f64, String)>,
    /// Unit of the axis if it is one of time; without it, columns are of steps.
    pub(super) across: Option<&'static str>,
    /// Unit of the figures.
    pub(super) unit: &'static str,
    /// A figure of 1 in that unit.
    pub(super) one: f64,
}

impl HeatMap<'_> {
    fn columns(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn height(&self) -> f64 {
        (420.0 / self.rows.len() as f64).clamp(1.6, 26.0)
    }

    fn area(&self) -> Area {
        let bottom = 10.0 + self.height() * self.rows.len() as f64;
        Area { left: margin(self.names.all()), top: 10.0, right: 866.0, bottom }
    }

    /// Returns the size of the drawing with its axis.
    pub(super) fn size(&self) -> [f64; 2] {
        [880.0, self.area().bottom + 46.0]
    }

    /// Returns the scale of the axis below.
    pub(super) fn x(&self) -> Scale {
        let area = self.area();
        Scale::linear([0.0, self.end], [area.left, area.right])
    }

    /// Returns the middle of the row of a GPU; `None` if there is no such row.
    pub(super) fn middle(&self, gpu: usize) -> Option<f64> {
        let row = gpu / self.gpus;
        (row < self.rows.len()).then(|| self.area().top + (row as f64 + 0.5) * self.height())
    }

    /// Returns the largest distance of a figure from zero.
    pub(super) fn most(&self) -> f64 {
        self.rows.iter().flatten().fold(0.0, |most: f64, value| most.max(f64::from(value.abs())))
    }

    /// Returns the rows of GPUs that stand out, each once.
    pub(super) fn rows_of<'b>(&self, gpus: impl IntoIterator<Item = &'b usize>) -> BTreeSet<usize> {
        gpus.into_iter().map(|gpu| gpu / self.gpus).filter(|row| *row < self.rows.len()).collect()
    }

    /// Draws the map, in the level of each figure, with a wedge beside the rows that stand out.
    pub(super) fn draw(&self, figures: HeatFigures, found: &BTreeSet<usize>, level: impl Fn(&f32) -> i8) -> Markup {
        let (area, columns, most) = (self.area(), self.columns(), self.most());
        let cells = Cells::new(self.rows.iter().map(|row| row.iter().map(&level).collect()).collect());
        let texts: Vec<String> = (0..self.rows.len()).map(|row| self.names.gpu(row * self.gpus)).collect();
        let values =
            self.rows.iter().flat_map(|row| (0..columns).map(|column| row.get(column).copied().unwrap_or(f32::NAN)));
        let plot = Plot {
            class: "map",
            area,
            size: [columns as f64, self.rows.len() as f64],
            rows: (0..self.rows.len()).map(|row| row * self.gpus).collect(),
            together: self.gpus,
            span: [0.0, self.end],
            across: figures.across,
            unit: figures.unit,
            values: Some((digits(values, most), most * figures.one)),
        };
        html! {
            (across(area, &self.x(), &figures.title, figures.marks))
            (bars_beside(area, &texts, self.height()))
            (plot.draw(&html! { g.cells { (cells.paths()) } }))
            rect.edge x=(Px(area.left)) y=(Px(area.top)) width=(Px(area.width())) height=(Px(area.height())) {}
            @for (row, y) in found.iter().filter_map(|row| Some((*row, self.middle(row * self.gpus)?))) {
                path.found d={ "M" (Px(area.right + 2.0)) " " (Px(y)) "l8 -4.5v9z" } {
                    title { (self.names.gpus(row * self.gpus, self.gpus)) " stands out" }
                }
            }
        }
    }
}

/// Returns the cells of a table of the map: by each row's name, mean, and largest figure with its column.
pub(super) fn heat_rows<'a>(
    rows: &'a [Vec<f32>],
    gpus: usize,
    names: &'a ReportNames<'a>,
    cells: impl Fn(String, f64, (usize, f64)) -> Vec<String> + 'a,
) -> impl Iterator<Item = Vec<String>> + 'a {
    rows.iter().enumerate().map(move |(row, bins)| {
        let mean = bins.iter().map(|figure| f64::from(*figure)).sum::<f64>() / bins.len().max(1) as f64;
        let most = bins.iter().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b));
        let most = most.map_or((0, 0.0), |(bin, figure)| (bin, f64::from(*figure)));
        cells(names.gpus(row * gpus, gpus), mean, most)
    })
}
