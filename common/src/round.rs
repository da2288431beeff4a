//! One round of the collector: takes in what was recorded of the communicators, and takes closed windows apart.

use crate::communicator::Communicator;
use crate::figures::Figures;
use crate::grace::Graces;
use crate::recorder::Recorder;

/// Events after which windows that are closed are taken apart, lest their memory wait for all other communicators to be read.
const TOGETHER: u32 = 32_768;

/// What one round took in.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Events that were not seen before.
    pub events: u32,
    /// All that began before was taken in, in ticks.
    pub horizon: u64,
}

impl Round {
    /// One that has taken in nothing, since there was nothing at that time.
    pub fn at(now: u64) -> Self {
        Self { events: 0, horizon: now }
    }

    fn and(self, other: Self) -> Self {
        Self { events: self.events.saturating_add(other.events), horizon: self.horizon.min(other.horizon) }
    }
}

/// What the rounds of a process go by.
#[derive(Debug, Clone, Copy)]
pub struct Course<'a> {
    /// What was recorded.
    pub recorder: &'a Recorder,
    /// The events' clock, read before.
    pub now: u64,
    /// Late events of communicators that have ended are not waited for.
    pub hasty: bool,
}

/// Takes in what was recorded of each. Windows that close wait for the same grace periods as those of the communicators beside them.
pub fn follow<'c>(
    communicators: impl Iterator<Item = &'c mut Communicator>,
    course: Course<'_>,
    graces: &mut Graces,
    figures: &mut Figures,
) -> Round {
    let (mut all, mut part) = (Round::at(course.now), Round::at(course.now));
    let mut together = Vec::new();
    for communicator in communicators {
        part = part.and(communicator.read(course, figures));
        together.push(communicator);
        if part.events >= TOGETHER {
            all = all.and(std::mem::replace(&mut part, Round::at(course.now)));
            conclude(&mut together, course, graces, figures);
        }
    }
    conclude(&mut together, course, graces, figures);
    all.and(part)
}

/// Takes apart what can be, and settles what is over.
fn conclude(together: &mut Vec<&mut Communicator>, course: Course<'_>, graces: &mut Graces, figures: &mut Figures) {
    loop {
        together.iter_mut().for_each(|communicator| communicator.close(course, graces, figures));
        if !graces.begin() {
            break;
        }
    }
    together.drain(..).for_each(|communicator| communicator.conclude(course, figures));
}
