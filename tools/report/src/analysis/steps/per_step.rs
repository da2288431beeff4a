//! Values by step, in bounded memory.

use crate::analysis::fold::Merge;

/// Number of values that are kept one by one.
const MAX_VALUES: usize = 100_000;

/// Values by step. Beyond 100,000 steps, the values of neighbours are put together: of two steps each, then of four.
#[derive(Debug, Clone)]
pub(crate) struct PerStep<T> {
    values: Vec<T>,
    /// Steps that have one value.
    pub(crate) together: u64,
}

impl<T> Default for PerStep<T> {
    fn default() -> Self {
        Self { values: vec![], together: 1 }
    }
}

impl<T: Merge + Default> PerStep<T> {
    /// Returns the value of the steps that this step is together with.
    pub(crate) fn value(&mut self, step: u64) -> &mut T {
        while step / self.together >= MAX_VALUES as u64 {
            let mut values = std::mem::take(&mut self.values).into_iter();
            while let Some(mut value) = values.next() {
                if let Some(next) = values.next() {
                    value.merge(next);
                }
                self.values.push(value);
            }
            self.together *= 2;
        }
        let place = (step / self.together) as usize;
        if place >= self.values.len() {
            self.values.resize_with(place + 1, T::default);
        }
        &mut self.values[place]
    }

    /// Returns the values of the first steps, as many as lie wholly among `steps`.
    pub(crate) fn first(&self, steps: u64) -> &[T] {
        let whole = usize::try_from(steps / self.together).unwrap_or(usize::MAX);
        self.values.get(..whole).unwrap_or(&self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_put_together() {
        let mut values: PerStep<u64> = PerStep::default();
        for step in 0..250_000 {
            *values.value(step) += step;
        }
        assert_eq!(values.together, 4);
        assert_eq!(values.first(250_000).len(), 62_500);
        assert_eq!(values.first(9), [1 + 2 + 3, 4 + 5 + 6 + 7]);
    }
}
