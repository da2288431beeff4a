//! Ranks of the job.

use super::Job;

impl Job {
    /// Returns the rank in the job of each GPU: by the launcher's variables if each process has one GPU and all ranks
    /// differ, else by the communicator that has all GPUs. `None` where neither says.
    pub fn ranks(&self) -> Option<Vec<u32>> {
        self.by_launcher().or_else(|| self.by_world())
    }

    fn by_launcher(&self) -> Option<Vec<u32>> {
        let ranks: Option<Vec<u32>> = self.gpus.iter().map(|gpu| self.processes.get(gpu.process)?.rank).collect();
        ranks.filter(|ranks| are_distinct(ranks))
    }

    fn by_world(&self) -> Option<Vec<u32>> {
        let world = self.communicators.iter().find(|one| one.is_whole() && one.members.len() == self.gpus.len())?;
        let mut ranks = vec![None; self.gpus.len()];
        for member in &world.members {
            *ranks.get_mut(member.gpu)? = u32::try_from(member.rank).ok();
        }
        ranks.into_iter().collect()
    }
}

fn are_distinct(ranks: &[u32]) -> bool {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).all(|pair| pair[0] != pair[1])
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::calls::job;

    #[test]
    fn the_launcher_or_the_world_numbers_the_ranks() {
        let mut four = job(&[(1, &[0, 1]), (2, &[3, 2, 1, 0])]);
        four.processes.iter_mut().zip([7, 4, 5, 6]).for_each(|(process, rank)| process.rank = Some(rank));
        assert_eq!(four.ranks(), Some(vec![7, 4, 5, 6]));
        // a rank twice is none
        four.processes[0].rank = Some(4);
        assert_eq!(four.ranks(), Some(vec![3, 2, 1, 0]));
        four.communicators[1].nranks = 5;
        assert_eq!(four.ranks(), None);
    }
}
