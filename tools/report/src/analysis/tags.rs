//! The operations by the user's tags. Between two operations of a tag, others may lie: no time here is of two.

use super::fold::Keyed;
use super::speed::OccurrenceFunction;
use crate::answer::{Part, TaggedOperations, Tags};
use crate::job::Job;
use crate::stream::{CallTags, Listener, Occurrence};
use std::cmp::Reverse;

/// Listens for the operations of tags.
#[derive(Debug, Default)]
pub struct TagSums {
    /// By tag; 0 for none.
    by_tag: Keyed<u64, TagSum, { Tags::MAX_ROWS }>,
}

/// Sums of operations. Durations are nanoseconds.
#[derive(Debug, Clone, Default)]
struct TagSum {
    functions: Vec<OccurrenceFunction>,
    operations: u64,
    bytes: u64,
    timed: u64,
    durations: u64,
}

impl TagSum {
    fn add(&mut self, function: OccurrenceFunction, (operations, bytes): (u64, u64), duration: Option<u64>) {
        if !self.functions.contains(&function) {
            self.functions.push(function);
        }
        self.operations += operations;
        self.bytes = self.bytes.saturating_add(bytes);
        if let Some(duration) = duration {
            self.timed += operations;
            self.durations = self.durations.saturating_add(duration);
        }
    }

    fn row(self, tag: String) -> TaggedOperations {
        let mut functions: Vec<String> = self.functions.into_iter().map(OccurrenceFunction::text).collect();
        functions.sort_unstable();
        TaggedOperations {
            tag,
            functions,
            operations: self.operations,
            bytes: self.bytes,
            timed: self.timed,
            time_us: (self.timed > 0).then_some(self.durations as f64 / 1e3),
        }
    }
}

impl TagSums {
    /// Returns the sum that a tag belongs to. Operations without a tag always have one of their own.
    fn sum(&mut self, tag: u64) -> &mut TagSum {
        if tag == 0 { self.by_tag.reserved(tag) } else { self.by_tag.value(tag) }
    }

    /// Returns the part of the answer.
    pub fn finish(self) -> Part<Tags> {
        let others = Some(self.by_tag.others.clone()).filter(|sum| sum.operations > 0);
        let mut sums = self.by_tag.into_sorted();
        if sums.iter().all(|(tag, _)| *tag == 0) {
            return Part::Absent("No operation of the report has a tag (userTag, NCCL 2.31 and later).".into());
        }
        sums.sort_by_key(|(tag, sum)| (Reverse((sum.bytes, sum.operations)), *tag));
        let name = |tag: u64| if tag == 0 { Tags::NONE.to_owned() } else { tag.to_string() };
        let others = others.map(|sum| sum.row(Tags::OTHERS.into()));
        Part::Known(Tags { rows: sums.into_iter().map(|(tag, sum)| sum.row(name(tag))).chain(others).collect() })
    }
}

