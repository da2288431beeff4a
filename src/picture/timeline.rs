//! Draws rows of regions over time, as a trace viewer does.

use super::rows::{PictureRow, TRANSFERS};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::error::Error;
use std::ops::Range;
use std::path::Path;

/// A process and its rows.
#[derive(Debug)]
pub(crate) struct ProcessRows {
    pub(crate) name: String,
    pub(crate) rows: Vec<PictureRow>,
}

/// Contents of the picture.
#[derive(Debug)]
pub(crate) struct Timeline<'a> {
    pub(crate) title: &'a str,
    pub(crate) groups: &'a [ProcessRows],
    /// Time at which the axis begins to count, nanoseconds.
    pub(crate) zero: u64,
    /// Range of times that is drawn, nanoseconds of the same clock.
    pub(crate) shown: Range<u64>,
}

/// Where a picture is drawn.
pub(crate) type PictureArea<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
/// Whether it was drawn.
pub(crate) type Drawn = Result<(), Box<dyn Error + Send + Sync>>;

/// Sizes in pixels.
const WIDTH: i32 = 1200;
const LEFT: i32 = 236;
const RIGHT: i32 = WIDTH - 24;
const TOP: i32 = 82;
const ROW: i32 = 20;
const BAR: i32 = 14;
const HEADING: i32 = 26;
const AXIS: i32 = 52;
const LETTER: f64 = 6.6;

/// Colours for people with any colour vision (Okabe and Ito); light and dark colours alternate.
const COLOURS: [(&str, RGBColor); 9] = [
    ("ncclAllReduce", RGBColor(0, 114, 178)),
    ("ncclAllGather", RGBColor(86, 180, 233)),
    ("ncclReduceScatter", RGBColor(0, 158, 115)),
    ("ncclBroadcast", RGBColor(213, 94, 0)),
    ("ncclReduce", RGBColor(240, 228, 66)),
    ("ncclSend", RGBColor(230, 159, 0)),
    ("ncclRecv", RGBColor(204, 121, 167)),
    (TRANSFERS, RGBColor(110, 110, 110)),
    ("other", BLACK),
];
const GRID: RGBColor = RGBColor(222, 222, 222);
const GROUND: RGBColor = RGBColor(246, 246, 246);

/// Returns the place of a region's colour.
fn colour(region: &str) -> usize {
    COLOURS.iter().position(|(name, _)| *name == region).unwrap_or(COLOURS.len() - 1)
}

/// Draws the picture as SVG.
///
/// # Errors
/// When the file cannot be written.
pub(crate) fn draw(path: &Path, timeline: &Timeline<'_>) -> Result<(), String> {
    let rows: usize = timeline.groups.iter().map(|group| group.rows.len()).sum();
    let height = TOP + HEADING * timeline.groups.len() as i32 + ROW * rows as i32 + AXIS;
    let area = SVGBackend::new(path, (WIDTH as u32, height as u32)).into_drawing_area();
    timeline.draw_on(&area, height - AXIS).map_err(|error| format!("{}: {error}", path.display()))
}

