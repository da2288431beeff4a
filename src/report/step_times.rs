//! The user's file of steps: their times of day.

use super::text_file;
use report::job::{Process, StepRegions, Unreadable};
use std::path::Path;

/// Nanoseconds of a second.
const SECOND: i128 = 1_000_000_000;

/// Most steps of a file.
const MAX_STEPS: usize = 1 << 20;
/// Most steps of all processes: 256 MiB of them. A line without a rank is a step of each process.
const MAX_STEPS_OF_ALL: usize = 1 << 24;

/// A step of one rank, or of all.
#[derive(Debug, Clone, PartialEq, Eq)]
struct StepTime {
    /// The rank; `None` for all.
    rank: Option<u32>,
    /// Begin and end, nanoseconds since 1970.
    times: [i128; 2],
}

/// The user's steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StepTimes {
    file: String,
    steps: Vec<StepTime>,
}

impl StepTimes {
    /// Reads a file with lines `[<rank>] <begin> <end>`: times of day in seconds since 1970, as Python's `time.time()`
    /// gives them. A line without a rank is for all ranks. Empty lines and `#` comments are passed over.
    ///
    /// # Errors
    /// The file, the line and the cause.
    pub(crate) fn read(file: &Path) -> Result<Self, Unreadable> {
        Self::parse(&file.display().to_string(), &text_file::read(file, text_file::LINES)?)
    }

    fn parse(file: &str, text: &str) -> Result<Self, Unreadable> {
        let mut steps = Vec::new();
        for (number, words) in text_file::lines(text) {
            let wrong = |cause: String| Unreadable::whole(file, cause).at(format!("line {number}"));
            if steps.len() == MAX_STEPS {
                return Err(wrong(format!("it has more than {MAX_STEPS} steps")));
            }
            let (rank, times) = match words[..] {
                [begin, end] => (None, [begin, end]),
                [rank, begin, end] => {
                    let rank = rank.parse().map_err(|_| wrong(format!("{rank} is no rank")))?;
                    (Some(rank), [begin, end])
                }
                _ => {
                    return Err(wrong(
                        "it needs a begin and an end in seconds, and before them a rank or nothing".into(),
                    ));
                }
            };
            let seconds =
                |text: &str| nanoseconds(text).ok_or_else(|| wrong(format!("{text} is no time in seconds since 1970")));
            let times = [seconds(times[0])?, seconds(times[1])?];
            if times[1] < times[0] {
                return Err(wrong("the step ends before it begins".into()));
            }
            steps.push(StepTime { rank, times });
        }
        if steps.is_empty() {
            let cause = "it has no steps: give lines of a begin and an end in seconds since 1970";
            return Err(Unreadable::whole(file, cause));
        }
        Ok(Self { file: file.into(), steps })
    }

    /// Returns the steps on the clocks of the processes. A process without a time of day has none.
    ///
    /// # Errors
    /// There are too many of them; with the file.
    pub(crate) fn regions(&self, processes: &[Process]) -> Result<StepRegions, Unreadable> {
        let mut left = MAX_STEPS_OF_ALL;
        let of_process = |process: &Process| {
            let own = |time: i128| u64::try_from(time - i128::from(process.real0) + i128::from(process.mono0)).ok();
            let is_its = |step: &&StepTime| step.rank.is_none_or(|rank| process.rank == Some(rank));
            let steps = self.steps.iter().filter(is_its).filter(|_| process.real0 > 0);
            let mut regions: Vec<[u64; 2]> =
                steps.filter_map(|step| Some([own(step.times[0])?, own(step.times[1])?])).collect();
            left = left.checked_sub(regions.len()).ok_or_else(|| {
                let cause = format!("its steps of {} processes are more than {MAX_STEPS_OF_ALL}", processes.len());
                Unreadable::whole(&self.file, cause)
            })?;
            regions.sort_unstable();
            Ok(regions)
        };
        let by_process = processes.iter().map(of_process).collect::<Result<_, Unreadable>>()?;
        Ok(StepRegions { name: self.file.clone(), is_file: true, by_process })
    }
}

/// Returns a number of seconds as nanoseconds, without the loss of digits of a binary fraction.
fn nanoseconds(text: &str) -> Option<i128> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) || whole.len() > 12 {
        return None;
    }
    let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
    Some(whole.parse::<i128>().ok()? * SECOND + digits.parse::<i128>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_day_become_times_of_the_processes_clocks() {
        let times = StepTimes::parse("steps", "100.5 101\n1 99.000000001 100 # rank 1 alone\n").unwrap();
        let process = |rank, real0| Process { rank: Some(rank), real0, mono0: 5, ..Process::default() };
        let processes = [process(0, 90_000_000_000), process(1, 90_000_000_000), process(2, 0)];
        let regions = times.regions(&processes).unwrap();
        let common = [10_500_000_005, 11_000_000_005];
        assert_eq!(regions.by_process, [vec![common], vec![[9_000_000_006, 10_000_000_005], common], vec![]]);
        assert!(regions.is_file && regions.name == "steps");
    }

    #[test]
    fn steps_are_bounded_in_a_file_and_over_all_processes() {
        let lines = |count: usize| StepTimes::parse("steps", &"1 2\n".repeat(count));
        let refused = lines(MAX_STEPS + 1).unwrap_err().to_string();
        assert_eq!(refused, "steps, line 1048577: it has more than 1048576 steps");
        let times = lines(MAX_STEPS).unwrap();
        let process = Process { real0: 1, ..Process::default() };
        let refused = times.regions(&vec![process.clone(); 17]).unwrap_err().to_string();
        assert_eq!(refused, "steps: its steps of 17 processes are more than 16777216");
        assert!(times.regions(&[process]).is_ok());
    }

    #[test]
    fn errors_name_the_file_the_line_and_the_cause() {
        let errors = ["1", "a 1 2", "1 b", "2 1", "1e3 2", "\n-1 2", "# none"]
            .map(|text| StepTimes::parse("steps", text).unwrap_err().to_string());
        let expected = [
            "steps, line 1: it needs a begin and an end in seconds, and before them a rank or nothing",
            "steps, line 1: a is no rank",
            "steps, line 1: b is no time in seconds since 1970",
            "steps, line 1: the step ends before it begins",
            "steps, line 1: 1e3 is no time in seconds since 1970",
            "steps, line 2: -1 is no time in seconds since 1970",
            "steps: it has no steps: give lines of a begin and an end in seconds since 1970",
        ];
        assert_eq!(errors, expected);
    }
}
