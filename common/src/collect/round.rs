//! One round of the collector: reads what was recorded of the communicators, and takes closed windows apart.

use crate::collect::communicator::FollowedCommunicator;
use crate::collect::course::{Course, Round};
use crate::figures::Figures;
use crate::record::grace::Graces;

/// Number of events after which closed windows are taken apart, so that their memory does not wait for all other
/// communicators to be read.
const TOGETHER: u32 = 32_768;

/// Largest number of closing phases in a round. A window that closes waits for one grace period, then for another, then
/// it is done. The bound ends the round, since callbacks may close windows at any time.
const PHASES: u32 = 3;

/// Runs a round over the communicators. Their closing windows share grace periods.
pub fn follow<'c>(
    communicators: impl Iterator<Item = &'c mut FollowedCommunicator>,
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

/// Takes apart the windows that can be, and settles the operations that are over.
fn conclude(
    together: &mut Vec<&mut FollowedCommunicator>,
    course: Course<'_>,
    graces: &mut Graces,
    figures: &mut Figures,
) {
    for _ in 0..PHASES {
        together.iter_mut().for_each(|communicator| communicator.close(course, graces, figures));
        if !graces.begin() {
            break;
        }
    }
    together.drain(..).for_each(|communicator| communicator.conclude(course, figures));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::CLOCK;
    use crate::config::Settings;
    use crate::event::handle::Handle;
    use crate::event::{Event, InitCommunicator, StartedOperation, TimingOptions};
    use crate::record::recorder::Recorder;
    use crate::record::window::WindowState;

    fn made(recorder: &Recorder, id: u64) -> (u64, FollowedCommunicator) {
        let (name, api_calls, kernel_events) = (String::new(), false, false);
        let introduction = InitCommunicator {
            id,
            name,
            nranks: 2,
            nnodes: 1,
            rank: 0,
            api_calls,
            kernel_events,
            introduced: true,
            timed: TimingOptions::default(),
        };
        let context = recorder.init(introduction.clone());
        (context, FollowedCommunicator::new(Handle::parse(context).unwrap(), &introduction))
    }

    fn operation(recorder: &Recorder, context: u64) {
        let function = Some(c"AllReduce".into());
        let (sequence, channels, datatype) = (0, 1, Some(c"ncclInt8".into()));
        let [algorithm, protocol] = [None; 2];
        let operation = StartedOperation {
            function,
            count: 8,
            datatype,
            sequence,
            peer: None,
            root: None,
            channels,
            algorithm,
            protocol,
            identity: None,
            stream: 0,
        };
        recorder.stop(recorder.start(context, 0, &Event::Coll(operation)));
    }

    fn course(recorder: &Recorder) -> Course<'_> {
        Course { recorder, now: CLOCK.now(), hasty: false }
    }

    #[test]
    fn windows_of_several_communicators_are_done_in_one_round() {
        crate::record::grace::prepare();
        let recorder = Recorder::new(Settings::default()).unwrap();
        let mut communicators: Vec<(u64, FollowedCommunicator)> = (1..4).map(|id| made(&recorder, id)).collect();
        for (context, _) in &communicators {
            (0..10).for_each(|_| operation(&recorder, *context));
            let (context, _) = recorder.contexts.find(*context).unwrap();
            recorder.close(context, 0, CLOCK.now());
            assert_eq!(context.window(0).state(), WindowState::Closing);
        }
        let (mut graces, mut figures) = (Graces::default(), Figures::default());
        let all = communicators.iter_mut().map(|(_, communicator)| communicator);
        let round = follow(all, course(&recorder), &mut graces, &mut figures);
        assert_eq!((round.events, figures.totals.windows), (30, 3));
        assert_eq!(graces.ask(), 3, "the three have waited for two grace periods together");
        for (context, communicator) in &communicators {
            assert_eq!(recorder.contexts.find(*context).unwrap().0.window(0).state(), WindowState::Ready);
            assert!(!communicator.is_over());
        }
    }
}
