//! Names of GPUs and communicators for people.

use crate::answer::{Made, Report};
use rustc_hash::FxHashMap;

/// Least number of first digits of a communicator's id, of 16; they distinguish the communicators of most jobs.
const DIGITS: usize = 8;

/// The names of a report.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    gpus: &'a [String],
    communicators: FxHashMap<&'a str, &'a Made>,
    /// Number of first digits of ids that distinguishes the communicators without a name.
    digits: usize,
}

impl<'a> Names<'a> {
    /// Takes the names of a report.
    pub(crate) fn of(report: &'a Report) -> Self {
        let rows = report.communicators.known().map_or(&[][..], |communicators| &communicators.rows);
        let communicators: FxHashMap<_, _> = rows.iter().map(|made| (made.comm.as_str(), made)).collect();
        let nameless: Vec<&str> =
            rows.iter().filter(|made| made.name.is_empty()).map(|made| made.comm.as_str()).collect();
        let digits = (DIGITS..2 * DIGITS).find(|digits| are_distinct(&nameless, *digits)).unwrap_or(2 * DIGITS);
        Self { gpus: &report.gpus, communicators, digits }
    }

    /// Returns the name of the GPU at this place.
    pub(crate) fn gpu(&self, place: usize) -> String {
        self.gpus.get(place).cloned().unwrap_or_else(|| format!("GPU {place}"))
    }

    /// Returns the names of neighbouring GPUs from this place on: one name, or the first and the last.
    pub(crate) fn gpus(&self, from: usize, number: usize) -> String {
        let last = (from + number).min(self.gpus.len()).saturating_sub(1);
        if last <= from { self.gpu(from) } else { format!("{} to {}", self.gpu(from), self.gpu(last)) }
    }

    /// Returns the communicator's dimension, if it is known, and its name, or else its id.
    pub(crate) fn communicator(&self, comm: &str) -> String {
        let Some(made) = self.communicators.get(comm) else { return first(comm, self.digits).to_owned() };
        let name = if made.name.is_empty() { first(comm, self.digits) } else { &made.name };
        match made.dimension.name.as_str() {
            "" | "unknown" => name.to_owned(),
            dimension => format!("{dimension} {name}"),
        }
    }
}

/// Returns the first digits of an id.
fn first(id: &str, digits: usize) -> &str {
    id.get(..digits).unwrap_or(id)
}

/// Returns whether ids differ in their first digits.
fn are_distinct(ids: &[&str], digits: usize) -> bool {
    let mut short: Vec<&str> = ids.iter().map(|id| first(id, digits)).collect();
    short.sort_unstable();
    short.dedup();
    short.len() == ids.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::sample::sample;
    use crate::answer::{Communicators, Dimension, Part};

    #[test]
    fn communicators_have_their_dimension_and_name_or_enough_digits_of_their_id() {
        let made = |comm: &str, name: &str, dimension: &str| Made {
            comm: comm.to_owned(),
            name: name.to_owned(),
            dimension: Dimension { name: dimension.to_owned(), ..Dimension::default() },
            ..Made::default()
        };
        let rows = vec![
            made("00000000aaaa0001", "", "unknown"),
            made("00000000aaab0002", "", "TP"),
            made("00000000aaab0003", "dp_group", "DP"),
            made("00000000aaab0004", "plain", ""),
        ];
        let report = Report { communicators: Part::Known(Communicators { rows }), ..sample(1) };
        let names = Names::of(&report);
        let of = |digits: &str| names.communicator(&format!("00000000{digits}"));
        let texts = ["aaaa0001", "aaab0002", "aaab0003", "aaab0004", "ffff0000"].map(of);
        assert_eq!(texts, ["00000000aaaa", "TP 00000000aaab", "DP dp_group", "plain", "00000000ffff"]);
    }

    #[test]
    fn neighbouring_gpus_are_named_by_the_first_and_the_last() {
        let report = sample(6);
        let names = Names::of(&report);
        assert_eq!(
            [names.gpus(0, 4), names.gpus(4, 4), names.gpus(5, 4)],
            ["rank 0 to rank 3", "rank 4 to rank 5", "rank 5"]
        );
        assert_eq!(names.gpu(9), "GPU 9", "a place without a name");
    }
}
