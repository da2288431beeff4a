//! Figures of a list of lengths.

use crate::analysis::robust::{median_of, spread};
use crate::answer::LengthShift;

/// Steps whose medians are compared for shifts.
const WINDOW_STEPS: usize = 10;
/// Least change of the median that is a shift.
const MIN_SHIFT: f64 = 0.1;

/// Returns the places of values above median + 3 x 1.4826 x MAD.
pub(super) fn outliers(values: &[f64]) -> Vec<usize> {
    let [middle, deviation] = spread(values);
    let limit = middle + 3.0 * deviation;
    // equal lengths differ in their last digits
    (0..values.len()).filter(|&at| values[at] > limit * (1.0 + 1e-9)).collect()
}

/// Number of later steps that show that a step is an outlier.
const MIN_LATER_STEPS: usize = 5;

/// Returns how many values at the beginning are of the warm-up: larger than twice the median, or than 1.2 times the
/// median and 1.1 times every later one.
pub(super) fn warm_up(values: &[f64]) -> usize {
    let median = median_of(values.iter().copied());
    let largest_behind = |place: usize| values.iter().skip(place + 1).copied().fold(0.0, f64::max);
    let has_enough = |place: usize| values.len() > place + MIN_LATER_STEPS;
    let stands_out =
        |place: usize, value: f64| has_enough(place) && value > 1.2 * median && value > 1.1 * largest_behind(place);
    let is_of_it = |(place, value): (usize, f64)| value > 2.0 * median || stands_out(place, value);
    values.iter().copied().enumerate().take_while(|&step| is_of_it(step)).count()
}

/// A place, and the medians before and after it.
type LengthChange = (usize, f64, f64);

/// Returns the changes of the median of 10 steps. Of neighbouring changes that come from one shift it is the largest,
/// and the middle one of equals.
pub(super) fn shifts(values: &[f64]) -> Vec<LengthShift> {
    let mut shifts = vec![];
    // the largest change of the present stretch, and the places that have it
    let mut largest: Option<(f64, Vec<LengthChange>)> = None;
    for at in WINDOW_STEPS..=values.len().saturating_sub(WINDOW_STEPS) {
        let [from, to] = [&values[at - WINDOW_STEPS..at], &values[at..at + WINDOW_STEPS]]
            .map(|part| median_of(part.iter().copied()));
        let change = if from > 0.0 { (to / from - 1.0).abs() } else { 0.0 };
        if change > MIN_SHIFT {
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
