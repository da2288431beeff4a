//! Sums by key. A listener that keeps sums states its key, its value, and its part of the answer.
//!
//! Whole numbers stop at the largest one that there is. Numbers with a point are added in the order of the stream.

use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::hash::Hash;

/// A value that takes in another one of its kind.
pub trait Merge {
    /// Takes in another one.
    fn merge(&mut self, other: Self);
}

/// Implements [`Merge`] for types that have a function of two values.
macro_rules! merge_by {
    ($($number:ty: $merged:expr),+) => {$(
        impl Merge for $number {
            #[inline]
            fn merge(&mut self, other: Self) {
                *self = $merged(*self, other);
            }
        }
    )+};
}

merge_by!(u64: u64::saturating_add, i64: i64::saturating_add, f64: std::ops::Add::add, bool: std::ops::BitOr::bitor);

/// The largest of some values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Largest<T>(pub(crate) T);

impl<T: Ord + Copy> Merge for Largest<T> {
    fn merge(&mut self, other: Self) {
        self.0 = self.0.max(other.0);
    }
}

impl<T: Merge> Merge for Vec<T> {
    /// Merges values of one place.
    fn merge(&mut self, other: Self) {
        for (place, value) in other.into_iter().enumerate() {
            match self.get_mut(place) {
                Some(own) => own.merge(value),
                None => self.push(value),
            }
        }
    }
}

impl<T: Merge, const N: usize> Merge for [T; N] {
    fn merge(&mut self, other: Self) {
        self.iter_mut().zip(other).for_each(|(own, value)| own.merge(value));
    }
}

impl<K: Ord, V: Merge + Default> Merge for BTreeMap<K, V> {
    /// Merges values of one key.
    fn merge(&mut self, other: Self) {
        other.into_iter().for_each(|(key, value)| self.entry(key).or_default().merge(value));
    }
}

/// Implements [`Merge`] for structures, field by field. All fields are named.
macro_rules! merge_fields {
    ($($type:ty: $($field:ident),+;)+) => {$(
        impl $crate::analysis::fold::Merge for $type {
            fn merge(&mut self, other: Self) {
                let Self { $($field),+ } = other;
                $($crate::analysis::fold::Merge::merge(&mut self.$field, $field);)+
            }
        }
    )+};
}
pub(crate) use merge_fields;

/// Values by key. Keys for which there is no room share one value.
#[derive(Debug, Clone)]
pub(crate) struct Keyed<K, V, const MAX_KEYS: usize> {
    by_key: FxHashMap<K, V>,
    /// The value of the keys without room.
    pub(crate) others: V,
}

impl<K, V: Default, const MAX_KEYS: usize> Default for Keyed<K, V, MAX_KEYS> {
    fn default() -> Self {
        Self { by_key: FxHashMap::default(), others: V::default() }
    }
}

impl<K: Eq + Hash + Ord, V: Default + Clone, const MAX_KEYS: usize> Keyed<K, V, MAX_KEYS> {
    pub(crate) fn value(&mut self, key: K) -> &mut V {
        let has_room = self.by_key.len() < MAX_KEYS || self.by_key.contains_key(&key);
        if has_room { self.by_key.entry(key).or_default() } else { &mut self.others }
    }

    /// Returns the value of a key for which there is always room.
    pub(crate) fn reserved(&mut self, key: K) -> &mut V {
        self.by_key.entry(key).or_default()
    }

    /// Returns whether no key has a value of its own.
    pub(crate) fn is_empty(&self) -> bool {
        self.by_key.is_empty()
    }

    /// Takes out the values of some keys. The value of the keys without room is in both parts.
    pub(crate) fn split_off(&mut self, is_taken: impl Fn(&K) -> bool) -> Self {
        Self { by_key: self.by_key.extract_if(|key, _| is_taken(key)).collect(), others: self.others.clone() }
    }

    /// Returns the values in the order of their keys.
    pub(crate) fn into_sorted(self) -> Vec<(K, V)> {
        let mut sorted: Vec<(K, V)> = self.by_key.into_iter().collect();
        sorted.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        sorted
    }
}
