//! Pairs that are slow among their like.
//!
//! The robust z of a rate is its distance from the median over 1.4826 times the median distance (MAD), which is the
//! standard deviation of normally distributed rates. Where more than half of the rates are alike the MAD is 0: the
//! deviation counts as 1 % of the median at least.

use crate::answer::Pair;
use std::collections::BTreeMap;

/// Fewest pairs of a class that have a z.
const FEWEST: usize = 4;
/// Pairs with a z below this are slow.
const SLOW: f64 = -3.0;
/// Standard deviation of a normal distribution over its MAD.
const DEVIATION: f64 = 1.4826;
/// Least deviation, over the median.
const LEAST: f64 = 0.01;

/// Marks the slow pairs of each class. A class is judged by its typical rates if all of its pairs have one, else by the
/// sustained rates: the two are never compared.
pub(super) fn mark(rows: &mut [Pair]) {
    let mut classes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| row.sustained.is_some()) {
        classes.entry(row.class.clone()).or_default().push(place);
    }
    for places in classes.values().filter(|places| places.len() >= FEWEST) {
        let of = |rate: fn(&Pair) -> Option<f64>| -> Option<Vec<f64>> {
            places.iter().map(|&place| rows.get(place).and_then(rate)).collect()
        };
        let Some(rates) = of(|row| row.typical).or_else(|| of(|row| row.sustained)) else { continue };
        for (&place, z) in places.iter().zip(robust_z(&rates)) {
            if let Some(row) = rows.get_mut(place) {
                row.z = z;
                row.slow = z.is_some_and(|z| z < SLOW);
            }
        }
    }
}

/// Returns the robust z of each number; `None` where all are 0.
fn robust_z(values: &[f64]) -> Vec<Option<f64>> {
    let middle = median(values.to_vec());
    let distance = median(values.iter().map(|value| (value - middle).abs()).collect());
    let deviation = (DEVIATION * distance).max(LEAST * middle.abs());
    values.iter().map(|value| (deviation > 0.0).then(|| (value - middle) / deviation)).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = |place: usize| values.get(place).copied().unwrap_or(0.0);
    match values.len() {
        0 => 0.0,
        count if count % 2 == 1 => at(count / 2),
        count => (at(count / 2 - 1) + at(count / 2)) / 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::robust_z;

    #[test]
    fn a_z_is_the_distance_in_deviations() {
        // median 10, MAD 1
        let z = robust_z(&[8.0, 9.0, 10.0, 11.0, 12.0]);
        assert_eq!(z[0], Some(-2.0 / 1.4826));
        assert_eq!(z[2], Some(0.0));
    }

    #[test]
    fn equal_rates_have_a_deviation_of_one_percent() {
        let z = robust_z(&[10.0, 10.0, 10.0, 9.8, 9.6]);
        assert!((z[3].unwrap() + 2.0).abs() < 1e-9 && (z[4].unwrap() + 4.0).abs() < 1e-9, "{z:?}");
        assert_eq!(robust_z(&[0.0; 4]), [None; 4]);
    }
}