impl Timeline<'_> {
    fn draw_on(&self, area: &PictureArea<'_>, bottom: i32) -> Drawn {
        area.fill(&WHITE)?;
        write(area, self.title, (16, 24), 18, HPos::Left)?;
        self.axis(area, bottom)?;
        let mut seen = [false; COLOURS.len()];
        let mut y = TOP;
        for group in self.groups {
            write(area, &group.name, (16, y + HEADING / 2 + 2), 13, HPos::Left)?;
            y += HEADING;
            for row in &group.rows {
                self.row(area, row, y, &mut seen)?;
                y += ROW;
            }
        }
        legend(area, &seen)?;
        area.present()?;
        Ok(())
    }

    /// Returns the horizontal position of a time.
    fn x(&self, time: u64) -> i32 {
        let time = time.clamp(self.shown.start, self.shown.end) - self.shown.start;
        LEFT + (time as f64 / (self.shown.end - self.shown.start).max(1) as f64 * f64::from(RIGHT - LEFT)).round()
            as i32
    }

    fn axis(&self, area: &PictureArea<'_>, bottom: i32) -> Drawn {
        const MILLISECOND: u64 = 1_000_000;
        let longest = (self.shown.end - self.shown.start) / MILLISECOND;
        let step = [1, 2, 5, 10, 20, 50, 100, 200, 500].into_iter().find(|step| longest / step <= 15).unwrap_or(1000);
        let since = |time: u64| time.saturating_sub(self.zero).div_ceil(MILLISECOND);
        for millisecond in
            (since(self.shown.start)..=since(self.shown.end)).filter(|millisecond| millisecond % step == 0)
        {
            let time = self.zero + millisecond * MILLISECOND;
            if !self.shown.contains(&time) {
                continue;
            }
            let x = self.x(time);
            area.draw(&PathElement::new([(x, TOP), (x, bottom + 6)], GRID))?;
            write(area, &millisecond.to_string(), (x, bottom + 16), 12, HPos::Center)?;
        }
        write(area, "ms since the run's first callback", ((LEFT + RIGHT) / 2, bottom + 38), 12, HPos::Center)
    }

    fn row(&self, area: &PictureArea<'_>, row: &PictureRow, y: i32, seen: &mut [bool; COLOURS.len()]) -> Drawn {
        write(area, &row.name, (LEFT - 10, y + ROW / 2), 12, HPos::Right)?;
        let (top, bottom) = (y + (ROW - BAR) / 2, y + (ROW + BAR) / 2);
        area.draw(&Rectangle::new([(LEFT, top), (RIGHT, bottom)], GROUND.filled()))?;
        let mut last: Option<(i32, i32, usize)> = None;
        for bar in row.bars.iter().filter(|bar| bar.stop > self.shown.start && bar.start < self.shown.end) {
            let colour = colour(&bar.region);
            seen[colour] = true;
            let begin = self.x(bar.start);
            let next = (begin, self.x(bar.stop).max(begin + 1), colour);
            // bars that share pixels are drawn as one
            last = match last {
                Some((first, end, before)) if before == colour && next.0 <= end && bar.region == TRANSFERS => {
                    Some((first, end.max(next.1), colour))
                }
                Some(before) => {
                    fill(area, before, top, bottom)?;
                    Some(next)
                }
                None => Some(next),
            };
        }
        last.map_or(Ok(()), |last| fill(area, last, top, bottom))
    }
}

fn fill(area: &PictureArea<'_>, (begin, end, colour): (i32, i32, usize), top: i32, bottom: i32) -> Drawn {
    area.draw(&Rectangle::new([(begin, top), (end, bottom)], COLOURS[colour].1.filled()))?;
    Ok(())
}

/// Draws the legend of the colours that occur.
fn legend(area: &PictureArea<'_>, seen: &[bool; COLOURS.len()]) -> Drawn {
    let y = 56;
    let mut x = LEFT;
    for ((name, colour), _) in COLOURS.iter().zip(seen).filter(|(_, seen)| **seen) {
        area.draw(&Rectangle::new([(x, y - 6), (x + 18, y + 6)], colour.filled()))?;
        let text = if *name == TRANSFERS { "at least one transfer under way" } else { name };
        write(area, text, (x + 24, y), 13, HPos::Left)?;
        x += 24 + (text.len() as f64 * LETTER) as i32 + 20;
    }
    Ok(())
}

/// Writes a text whose line is vertically centred at `at`.
///
/// # Errors
/// When the picture cannot be written.
pub(crate) fn write(area: &PictureArea<'_>, text: &str, at: (i32, i32), size: i32, horizontal: HPos) -> Drawn {
    let style = TextStyle::from(("sans-serif", size).into_font()).pos(Pos::new(horizontal, VPos::Center));
    area.draw(&Text::new(text.to_owned(), at, style))?;
    Ok(())
}
