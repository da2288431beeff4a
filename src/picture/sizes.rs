//! An axis of sizes in bytes, with marks at round sizes.

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// Largest number of steps between marks.
const STEPS: i32 = 10;

/// The axis' range of sizes, bytes.
pub(super) struct Sizes(pub(super) Range<f64>);

impl Ranged for Sizes {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, size: &f64, limit: (i32, i32)) -> i32 {
        RangedCoordf64::from(self.0.clone()).map(size, limit)
    }

    /// Returns multiples of a power of two.
    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        let step = (self.0.end / f64::from(STEPS)).max(1.0).log2().ceil().exp2();
        (0..=STEPS).map(|number| f64::from(number) * step).filter(|size| self.0.contains(size)).collect()
    }

    fn range(&self) -> Range<f64> {
        self.0.clone()
    }
}

impl ValueFormatter<f64> for Sizes {
    /// Formats a size in the largest unit in which it is a whole number.
    fn format(size: &f64) -> String {
        let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        let whole = units.into_iter().find(|&(unit, _)| *size > 0.0 && size % f64::from(unit) == 0.0);
        whole.map_or_else(|| format!("{size:.0} B"), |(unit, name)| format!("{:.0} {name}", size / f64::from(unit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plotters::coord::ranged1d::BoldPoints;

    #[test]
    fn marks_are_round() {
        let marks = |largest: f64| {
            let points = Sizes(0.0..largest * 1.02).key_points(BoldPoints(11));
            points.iter().map(Sizes::format).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(marks(524_288.0), "0 B 64 KiB 128 KiB 192 KiB 256 KiB 320 KiB 384 KiB 448 KiB 512 KiB");
        assert_eq!(marks(5e6), "0 B 512 KiB 1 MiB 1536 KiB 2 MiB 2560 KiB 3 MiB 3584 KiB 4 MiB 4608 KiB");
        assert_eq!(marks(3.0), "0 B 1 B 2 B 3 B");
    }
}
