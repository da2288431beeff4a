//! The lateness of each member at an operation, and its uncertainty.
//!
//! The uncertainty of a clock shifts all of its times alike. So begins are compared on two clocks: the clock that all
//! members are connected with, and the first member's clock, to which causality bounds the others. On each clock, each
//! begin lies within a window.

use super::causality::Bounds;
use super::matching::BeginEnd;

/// Likely error of a begin, nanoseconds: the difference of two begins is off by no more than 7 us in 95 % of the
/// collectives of tests/truth.rs.
const LIKELY: f64 = 5e3;

/// The same for a begin that anchors have placed closely: the difference of two is off by no more than 1.2 us in 95 % of
/// the collectives of ten runs on two H100s, 3.3 us at most (docs/gpu-test.md).
const LIKELY_ANCHORED: f64 = 3e3;

/// The lateness of a member at an operation, ticks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct MemberLateness {
    /// Most likely time after the first member's begin.
    pub(super) late: f64,
    /// Largest error of `late`.
    pub(super) error: f64,
    /// Likely error of `late`, at most.
    pub(super) likely: f64,
}

/// The parts of a begin's likely error, ticks.
#[derive(Debug, Clone, Copy)]
struct Likely {
    /// [`LIKELY`] or [`LIKELY_ANCHORED`].
    begin: f64,
    /// Distance of the begin from its window.
    beside: f64,
    /// The node, and the likely error of its clock, which shifts all begins of the node alike.
    node: (u32, f64),
}

/// Earliest and latest begin.
type BeginWindow = [f64; 2];

/// The members' begins of an operation, compared.
#[derive(Debug)]
pub(super) struct ComparedBegins {
    /// Most likely begins.
    begins: Vec<f64>,
    /// The members' windows on each of the two clocks.
    clocks: [Vec<BeginWindow>; 2],
    likely: Vec<Likely>,
}

/// Returns the ticks from `zero` to `time`, which may be negative.
fn since(time: u64, zero: u64) -> f64 {
    (i128::from(time) - i128::from(zero)) as f64
}

impl ComparedBegins {
    /// Compares the moments of at least one member. `places` are the members' places in the communicator, ascending.
    pub(super) fn new(moments: &[BeginEnd], places: &[usize], bounds: &Bounds, nanoseconds_per_tick: f64) -> Self {
        let zero = moments.first().map_or(0, |first| first.time);
        let on_all = |moment: &BeginEnd| {
            let at = since(moment.time, zero);
            let [earlier, later] =
                [0, 1].map(|side| moment.begin[side] + moment.clock[side] + moment.nodes.certain[side]);
            [at - earlier, at + later]
        };
        let on_one =
            on_an_absent_firsts(moments, places, bounds).unwrap_or_else(|| on_the_firsts(moments, places, bounds));
        let clocks = [moments.iter().map(on_all).collect(), on_one];
        let (begins, beside) =
            moments.iter().zip(&clocks[1]).map(|(moment, window)| within(since(moment.time, zero), *window)).unzip();
        let beside: Vec<f64> = beside;
        let likely = |(moment, beside): (&BeginEnd, f64)| Likely {
            begin: if moment.is_anchored { LIKELY_ANCHORED } else { LIKELY } / nanoseconds_per_tick,
            beside,
            node: (moment.node, moment.nodes.likely),
        };
        let likely = moments.iter().zip(beside).map(likely).collect();
        Self { begins, clocks, likely }
    }

    /// Returns the most likely begins, ticks after the first moment's time.
    pub(super) fn begins(&self) -> &[f64] {
        &self.begins
    }

    /// Returns by how much each member is earlier than the last one: the lateness if time ran backwards.
    pub(super) fn waits(mut self) -> Vec<MemberLateness> {
        self.begins.iter_mut().for_each(|begin| *begin = -*begin);
        self.clocks.iter_mut().flatten().for_each(|window| *window = [-window[1], -window[0]]);
        self.late()
    }

    /// Returns the least and the most by which `one` began after `other`.
    fn between(&self, one: usize, other: usize) -> BeginWindow {
        let on = |clock: &Vec<BeginWindow>| [clock[one][0] - clock[other][1], clock[one][1] - clock[other][0]];
        let [all, firsts] = self.clocks.each_ref().map(on);
        [all[0].max(firsts[0]), all[1].min(firsts[1])]
    }

    /// Returns the likely error of the time between two begins.
    fn likely(&self, one: usize, other: usize) -> f64 {
        let (likely, others) = (self.likely[one], self.likely[other]);
        let nodes = if likely.node.0 == others.node.0 { 0.0 } else { likely.node.1 + others.node.1 };
        let off = off(self.begins[one] - self.begins[other], self.between(one, other));
        (likely.begin.hypot(others.begin) + likely.beside + others.beside + nodes).min(off)
    }

