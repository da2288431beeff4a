//! Drawing in SVG: scales, axes, cells, and the frame of a chart with its title, description and key.

mod axes;
mod cells;
mod chart;
mod path;
mod plot;
mod scale;

pub(super) use axes::{Area, across, bars_beside, margin, shortened, upright};
pub(super) use cells::Cells;
pub(super) use chart::{Chart, LegendEntry, Mark, marker};
pub(super) use path::{Path, Px};
pub(super) use plot::{Plot, digits};
pub(super) use scale::Scale;
