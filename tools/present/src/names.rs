//! Names of GPUs and communicators for people.

use report::answer::{Origin, Report, ReportedCommunicator};
use rustc_hash::FxHashMap;

/// Least number of first digits of a communicator's id, of 16; they distinguish the communicators of most jobs.
const DIGITS: usize = 8;

/// Largest number of letters of members that are in a communicator's name.
const MEMBERS: usize = 12;

/// The names of a report.
#[derive(Debug)]
pub(crate) struct ReportNames<'a> {
    gpus: &'a [String],
    communicators: FxHashMap<&'a str, String>,
    /// Number of first digits of ids that distinguishes the communicators without a name of their own.
    digits: usize,
}

impl<'a> ReportNames<'a> {
    /// Takes the names of a report.
    pub(crate) fn of(report: &'a Report) -> Self {
        let rows = report.communicators.known().map_or(&[][..], |communicators| &communicators.rows);
        let own = own_names(rows.iter().map(|made| (made.name.as_str(), made.members.as_str())));
        let named = || rows.iter().zip(&own);
        let nameless: Vec<&str> = named().filter(|of| of.1.is_none()).map(|of| of.0.comm.as_str()).collect();
        let digits = digits(&nameless);
        let text = |(made, own): (&ReportedCommunicator, &Option<String>)| {
            let name = own.clone().unwrap_or_else(|| first(&made.comm, digits).to_owned());
            match made.dimension.name.as_str() {
                "" | "unknown" => name,
                // the name may say no more than its dimension
                dimension if begins_with(&name, dimension) => format!("{dimension}{}", rest(&name, dimension.len())),
                dimension => format!("{dimension} {name}"),
            }
        };
        let communicators = named().map(|of| (of.0.comm.as_str(), text(of))).collect();
        Self { gpus: &report.gpus, communicators, digits }
    }

    /// Returns the number of GPUs.
    pub(crate) fn len(&self) -> usize {
        self.gpus.len()
    }

    /// Returns the names of all GPUs.
    pub(crate) fn all(&self) -> &'a [String] {
        self.gpus
    }

    /// Returns the name of the GPU at this place, if there is one.
    pub(crate) fn known(&self, place: usize) -> Option<&'a str> {
        self.gpus.get(place).map(String::as_str)
    }

    /// Returns the name of the GPU at this place.
    pub(crate) fn gpu(&self, place: usize) -> String {
        self.known(place).map_or_else(|| format!("GPU {place}"), str::to_owned)
    }

    /// Returns the names of neighbouring GPUs from this place on: one name, or the first and the last.
    pub(crate) fn gpus(&self, from: usize, number: usize) -> String {
        let last = (from + number).min(self.gpus.len()).saturating_sub(1);
        if last <= from { self.gpu(from) } else { format!("{} to {}", self.gpu(from), self.gpu(last)) }
    }

    /// Returns the communicator's dimension, if it is known, and its name, with its members if others have the same
    /// name, or else its id.
    pub(crate) fn communicator(&self, comm: &str) -> String {
        self.communicators.get(comm).cloned().unwrap_or_else(|| first(comm, self.digits).to_owned())
    }
}

/// Returns the own name of each communicator, by name and members: with the members where others have the same name,
/// and `None` where that does not distinguish it.
pub fn own_names<'a>(communicators: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> Vec<Option<String>> {
    let (mut by_name, mut by_members) = (FxHashMap::default(), FxHashMap::default());
    for made in communicators.clone() {
        *by_name.entry(made.0).or_insert(0_usize) += 1;
        *by_members.entry(made).or_insert(0_usize) += 1;
    }
    // frameworks give all groups of a dimension one name
    let own = |(name, members): (&str, &str)| match name {
        "" => None,
        name if by_name.get(name) == Some(&1) => Some(name.to_owned()),
        name => {
            let is_distinct = by_members.get(&(name, members)) == Some(&1);
            let is_short = (1..=MEMBERS).contains(&members.chars().count());
            (is_distinct && is_short).then(|| format!("{name} {members}"))
        }
    };
    communicators.map(own).collect()
}

/// Returns the number of first digits that distinguishes ids.
pub fn digits(ids: &[&str]) -> usize {
    (DIGITS..2 * DIGITS).find(|digits| are_distinct(ids, *digits)).unwrap_or(2 * DIGITS)
}

/// Returns where a dimension is from.
pub(crate) fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::File => "file",
        Origin::Name => "name",
        Origin::Guessed => "guessed",
        Origin::Unknown => "unknown",
    }
}

/// Returns whether the first word of a name is this dimension, in letters of any size.
fn begins_with(name: &str, dimension: &str) -> bool {
    name.split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case(dimension))
}

/// Returns a name without its first letters.
fn rest(name: &str, letters: usize) -> &str {
    name.get(letters..).unwrap_or_default()
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
    use crate::sample::sample;
    use report::answer::{Communicators, Dimension, Part};

    #[test]
    fn communicators_have_their_dimension_and_name_or_enough_digits_of_their_id() {
        let made = |comm: &str, name: &str, dimension: &str| ReportedCommunicator {
            comm: comm.to_owned(),
            name: name.to_owned(),
            dimension: Dimension { name: dimension.to_owned(), ..Dimension::default() },
            ..ReportedCommunicator::default()
        };
        let rows = vec![
            made("00000000aaaa0001", "", "unknown"),
            made("00000000aaab0002", "", "TP"),
            made("00000000aaab0003", "dp_group", "DP"),
            made("00000000aaab0004", "plain", ""),
            ReportedCommunicator { members: "0-7".into(), ..made("00000000bbbb0005", "tp", "TP") },
            ReportedCommunicator { members: "8-15".into(), ..made("00000000bbbb0006", "tp", "TP") },
            ReportedCommunicator { members: "0,8,16,24,32,40".into(), ..made("00000000cccc0007", "cp", "CP") },
            made("00000000dddd0008", "cp", "CP"),
        ];
        let report = Report { communicators: Part::Known(Communicators { rows }), ..sample(1) };
        let names = ReportNames::of(&report);
        let of = |digits: &str| names.communicator(&format!("00000000{digits}"));
        let texts = ["aaaa0001", "aaab0002", "aaab0003", "aaab0004", "ffff0000"].map(of);
        assert_eq!(texts, ["00000000aaaa", "TP 00000000aaab", "DP dp_group", "plain", "00000000ffff"]);
        let shared = ["bbbb0005", "bbbb0006", "cccc0007", "dddd0008"].map(of);
        assert_eq!(shared, ["TP 0-7", "TP 8-15", "CP 00000000cccc", "CP 00000000dddd"]);
    }

    #[test]
    fn neighbouring_gpus_are_named_by_the_first_and_the_last() {
        let report = sample(6);
        let names = ReportNames::of(&report);
        assert_eq!(
            [names.gpus(0, 4), names.gpus(4, 4), names.gpus(5, 4)],
            ["rank 0 to rank 3", "rank 4 to rank 5", "rank 5"]
        );
        assert_eq!(names.gpu(9), "GPU 9", "a place without a name");
    }
}
