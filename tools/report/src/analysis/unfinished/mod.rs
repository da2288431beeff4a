//! Operations that are not over: where the ranks of each communicator stand, and the first collective that differs.
//!
//! Ranks of a communicator call the same collectives in the same order, so a rank with fewer of them is behind, and the
//! first one whose function, count or type differs is a fault of the program. Sends and receives may differ.

mod course;
mod early;
#[cfg(test)]
mod tests;

use super::ranges::ranges;
use crate::answer::{Behind, EarlyRank, Part, Unfinished, Whereabouts};
use crate::job::{Communicator, Job};
use crate::stream::{JudgedCall, Listener};
use course::{Course, RankCourse, Stand};

/// Most ranks of a communicator that are listed.
const MAX_RANKS_LISTED: usize = 64;

/// Listens for the courses of communicators.
#[derive(Debug)]
pub struct Courses {
    /// By place of the communicator.
    communicators: Vec<Course>,
}

impl Courses {
    /// Begins to listen.
    pub fn new(job: &Job) -> Self {
        Self { communicators: job.communicators.iter().map(Course::new).collect() }
    }

    /// Returns the ranks that stand before the others, without their steps.
    pub fn early(&self, job: &Job) -> Vec<EarlyRank> {
        early::early(&self.communicators, job)
    }

    /// Returns the part of the answer.
    pub fn finish(self, job: &Job) -> Part<Unfinished> {
        let mut unfinished = Unfinished::default();
        for (communicator, course) in job.communicators.iter().zip(self.communicators) {
            match behind(communicator, &course) {
                Some(behind) => unfinished.communicators.push(behind),
                None => unfinished.over += 1,
            }
        }
        Part::Known(unfinished)
    }
}

/// Returns a communicator that is not over; `None` for one that is.
fn behind(communicator: &Communicator, course: &Course) -> Option<Behind> {
    let Course { ranks, differs, .. } = course;
    let most = course.most();
    let is_behind = |rank: &RankCourse| rank.collectives < most;
    let is_over = |rank: &RankCourse| !is_behind(rank) && !rank.waits();
    if differs.is_none() && ranks.values().all(is_over) {
        return None;
    }
    let stand = |stand: Stand| (stand.function.text(), stand.sequence, stand.bytes);
    let row = |(&number, rank): (&i32, &RankCourse)| Whereabouts {
        rank: number,
        gpu: rank.gpu,
        begun: rank.begun,
        ended: rank.ended,
        last_begun: rank.last_begun.map(stand),
        last_ended: rank.last_ended.map(stand),
    };
    // those that are behind first, then those that wait, then the others
    let mut order: Vec<(&i32, &RankCourse)> = ranks.iter().collect();
    order.sort_by_key(|(number, rank)| (!is_behind(rank), is_over(rank), **number));
    order.truncate(MAX_RANKS_LISTED);
    order.sort_by_key(|(number, _)| **number);
    let behind = ranks.iter().filter(|(_, rank)| is_behind(rank)).map(|(&number, _)| i64::from(number));
    Some(Behind {
        comm: format!("{:016x}", communicator.comm),
        ranks: order.into_iter().map(row).collect(),
        behind: ranges(behind),
        differs: differs.clone(),
    })
}

impl Listener for Courses {
    fn call(&mut self, _job: &Job, judged: &JudgedCall) {
        let call = judged.call();
        if let Some(course) = self.communicators.get_mut(call.communicator) {
            course.call(call);
        }
    }
}
