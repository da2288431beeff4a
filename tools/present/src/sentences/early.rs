//! Ranks that stand before the others: the first thing to know of a job that hung or died.

use super::super::names::ReportNames;
use super::super::units::{count, counted};
use report::answer::{EarlyRank, Report};

/// Returns which ranks others wait for, or whose data end early; `None` if there are none.
pub(super) fn early(report: &Report) -> Option<String> {
    let (names, all) = (ReportNames::of(report), &report.complete.early);
    let (first, more) = all.split_first()?;
    let name = names.gpu(first.gpu);
    let place = first.step.map_or_else(String::new, |step| format!(" in step {}", count(step)));
    let text = match (first.waiting, first.is_cut) {
        (0, _) => format!("The data of {name} end{place}, before the others' data: its recording is cut"),
        (_, true) => format!("{} ended{place} while {}", capital(&name), wait(first, &names)),
        (_, false) => format!("{} stands{place} while {}", capital(&name), wait(first, &names)),
    };
    let others = match more {
        [] => String::new(),
        [one] => format!(" So does {}.", names.gpu(one.gpu)),
        more => format!(" So do {}.", counted(more.len() as u64, "other rank")),
    };
    let next = if first.waiting > 0 { ": --part unfinished." } else { "." };
    Some(text + next + &others)
}

fn wait(early: &EarlyRank, names: &ReportNames<'_>) -> String {
    let number = |number: Option<u64>| number.map_or_else(String::new, |number| format!(" {number}"));
    let operation = early.waits_in.as_ref().map_or_else(String::new, |(function, sequence)| {
        format!(" in {function}{} of {}", number(*sequence), names.communicator(&early.comm))
    });
    match early.waiting {
        1 => format!("another rank waits for it{operation}"),
        more => format!("{} other ranks wait for it{operation}", count(more)),
    }
}

/// Says that an answer is absent.
pub(super) fn absent(reason: Option<&str>) -> String {
    format!("Not known: {}", reason.unwrap_or("the report does not have this part."))
}

/// Returns the text with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::sample;

    #[test]
    fn a_rank_that_is_gone_is_the_first_thing_said() {
        let mut report = sample(4);
        assert_eq!(early(&report), None);
        let gone = EarlyRank {
            gpu: 3,
            is_cut: true,
            step: Some(30),
            comm: "ab00000000000000".into(),
            waiting: 3,
            waits_in: Some(("AllReduce".into(), Some(211))),
        };
        let said = |early: &[EarlyRank], report: &mut Report| {
            report.complete.early = early.to_vec();
            super::super::complete(report)
        };
        let text = said(std::slice::from_ref(&gone), &mut report);
        let start = "Rank 3 ended in step 30 while 3 other ranks wait for it in AllReduce 211 of ab000000: --part \
                     unfinished. ";
        assert!(text.starts_with(start), "{text}");
        let stands = EarlyRank { is_cut: false, waiting: 1, step: None, ..gone.clone() };
        let text = said(&[stands, gone.clone()], &mut report);
        assert!(text.starts_with("Rank 3 stands while another rank waits for it in AllReduce 211"), "{text}");
        let cut = EarlyRank { waiting: 0, waits_in: None, ..gone };
        let text = said(&[cut], &mut report);
        assert!(text.starts_with("The data of rank 3 end in step 30, before the others' data"), "{text}");
    }
}
