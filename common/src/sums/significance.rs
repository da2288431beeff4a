//! Chances of a difference that is none: of one test, and of many tests together.

/// Returns the chance of an F of `over` and `left` degrees of freedom that is at least as large. `over` is even, so the
/// incomplete beta function is a finite sum, of probabilities of the negative binomial distribution. `None` without
/// degrees of freedom, and if F is not a number.
pub(crate) fn chance_of_f(f: f64, over: u64, left: u64) -> Option<f64> {
    if over < 2 || left == 0 || f.is_nan() {
        return None;
    }
    if f <= 0.0 {
        return Some(1.0);
    }
    let (half, ratio) = (left as f64 / 2.0, over as f64 * f / left as f64);
    // in logarithms, since the factors of an addend may exceed the largest number and fall below the smallest one
    let mut addend = -half * ratio.ln_1p();
    let further = -ratio.recip().ln_1p();
    let mut sum = 0.0;
    for i in 0..over / 2 {
        sum += addend.exp();
        addend += ((half + i as f64) / (i + 1) as f64).ln() + further;
    }
    Some(sum.min(1.0)).filter(|chance| chance.is_finite())
}

/// Returns the largest chance of a test that shows a difference, if there is one. Of all that show one, the share of
/// those without a difference is at most `level` on average (Benjamini and Hochberg, J. R. Stat. Soc. B 57, 289, 1995).
/// If no test has a difference, one shows any with at most the chance `level`, however many tests there are.
pub(crate) fn largest_chance(chances: impl Iterator<Item = f64>, level: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = chances.collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let count = sorted.len() as f64;
    let mut shown = sorted.iter().enumerate().filter(|&(place, &chance)| chance < level * (place + 1) as f64 / count);
    shown.next_back().map(|(_, &chance)| chance)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chance_is_that_of_tables() {
        // the upper 5 % and 0.1 % points of F(2, 10), F(4, 20) and F(6, 30)
        for (f, over, left, expected) in [
            (4.103, 2, 10, 0.05),
            (14.905, 2, 10, 0.001),
            (2.866, 4, 20, 0.05),
            (7.096, 4, 20, 0.001),
            (2.421, 6, 30, 0.05),
        ] {
            let found = chance_of_f(f, over, left).unwrap();
            assert!((found / expected - 1.0).abs() < 0.01, "{found} instead of {expected}");
        }
        assert_eq!([chance_of_f(1.0, 2, 0), chance_of_f(f64::NAN, 2, 9)], [None; 2]);
        assert_eq!([0.0, f64::INFINITY].map(|f| chance_of_f(f, 2, 9)), [Some(1.0), Some(0.0)]);
    }

    /// 128 channels with 32,000 points.
    #[test]
    fn the_chance_of_many_points_is_a_number() {
        let chance = |f: f64| chance_of_f(f, 254, 31_744).unwrap();
        for f in [1.5, 10.0, 1e3, 1e6, 1e12, 1e300, f64::INFINITY] {
            let found = chance(f);
            assert!((0.0..1e-5).contains(&found), "{f}: {found}");
            assert_eq!(serde_json::from_str::<f64>(&serde_json::to_string(&found).unwrap()).unwrap(), found);
        }
        // F's median is near 1; its upper 0.1 % point by Wilson and Hilferty's cube root of chi-square, without left
        assert!((0.45..0.55).contains(&chance(1.0)), "{}", chance(1.0));
        assert!((0.0009..0.0013).contains(&chance(1.297)), "{}", chance(1.297));
    }

    #[test]
    fn many_tests_without_a_difference_seldom_show_one() {
        let mut random = fastrand::Rng::with_seed(1);
        let jobs = (0..1000).filter(|_| largest_chance((0..1000).map(|_| random.f64()), 0.001).is_some());
        let shown = jobs.count();
        assert!(shown < 6, "{shown} of 1000 jobs");
        // at a level of 0.1 the least five of ten would be below 0.01, 0.02, 0.03, 0.04 and 0.05: the third is not,
        // and the fourth is
        let some = [0.9, 0.001, 0.5, 0.02, 0.034, 0.039, 0.06, 0.7, 0.8, 1.0];
        assert_eq!(largest_chance(some.into_iter(), 0.1), Some(0.039));
        assert_eq!(largest_chance([0.0011, 0.5].into_iter(), 0.001), None);
        assert_eq!(
            [largest_chance([0.0].into_iter(), 0.001), largest_chance([].into_iter(), 0.001)],
            [Some(0.0), None]
        );
    }
}
