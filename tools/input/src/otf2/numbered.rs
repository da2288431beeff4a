//! Items that are numbered from 0; equal items share a number.

use std::collections::HashMap;
use std::hash::Hash;

use super::error::Otf2Error;

/// Distinct items in order of appearance; an item's number is its place.
pub(super) struct Numbered<T> {
    what: &'static str,
    items: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Clone + Eq + Hash> Numbered<T> {
    /// Returns an empty list; `what` names the items in the error for too many of them.
    pub(super) fn new(what: &'static str) -> Self {
        Self { what, items: Vec::new(), numbers: HashMap::new() }
    }

    /// Returns the number of `item`, and whether it is new.
    pub(super) fn number(&mut self, item: T) -> Result<(u32, bool), Otf2Error> {
        if let Some(&number) = self.numbers.get(&item) {
            return Ok((number, false));
        }
        let number = next_number(&self.items, self.what)?;
        self.items.push(item.clone());
        self.numbers.insert(item, number);
        Ok((number, true))
    }

    /// Returns all items with their numbers, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (0..).zip(&self.items)
    }
}

/// Returns the number of the item that is about to be pushed.
pub(super) fn next_number<T>(items: &[T], what: &'static str) -> Result<u32, Otf2Error> {
    // The highest number stands for "undefined" in OTF2.
    u32::try_from(items.len()).ok().filter(|&number| number != u32::MAX).ok_or(Otf2Error::TooMany(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_items_share_a_number() {
        let mut numbered = Numbered::new("words");
        assert_eq!(numbered.number("a").unwrap(), (0, true));
        assert_eq!(numbered.number("b").unwrap(), (1, true));
        assert_eq!(numbered.number("a").unwrap(), (0, false));
        assert_eq!(numbered.iter().collect::<Vec<_>>(), [(0, &"a"), (1, &"b")]);
    }
}
