//! Pairs that are slow among their like.
//!
//! The robust z of a rate is its distance from the median over 1.4826 times the median distance (MAD), which is the
//! standard deviation of normally distributed rates. Where more than half of the rates are alike the MAD is 0: the
//! deviation counts as 1 % of the median at least.

use crate::analysis::steps::median;
use crate::answer::Pair;
use std::collections::BTreeMap;

/// Fewest pairs of a class that have a z.
const FEWEST: usize = 4;
/// Fewest transfers or messages of a pair whose rate is compared: a few may all be the first ones, which take longer.
const TRANSFERS: u64 = 5;
/// Pairs with a z below this are slow.
const SLOW: f64 = -3.0;
/// Standard deviation of a normal distribution over its MAD.
const DEVIATION: f64 = 1.4826;
/// Least deviation, over the median.
const LEAST: f64 = 0.01;

/// Marks the slow pairs of each class. Pairs of a class with transfers over the network are judged by their typical
/// rates if all have one, else by the sustained rates. Without a network, they are judged by the rates of lone
/// messages, among pairs whose messages have the same binary logarithm of their mean bytes. Different rates are never
/// compared.
pub(super) fn mark(rows: &mut [Pair]) {
    let mut classes: BTreeMap<(String, Option<u32>), Vec<usize>> = BTreeMap::new();
    let mut networked: Vec<&str> = rows.iter().filter(|row| row.sustained.is_some()).map(|row| &*row.class).collect();
    networked.sort_unstable();
    networked.dedup();
    let are_enough = |row: &Pair| row.transfers.max(row.messages) >= TRANSFERS;
    for (place, row) in rows.iter().enumerate().filter(|(_, row)| are_enough(row)) {
        let size = row.message_bytes.checked_div(row.messages).and_then(u64::checked_ilog2);
        let key = match networked.binary_search(&row.class.as_str()) {
            Ok(_) => row.sustained.map(|_| None),
            Err(_) => row.lone.map(|_| size),
        };
        if let Some(size) = key {
            classes.entry((row.class.clone(), size)).or_default().push(place);
        }
    }
    for places in classes.values().filter(|places| places.len() >= FEWEST) {
        let of = |rate: fn(&Pair) -> Option<f64>| -> Option<Vec<f64>> {
            places.iter().map(|&place| rows.get(place).and_then(rate)).collect()
        };
        let rates = of(|row| row.typical).or_else(|| of(|row| row.sustained)).or_else(|| of(|row| row.lone));
        for (&place, z) in places.iter().zip(robust_z(&rates.unwrap_or_default())) {
            if let Some(row) = rows.get_mut(place) {
                row.z = z;
                row.slow = z.is_some_and(|z| z < SLOW);
            }
        }
    }
}

/// Returns the robust z of each number; `None` where all are 0.
fn robust_z(values: &[f64]) -> Vec<Option<f64>> {
    let middle = median(values);
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let distance = median(&distances);
    let deviation = (DEVIATION * distance).max(LEAST * middle.abs());
    values.iter().map(|value| (deviation > 0.0).then(|| (value - middle) / deviation)).collect()
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
