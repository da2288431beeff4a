//! Intervals of regions in an archive: kernels of the computation, and the user's steps.

use crate::otf2::Otf2Error;
use crate::otf2::reader::{ArchiveEvent, ArchiveReader, Definitions};

/// Events that are read at a time.
const PIECE: u64 = 4096;
/// Intervals that are kept before touching ones are united.
const MOST: usize = 1 << 16;

/// Returns the time in wanted regions of some locations, united over them.
pub(super) fn united(
    reader: &ArchiveReader,
    definitions: &Definitions,
    locations: &[u64],
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<[u64; 2]>, Otf2Error> {
    let mut spans = Vec::new();
    let mut limit = MOST;
    for &location in locations {
        each(reader, definitions, location, |region, span| {
            if is_wanted(region) {
                spans.push(span);
                if spans.len() >= limit {
                    unite(&mut spans);
                    limit = spans.len() * 2 + MOST;
                }
            }
        })?;
    }
    unite(&mut spans);
    Ok(spans)
}

/// Returns the regions of a name, of the first location that has any.
pub(super) fn of_region(
    reader: &ArchiveReader,
    definitions: &Definitions,
    locations: &[u64],
    name: &str,
) -> Result<Vec<[u64; 2]>, Otf2Error> {
    for &location in locations {
        let mut spans = Vec::new();
        each(reader, definitions, location, |region, span| {
            if region == name {
                spans.push(span);
            }
        })?;
        if !spans.is_empty() {
            spans.sort_unstable();
            return Ok(spans);
        }
    }
    Ok(Vec::new())
}

/// Passes each region of a location with its begin and end, when it ends.
fn each(
    reader: &ArchiveReader,
    definitions: &Definitions,
    location: u64,
    mut pass: impl FnMut(&str, [u64; 2]),
) -> Result<(), Otf2Error> {
    let mut events = reader.events(location)?;
    let mut open: Vec<(u32, u64)> = Vec::new();
    let mut each = |ticks, event: ArchiveEvent<'_>| match event {
        ArchiveEvent::Enter(region, _) => open.push((region, definitions.nanoseconds(ticks))),
        ArchiveEvent::Leave => {
            if let Some((region, begin)) = open.pop() {
                let name = definitions.regions.get(&region).map_or("", String::as_str);
                pass(name, [begin, definitions.nanoseconds(ticks)]);
            }
        }
        ArchiveEvent::Metric(..) => {}
    };
    while events.read(PIECE, &mut each)? {
        definitions.check(events.latest())?;
    }
    definitions.check(events.latest())
}

/// Sorts intervals, and unites those that touch.
pub fn unite(spans: &mut Vec<[u64; 2]>) {
    spans.sort_unstable();
    let mut united: Vec<[u64; 2]> = Vec::with_capacity(spans.len());
    for &[begin, end] in spans.iter() {
        match united.last_mut() {
            Some(last) if begin <= last[1] => last[1] = last[1].max(end),
            _ => united.push([begin, end]),
        }
    }
    *spans = united;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn touching_intervals_become_one() {
        let mut spans = vec![[30, 40], [0, 10], [10, 20], [5, 7], [50, 50]];
        unite(&mut spans);
        assert_eq!(spans, [[0, 20], [30, 40], [50, 50]]);
    }
}
