//! A figure of each GPU, or of each node, as a column above or below zero, with some of them marked.

use super::draw::{Area, Path, Px, Scale, across, upright};
use maud::{Markup, html};

/// Share of a step that an axis of own times reaches to at least.
pub(super) const SMALL: f64 = 0.01;
/// Most columns that are drawn one by one, with their names.
const SINGLE: usize = 256;
/// Most columns; of more figures, neighbours share one: the figure farthest from zero.
const COLUMNS: usize = 512;
/// Most marked columns with their names in the drawing.
const LABELS: usize = 3;

/// The columns.
pub(super) struct Strip<'a> {
    /// Figures in the unit of the axis; `None` where one is unknown.
    pub(super) values: Vec<Option<f64>>,
    /// What the axis reaches to at least, so that small differences look small.
    pub(super) least: f64,
    /// Places that are marked, the most important ones first.
    pub(super) marked: Vec<usize>,
    /// Names of places.
    pub(super) name: &'a dyn Fn(usize) -> String,
    /// A figure with its unit.
    pub(super) text: &'a dyn Fn(f64) -> String,
    /// Titles of the axes: across and upright.
    pub(super) axes: [String; 2],
    /// Size of the drawing.
    pub(super) size: [f64; 2],
}

impl Strip<'_> {
    /// Draws the columns on their axes.
    pub(super) fn draw(&self) -> Markup {
        let [width, height] = self.size;
        let area = Area { left: 52.0, top: 36.0, right: width - 30.0, bottom: height - 46.0 };
        let known = || self.values.iter().flatten().copied().filter(|value| value.is_finite());
        let (least, most) = (known().fold(0.0, f64::min), known().fold(self.least, f64::max));
        let room = (most - least).max(1e-9) * 0.06;
        let y =
            Scale::linear([if least < 0.0 { least - room } else { 0.0 }, most + 2.0 * room], [area.bottom, area.top]);
        let x = Scale::linear([0.0, self.values.len() as f64], [area.left, area.right]);
        let marks = x.marks(6).into_iter().filter(|at| at.fract() == 0.0 && *at < self.values.len() as f64);
        let texts = marks.map(|at| (at + 0.5, (self.name)(at as usize)));
        html! {
            (across(area, &x, &self.axes[0], texts))
            (upright(area, &y, &self.axes[1], y.numbers(4)))
            (self.columns(&x, &y))
            path.zero d={ "M" (Px(area.left)) " " (Px(y.at(0.0))) "H" (Px(area.right)) } {}
            (self.labels(area, &x, &y))
        }
    }

    fn columns(&self, x: &Scale, y: &Scale) -> Markup {
        let zero = y.at(0.0);
        let each = x.at(1.0) - x.at(0.0);
        let column = |place: usize, value: f64| {
            let (top, end) = (y.at(value.max(0.0)), y.at(value.min(0.0)));
            let wide = (each * 0.74).clamp(1.0, 34.0).max(if self.is_marked(place) { 2.0 } else { 0.0 });
            html! {
                rect.column.marked[self.is_marked(place)] x=(Px(x.at(place as f64 + 0.5) - wide / 2.0)) y=(Px(top))
                    width=(Px(wide)) height=(Px((end - top).max(0.6))) {
                    title { ((self.name)(place)) ": " ((self.text)(value)) }
                }
            }
        };
        let singles = || self.values.iter().enumerate().filter_map(|(place, value)| Some((place, (*value)?)));
        if self.values.len() <= SINGLE {
            return html! { @for (place, value) in singles() { (column(place, value)) } };
        }
        let together = self.values.len().div_ceil(COLUMNS);
        let mut path = Path::default();
        for (place, values) in self.values.chunks(together).enumerate() {
            let farthest = values.iter().flatten().copied().max_by(|a, b| a.abs().total_cmp(&b.abs()));
            let Some(value) = farthest else { continue };
            path.rise(x.at((place as f64 + 0.5) * together as f64), zero, y.at(value) - zero);
        }
        html! {
            path.columns-of stroke-width=(Px(each * together as f64)) d=(path.data()) {}
            @for (place, value) in singles().filter(|(place, _)| self.is_marked(*place)) { (column(place, value)) }
        }
    }

    fn is_marked(&self, place: usize) -> bool {
        self.marked.contains(&place)
    }

    /// Names the first marked columns. A name that would touch another one is left out.
    fn labels(&self, area: Area, x: &Scale, y: &Scale) -> Markup {
        let mut taken: Vec<[f64; 2]> = vec![];
        let mut label = |&place: &usize| {
            let value = self.values.get(place).copied().flatten()?;
            let text = format!("{} {}", (self.name)(place), (self.text)(value));
            let half = text.chars().count() as f64 * 3.4;
            let middle = x.at(place as f64 + 0.5).clamp(area.left + half, (area.right - half).max(area.left + half));
            let is_free = taken.iter().all(|[from, to]| middle + half < *from || middle - half > *to);
            taken.push([middle - half, middle + half]);
            is_free.then(|| (middle, y.at(value.max(0.0)) - 5.0, text))
        };
        let labels: Vec<_> = self.marked.iter().take(LABELS).filter_map(&mut label).collect();
        html! {
            @for (middle, top, text) in labels {
                text.over.strong x=(Px(middle)) y=(Px(top)) text-anchor="middle" { (text) }
            }
        }
    }
}
