//! Straight lines between callbacks and enqueues: if two clocks run evenly, their relation is one of them.

use super::lowest::{Lowest, LowestPoint};

/// Steps of a search. Each one leaves two thirds or half of the interval.
const STEPS: usize = 64;

/// The closest pairs of one clock, from both sides: stamps and ticks from an origin on.
#[derive(Debug)]
pub(super) struct Sides {
    callbacks: Vec<(f64, f64)>,
    enqueues: Vec<(f64, f64)>,
}

impl Sides {
    /// Takes the pairs of both sides; the enqueues are mirrored. `None` if one side has none.
    pub(super) fn new(callbacks: &Lowest, enqueues: &Lowest) -> Option<Self> {
        let origin = *callbacks.anchors().first()?;
        enqueues.anchors().first()?;
        let mirror = |&LowestPoint { stamp, ticks }: &LowestPoint| LowestPoint { stamp: !stamp, ticks: !ticks };
        Some(Self {
            callbacks: callbacks.anchors().iter().map(|anchor| anchor.since(origin)).collect(),
            enqueues: enqueues.anchors().iter().map(|anchor| mirror(anchor).since(origin)).collect(),
        })
    }

    /// Returns how many ticks apart the lines of a rate are that lie closest to either side: the highest one below all
    /// callbacks, and the lowest one above all enqueues. Negative if no line of that rate lies between the sides. A
    /// concave function of the rate.
    pub(super) fn room(&self, rate: f64) -> f64 {
        let above = |&(stamps, ticks): &(f64, f64)| ticks - stamps * rate;
        let highest = self.callbacks.iter().map(above).fold(f64::INFINITY, f64::min);
        let lowest = self.enqueues.iter().map(above).fold(f64::NEG_INFINITY, f64::max);
        highest - lowest
    }

    /// Returns the stamps over which both sides have pairs.
    pub(super) fn length(&self) -> f64 {
        let ends = |side: &[(f64, f64)]| {
            side.iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], &(stamps, _)| {
                [low.min(stamps), high.max(stamps)]
            })
        };
        let [callbacks, enqueues] = [&self.callbacks, &self.enqueues].map(|side| ends(side));
        callbacks[1].min(enqueues[1]) - callbacks[0].max(enqueues[0])
    }
}

/// Returns the least, the likeliest and the most ticks per stamp, between `least` and `most`, of straight lines between
/// the sides of each of the clocks, which run at one rate. `None` if there are no such lines. The likeliest rate is that
/// with most room for them, because both sides are late by chance.
pub(super) fn rates(clocks: &[Sides], [least, most]: [f64; 2]) -> Option<[f64; 3]> {
    let fits = |rate: f64| clocks.iter().all(|sides| sides.room(rate) >= 0.0);
    let room = |rate: f64| clocks.iter().map(|sides| sides.room(rate)).sum::<f64>();
    let (mut low, mut high) = (least, most);
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        if room(low + third) < room(high - third) {
            low += third;
        } else {
            high -= third;
        }
    }
    let likeliest = low.midpoint(high);
    (!clocks.is_empty() && fits(likeliest))
        .then(|| [edge(likeliest, least, fits), likeliest, edge(likeliest, most, fits)])
}

/// Returns the last rate from `inside` towards `end` that fits.
fn edge(inside: f64, end: f64, fits: impl Fn(f64) -> bool) -> f64 {
    if fits(end) {
        return end;
    }
    let (mut inside, mut outside) = (inside, end);
    for _ in 0..STEPS {
        let middle = inside.midpoint(outside);
        *(if fits(middle) { &mut inside } else { &mut outside }) = middle;
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use fastrand::Rng;

    /// A clock that gains 7 ppm, over `seconds`, with pairs each millisecond. Callbacks are late by 1 us at least, and
    /// enqueues early by 3 us at least.
    fn sides(seconds: u64, late: u64) -> Sides {
        let mut random = Rng::with_seed(5);
        let [mut callbacks, mut enqueues] = [Lowest::default(), Lowest::default()];
        for time in (0..seconds * 1000).map(|number| number * 1_000_000) {
            let stamp = 1_000_000_000 + time + time * 7 / 1_000_000;
            callbacks.add(LowestPoint { stamp, ticks: 5_001_000 + time + random.u64(..=late) });
            enqueues.add(LowestPoint { stamp: !stamp, ticks: !(4_997_000 + time - random.u64(..=late)) });
        }
        Sides::new(&callbacks, &enqueues).unwrap()
    }

    #[test]
    fn clocks_that_run_evenly_show_their_rate() {
        for late in [0, 50_000] {
            let [least, likeliest, most] = rates(&[sides(5, late)], [0.9999, 1.0001]).unwrap();
            let true_rate = 1.0 / 1.000_007;
            assert!(least <= true_rate && true_rate <= most && most - least < 3e-6, "{least} {most}");
            assert!((likeliest - true_rate).abs() < 0.5e-6, "{likeliest}");
        }
    }

    #[test]
    fn clocks_of_one_timer_share_their_rate() {
        let [least, _, most] = rates(&[sides(5, 0), sides(1, 0)], [0.9999, 1.0001]).unwrap();
        let [least_alone, _, most_alone] = rates(&[sides(5, 0)], [0.9999, 1.0001]).unwrap();
        assert!((least - least_alone).abs() < 1e-12 && (most - most_alone).abs() < 1e-12);
    }

    #[test]
    fn no_line_lies_between_sides_that_cross() {
        let mut crossed = sides(5, 0);
        crossed.enqueues.push((2.5e9, 2.6e9));
        assert!(rates(&[crossed], [0.9999, 1.0001]).is_none());
        assert!(rates(&[], [0.9999, 1.0001]).is_none());
        assert!(Sides::new(&Lowest::default(), &Lowest::default()).is_none());
    }
}