    /// Returns the member that is later than every other member by more than the likely error.
    pub(super) fn last(&self) -> Option<usize> {
        let last = (0..self.begins.len()).max_by(|&one, &other| self.begins[one].total_cmp(&self.begins[other]))?;
        let others = || (0..self.begins.len()).filter(|&other| other != last);
        let is_later = |other| self.begins[last] - self.begins[other] > self.likely(last, other);
        (others().next().is_some() && others().all(is_later)).then_some(last)
    }

    /// Returns each member's lateness.
    pub(super) fn late(&self) -> Vec<MemberLateness> {
        let [first, second] = two_least(self.begins.iter().copied());
        // over all other members: the least certain begin, and the least possible begin
        let of_others =
            self.clocks.each_ref().map(|clock| [1, 0].map(|side| two_least(clock.iter().map(|window| window[side]))));
        let without = |[least, next]: [usize; 2], member: usize| if least == member { next } else { least };
        let of_member = |member: usize| {
            let late = self.begins[member] - self.begins[first];
            let on = |clock: usize| {
                let (windows, [certain, possible]) = (&self.clocks[clock], of_others[clock]);
                let (certain, possible) = (without(certain, member), without(possible, member));
                [windows[member][0] - windows[certain][1], windows[member][1] - windows[possible][0]]
            };
            let [all, firsts] = [on(0), on(1)];
            let error = off(late, [all[0].max(firsts[0]).max(0.0), all[1].min(firsts[1]).max(0.0)]);
            let likely = self.likely(member, if member == first { second } else { first }).min(error);
            MemberLateness { late, error, likely }
        };
        (0..self.begins.len()).map(of_member).collect()
    }
}

/// Moves a time into its window, and returns its distance from the window, too. An estimate outside is most likely off
/// by more than the distance, so it goes as deep into the window as it lay outside, up to the middle.
fn within(time: f64, [least, most]: BeginWindow) -> (f64, f64) {
    let inside = time.clamp(least, most);
    let beside = time - inside;
    let depth = beside.abs().min((most - least) / 2.0);
    (inside - depth.copysign(beside), beside.abs())
}

/// Returns the distance of a time to the farther end of a window.
fn off(time: f64, [least, most]: BeginWindow) -> f64 {
    (time - least).max(most - time)
}

/// Returns the places of the two least numbers; the same place twice for a single number.
fn two_least(numbers: impl Iterator<Item = f64>) -> [usize; 2] {
    let mut least = [(0, f64::INFINITY); 2];
    for number in numbers.enumerate() {
        if number.1 < least[0].1 {
            least = [number, least[0]];
        } else if number.1 < least[1].1 {
            least[1] = number;
        }
    }
    if least[1].1.is_infinite() { [least[0].0; 2] } else { least.map(|(place, _)| place) }
}

/// Returns the members' windows on the clock of the first of them, counted from its begin. The operations bound clocks
/// if it is the communicator's first member.
fn on_the_firsts(moments: &[BeginEnd], places: &[usize], bounds: &Bounds) -> Vec<BeginWindow> {
    let Some(first) = moments.first() else { return vec![] };
    let is_bounded = places.first() == Some(&0);
    let of_others = moments.iter().zip(places).skip(1).map(|(moment, &place)| {
        let at = since(moment.time, first.time);
        // if the first one was earlier, this one is later in comparison
        let [earlier, later] = [[0, 1], [1, 0]].map(|[own, firsts]| {
            moment.clock[own] + first.clock[firsts] + moment.nodes.certain[own] + first.nodes.certain[firsts]
        });
        let direct = [at - earlier, at + later];
        let told = is_bounded.then(|| told(bounds, place, moment, (first.time, first.by_events))).flatten();
        // bounds that contradict the clocks are not believed
        let both = told.map(|told| [direct[0].max(told[0]), direct[1].min(told[1])]).filter(|both| both[0] <= both[1]);
        let [earliest, latest] = both.unwrap_or(direct);
        [earliest - moment.begin[0], latest + moment.begin[1]]
    });
    std::iter::once([-first.begin[0], first.begin[1]]).chain(of_others).collect()
}

/// Returns the members' windows on the clock of the communicator's first member, which takes no part in the operation,
/// counted from the first moment. `None` if it takes part, or if its operations do not bound all clocks.
fn on_an_absent_firsts(moments: &[BeginEnd], places: &[usize], bounds: &Bounds) -> Option<Vec<BeginWindow>> {
    let zero = moments.first().filter(|_| places.first() != Some(&0))?.time;
    let on = |by_events: bool| {
        let window = |(moment, &place): (&BeginEnd, &usize)| {
            let [earliest, latest] = told(bounds, place, moment, (zero, by_events))?;
            Some([earliest - moment.begin[0], latest + moment.begin[1]])
        };
        moments.iter().zip(places).map(window).collect::<Option<Vec<_>>>()
    };
    on(false).or_else(|| on(true))
}

/// Returns the least and the most time of a moment's begin after `reference` on the first member's clock, as the
/// operations bound it.
fn told(bounds: &Bounds, place: usize, moment: &BeginEnd, reference: (u64, bool)) -> Option<BeginWindow> {
    let [least, most] = bounds.at(place, moment, reference)?;
    Some([since(moment.time, most), since(moment.time, least)])
}
