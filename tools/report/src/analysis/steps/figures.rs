//! Figures of a list of lengths.

use crate::answer::LengthShift;

/// Factor that makes the median absolute deviation of normally distributed values their standard deviation.
const NORMAL: f64 = 1.4826;
/// Steps whose medians are compared for shifts.
const WINDOW: usize = 10;
/// Least change of the median that is a shift.
const SHIFT: f64 = 0.1;

/// Returns the median; 0 of an empty list.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    let at = |place: usize| sorted.get(place).copied().unwrap_or(0.0);
    match sorted.len() {
        0 => 0.0,
        count if count % 2 == 1 => at(count / 2),
        count => (at(count / 2 - 1) + at(count / 2)) / 2.0,
    }
}

/// Returns the smallest value that at least this share of the values do not exceed; 0 of an empty list.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let rank = (share * values.len() as f64).ceil() as usize;
    sorted(values).get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns the places of values above median + 3 x 1.4826 x MAD.
pub(super) fn outliers(values: &[f64]) -> Vec<usize> {
    let middle = median(values);
    let deviations: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let limit = middle + 3.0 * NORMAL * median(&deviations);
    // equal lengths differ in their last digits
    (0..values.len()).filter(|&at| values[at] > limit * (1.0 + 1e-9)).collect()
}

/// Number of later steps that show that a step stands out.
const ENOUGH: usize = 5;

/// Returns how many values at the beginning are of the warm-up: larger than twice the median, or than 1.2 times the
/// median and 1.1 times every later one.
pub(super) fn warm_up(values: &[f64]) -> usize {
    let median = median(values);
    let largest_behind = |place: usize| values.iter().skip(place + 1).copied().fold(0.0, f64::max);
    let has_enough = |place: usize| values.len() > place + ENOUGH;
    let stands_out =
        |place: usize, value: f64| has_enough(place) && value > 1.2 * median && value > 1.1 * largest_behind(place);
    let is_of_it = |(place, value): (usize, f64)| value > 2.0 * median || stands_out(place, value);
    values.iter().copied().enumerate().take_while(|&step| is_of_it(step)).count()
}

/// A place, and the medians before and behind it.
type LengthChange = (usize, f64, f64);

/// Returns the changes of the median of 10 steps. Of neighbouring changes that come from one shift it is the largest,
/// and the middle one of equals.
pub(super) fn shifts(values: &[f64]) -> Vec<LengthShift> {
    let mut shifts = vec![];
    // the largest change of the present stretch, and the places that have it
    let mut largest: Option<(f64, Vec<LengthChange>)> = None;
    for at in WINDOW..=values.len().saturating_sub(WINDOW) {
        let (from, to) = (median(&values[at - WINDOW..at]), median(&values[at..at + WINDOW]));
        let change = if from > 0.0 { (to / from - 1.0).abs() } else { 0.0 };
        if change > SHIFT {
            match &mut largest {
                Some((most, places)) if (change - *most).abs() < 1e-9 => places.push((at, from, to)),
                Some((most, _)) if change < *most => {}
                _ => largest = Some((change, vec![(at, from, to)])),
            }
        } else if let Some((_, places)) = largest.take() {
            shifts.extend(middle(&places));
        }
    }
    shifts.extend(largest.and_then(|(_, places)| middle(&places)));
    shifts
}

fn middle(places: &[LengthChange]) -> Option<LengthShift> {
    let (step, from, to) = *places.get(places.len() / 2)?;
    Some(LengthShift { step: step as u64, from_us: from, to_us: to })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_known_lists() {
        assert_eq!((median(&[]), median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (0.0, 2.0, 2.5));
        let hundred: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!((quantile(&hundred, 0.99), quantile(&hundred, 0.95), quantile(&[7.0], 0.99)), (99.0, 95.0, 7.0));
        // median 10, MAD 1: the limit is 14.4478
        assert_eq!(outliers(&[9.0, 10.0, 11.0, 9.0, 11.0, 10.0, 10.0, 14.4, 14.5]), [8]);
        assert_eq!(warm_up(&[50.0, 30.0, 10.0, 40.0, 10.0, 10.0, 10.0]), 2);
        assert_eq!(warm_up(&[13.5, 12.1, 10.0, 10.9, 10.0, 10.0, 10.0]), 2);
        assert_eq!(warm_up(&[16.0, 10.0]), 0, "too few");
        assert_eq!(warm_up(&[13.5, 10.0, 10.0, 12.4, 10.0, 10.0, 10.0]), 0, "another one is nearly as long");
    }

    #[test]
    fn a_shift_is_where_the_length_changes() {
        let lengths = |shift: f64| (0..100).map(move |step| if step < 60 { 100.0 } else { shift }).collect::<Vec<_>>();
        let [up] = &shifts(&lengths(120.0))[..] else { panic!("one shift") };
        assert_eq!((up.step, up.from_us, up.to_us), (60, 100.0, 120.0));
        let [down] = &shifts(&lengths(80.0))[..] else { panic!("one shift") };
        assert_eq!((down.step, down.to_us), (60, 80.0));
        assert_eq!(shifts(&lengths(109.0)), []);
        let mut single = lengths(100.0);
        single[30] = 1000.0;
        assert_eq!(shifts(&single), []);
        assert_eq!(shifts(&[1.0; 15]), []);
    }
}
