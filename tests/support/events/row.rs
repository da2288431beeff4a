//! What a row of the summary must say, by what the host printed of its operations.

use serde_json::Value;

/// What a row of the summary must say: the operations that are timed by one source or another.
#[derive(Debug, Default)]
pub(super) struct Row {
    pub(super) enqueue: u64,
    pub(super) stamps: u64,
    pub(super) events: u64,
    pub(super) either: u64,
    /// Microseconds that each GPU-timed one takes at least and at most.
    pub(super) times: Vec<(f64, f64)>,
    /// From when to when, true time, of those that events alone time.
    pub(super) intervals: Vec<(u64, u64)>,
}

impl Row {
    pub(super) fn add(&mut self, source: &str, [begin, end, slack]: [u64; 3]) {
        match source {
            "enqueue" => self.enqueue += 1,
            "stamps" => self.stamps += 1,
            "events" => {
                self.events += 1;
                self.intervals.push((begin, end));
            }
            _ => self.either += 1,
        }
        if source != "enqueue" {
            let lasts = end - begin;
            self.times.push((lasts.saturating_sub(slack) as f64 / 1e3, lasts as f64 / 1e3));
        }
    }

    /// What differs in the summary's row, where times may be off by some microseconds. With `any`, any of the
    /// operations may be timed by any of the sources.
    pub(super) fn wrong(&self, row: &Value, tolerance: f64, any: bool) -> Vec<String> {
        let field = |name: &str| row[name].as_u64().unwrap();
        let time = |name: &str| row[name].as_f64().unwrap_or(f64::NAN);
        let mut wrong = Vec::new();
        let mut hold = |right: bool, what: &str| {
            if !right {
                wrong.push(format!("{what}: {row} {:?}", (self.enqueue, self.stamps, self.events, self.either)));
            }
        };
        let (count, gpu) =
            (self.enqueue + self.stamps + self.events + self.either, self.stamps + self.events + self.either);
        hold(field("count") == count, "count");
        hold(field("gpu_timed") + field("enqueue_timed") + field("proxy_timed") == count, "all are timed once");
        hold(field("event_timed") <= field("gpu_timed"), "events are of the GPU");
        let between = |value: f64, least: f64, most: f64| least - tolerance <= value && value <= most + tolerance;
        let least = |of: fn(f64, f64) -> f64| self.times.iter().map(|times| times.0).reduce(of);
        let most = |of: fn(f64, f64) -> f64| self.times.iter().map(|times| times.1).reduce(of);
        let timed = field("gpu_timed") > 0;
        // a maximum of some operations may be that of the first ones
        let most_are = timed && field("gpu_timed") * 10 >= count * 9;
        hold(most_are == row["max_us"].is_number(), "the longest time where it is that of nearly all");
        if any {
            if let (Some(least), Some(most), true) = (least(f64::min), most(f64::max), timed) {
                hold(between(time("min_us"), least, most), "the shortest time");
                hold(!most_are || between(time("max_us"), least, most), "the longest time");
            }
            return wrong;
        }
        hold(field("gpu_timed") == gpu, "timed by the GPU");
        hold((self.events..=self.events + self.either).contains(&field("event_timed")), "timed by events");
        hold(timed == row["min_us"].is_number(), "a shortest time where there are some");
        if let (Some(shortest), Some(short), Some(long), Some(longest)) =
            (least(f64::min), most(f64::min), least(f64::max), most(f64::max))
        {
            hold(between(time("min_us"), shortest, short), &format!("the shortest time is {shortest} to {short}"));
            hold(
                !most_are || between(time("max_us"), long, longest),
                &format!("the longest time is {long} to {longest}"),
            );
            let [least, most] =
                [0, 1].map(|place| self.times.iter().map(|times| [times.0, times.1][place]).sum::<f64>());
            let off = tolerance * (self.times.len() as f64 - 1.0);
            hold(between(time("time_us"), least - off, most + off), &format!("all times are {least} to {most}"));
        }
        wrong
    }
}

/// Nanoseconds with at least one of them under way.
pub(super) fn union(mut intervals: Vec<(u64, u64)>) -> u64 {
    intervals.sort_unstable();
    let (mut sum, mut until) = (0, 0);
    for (begin, end) in intervals {
        sum += end.saturating_sub(begin.max(until));
        until = until.max(end);
    }
    sum
}