impl Listener for TagSums {
    fn occurrence(&mut self, _job: &Job, occurrence: &Occurrence) {
        let Some(function) = OccurrenceFunction::of_occurrence(occurrence) else { return };
        // a kernel's time is that of all of its operations
        let is_grouped = occurrence.parts.iter().any(|part| part.call.is_fused);
        for call in occurrence.parts.iter().map(|part| &part.call) {
            match &call.tags {
                CallTags::One(tag) => {
                    let is_timed = !is_grouped && call.source.is_gpu() && call.duration > 0;
                    self.sum(*tag).add(function, call.operations(), is_timed.then_some(call.duration));
                }
                CallTags::Each(tags) => {
                    for (message, &tag) in call.messages.iter().zip(tags) {
                        self.sum(tag).add(function, (1, message.bytes), None);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::occurrences::{call, exchange, job, occurrence, play};
    use crate::stream::Call;

    /// Returns an all-reduce of two ranks with this tag, which takes 10 ns on the one and 30 ns on the other.
    fn tagged(job: &Job, number: u64, tag: u64, bytes: u64) -> Occurrence {
        let of = |rank| Call { tags: CallTags::One(tag), ..call(job, 0, rank, "AllReduce", bytes) };
        occurrence(number, vec![(of(0), [20, 30]), (of(1), [0, 30])], 0)
    }

    fn rows(job: &Job, all: &[Occurrence]) -> Vec<TaggedOperations> {
        let mut sums = TagSums::default();
        play(&mut sums, job, all);
        sums.finish().known().map_or(vec![], |tags| tags.rows.clone())
    }

    fn row(tag: &str, functions: &[&str], [operations, bytes, timed]: [u64; 3], us: f64) -> TaggedOperations {
        let functions = functions.iter().map(|&function| function.to_owned()).collect();
        TaggedOperations {
            tag: tag.into(),
            functions,
            operations,
            bytes,
            timed,
            time_us: Some(us).filter(|_| timed > 0),
        }
    }

    #[test]
    fn a_tag_has_its_operations_bytes_and_times() {
        let job = job(&[0; 2], &[&[0, 1]]);
        let send = Call { tags: CallTags::One(7), ..exchange(&job, 0, 0, &[(1, true, 30), (1, true, 10)]) };
        let receive = Call { tags: CallTags::One(8), ..exchange(&job, 0, 1, &[(0, false, 30), (0, false, 10)]) };
        let all = [
            tagged(&job, 0, 7, 100),
            tagged(&job, 1, 0, 100),
            tagged(&job, 2, 7, 50),
            occurrence(3, vec![(send, [0, 1000]), (receive, [0, 2000])], 0),
        ];
        let expected = [
            row("7", &["AllReduce", "Exchange"], [6, 340, 6], 1.08),
            row("none", &["AllReduce"], [2, 200, 2], 0.04),
            row("8", &["Exchange"], [2, 40, 2], 2.0),
        ];
        assert_eq!(rows(&job, &all), expected);
    }

    /// A time of several tags, or of a kernel that has other operations, is no tag's own; nor is one that is not known.
    #[test]
    fn a_time_that_is_not_a_tags_alone_is_not_counted() {
        let job = job(&[0; 2], &[&[0, 1]]);
        let tags = CallTags::Each([5, 6].into());
        let mixed =
            |rank, peer| Call { tags: tags.clone(), ..exchange(&job, 0, rank, &[(peer, true, 30), (peer, false, 9)]) };
        let mut grouped = tagged(&job, 1, 7, 1);
        grouped.parts[0].call.is_fused = true;
        let mut untimed = tagged(&job, 2, 8, 1);
        untimed.parts[1].call.source = crate::job::TimedBy::Proxy;
        let all = [occurrence(0, vec![(mixed(0, 1), [0, 9]), (mixed(1, 0), [0, 9])], 0), grouped, untimed];
        let expected = [
            row("5", &["Exchange"], [2, 60, 0], 0.0),
            row("6", &["Exchange"], [2, 18, 0], 0.0),
            row("7", &["AllReduce"], [2, 2, 0], 0.0),
            row("8", &["AllReduce"], [2, 2, 1], 0.01),
        ];
        assert_eq!(rows(&job, &all), expected);
    }

    #[test]
    fn rows_are_by_bytes_then_operations_then_tag() {
        let job = job(&[0; 2], &[&[0, 1]]);
        let of = [(9, 10), (10, 10), (11, 5), (11, 5), (4, 12)];
        let all: Vec<_> = (0..).zip(of).map(|(number, (tag, bytes))| tagged(&job, number, tag, bytes)).collect();
        let tags: Vec<String> = rows(&job, &all).into_iter().map(|row| row.tag).collect();
        assert_eq!(tags, ["4", "11", "9", "10"]);
    }

    #[test]
    fn tags_beyond_the_most_are_one_row_and_no_tag_keeps_its_own() {
        let job = job(&[0; 2], &[&[0, 1]]);
        let most = Tags::MAX_ROWS as u64;
        let tags = (1..=most + 3).chain([0, 1]);
        let all: Vec<_> = (0..).zip(tags).map(|(number, tag)| tagged(&job, number, tag, 1)).collect();
        let rows = rows(&job, &all);
        assert_eq!(rows.len(), Tags::MAX_ROWS + 2);
        let names = [0, 1, 2, Tags::MAX_ROWS, Tags::MAX_ROWS + 1].map(|place| rows[place].tag.as_str());
        assert_eq!(names, ["1", "none", "2", "4096", "others"]);
        assert_eq!(rows[Tags::MAX_ROWS + 1], row("others", &["AllReduce"], [6, 6, 6], 0.12));
    }

    #[test]
    fn without_tags_the_part_is_absent() {
        let job = job(&[0; 2], &[&[0, 1]]);
        let mut sums = TagSums::default();
        play(&mut sums, &job, &[tagged(&job, 0, 0, 100)]);
        assert!(sums.finish().absent().is_some_and(|reason| reason.contains("userTag")));
    }
}
