//! Drawing in SVG: scales, axes, cells, and the frame of a chart with its title, description and key.

mod axes;
mod cells;
mod chart;
mod path;

pub(super) use axes::{Area, Scale, across, bars_beside, margin, shortened, upright};
pub(super) use cells::{Cells, Plot, digits};
pub(super) use chart::{Chart, LegendEntry, Mark, marker};
pub(super) use path::{Path, Px};
