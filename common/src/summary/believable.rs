//! Whether a summary that was read has numbers that can be.

use super::Summary;
use crate::base::ranks;

impl Summary {
    /// Returns the field of a number that no job has, and why it is not believed.
    pub fn unbelievable(&self) -> Option<(String, String)> {
        let processes = self.processes.iter().enumerate();
        let launched =
            processes.filter_map(|(at, of)| Some((format!("processes[{at}].ranks"), of.origin.ranks?.into())));
        let communicators = self.communicators.iter().enumerate().flat_map(|(at, of)| {
            let field = |name: &str| format!("communicators[{at}].{name}");
            [(field("nranks"), of.nranks.into()), (field("nnodes"), of.nnodes.into())]
        });
        let mut numbers = launched.chain(communicators);
        let (field, number) = numbers.find(|&(_, number): &(_, i64)| !ranks::are_possible(number))?;
        Some((field, ranks::refusal(number)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::SummaryCommunicator;

    #[test]
    fn a_number_of_ranks_that_no_job_has_is_named_with_its_field() {
        let mut summary = Summary::of_nothing("");
        let (name, ranks) = (String::new(), vec![]);
        summary.communicators =
            vec![SummaryCommunicator { comm: "a".into(), nranks: ranks::MOST, nnodes: -1, name, ranks }];
        assert_eq!(summary.unbelievable(), None);
        summary.communicators[0].nranks = i32::MAX;
        let (field, cause) = summary.unbelievable().unwrap();
        assert_eq!(field, "communicators[0].nranks");
        assert!(cause.starts_with("2147483647 is no number of ranks"), "{cause}");
        summary.processes[0].origin.ranks = Some(u32::MAX);
        assert_eq!(summary.unbelievable().unwrap().0, "processes[0].ranks");
    }
}
