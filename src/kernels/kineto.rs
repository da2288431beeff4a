//! A trace of PyTorch's profiler, read event by event.

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

/// Categories of events on the GPU that are computation.
const COMPUTATION: &str = "kernel";

/// The kernels of a trace.
#[derive(Debug, Default)]
pub(super) struct Trace {
    /// Rank of its process, where it says so.
    pub(super) rank: Option<u32>,
    /// Begin and end of each wanted kernel, nanoseconds since 1970. Times are numbers of microseconds in the file, so
    /// those since 1970 are exact to a quarter of a microsecond.
    pub(super) spans: Vec<[i128; 2]>,
}

/// Reads a trace, also a compressed one.
///
/// # Errors
/// The cause, with line and column.
pub(super) fn read(file: &Path, is_wanted: impl Fn(&str) -> bool) -> Result<Trace, String> {
    let opened = File::open(file).map_err(|error| error.to_string())?;
    let is_packed = file.extension().is_some_and(|ending| ending == "gz");
    let text: Box<dyn Read> = if is_packed { Box::new(MultiGzDecoder::new(opened)) } else { Box::new(opened) };
    let mut reader = serde_json::Deserializer::from_reader(BufReader::with_capacity(1 << 16, text));
    let mut top = Top { is_wanted: &is_wanted, rank: None, base: 0, spans: Vec::new(), has_events: false };
    reader.deserialize_map(&mut top).map_err(|error| error.to_string())?;
    if !top.has_events {
        return Err("no traceEvents: not a trace of PyTorch's profiler".into());
    }
    let base = top.base;
    let spans = top.spans.into_iter().map(|span| span.map(|time| time.saturating_add(base))).collect();
    Ok(Trace { rank: top.rank, spans })
}

/// The file's object.
struct Top<'a> {
    is_wanted: &'a dyn Fn(&str) -> bool,
    rank: Option<u32>,
    base: i128,
    spans: Vec<[i128; 2]>,
    has_events: bool,
}

#[derive(Deserialize)]
struct Distributed {
    rank: Option<i64>,
}

impl<'de> Visitor<'de> for &mut Top<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the object of a profiler's trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "distributedInfo" => {
                    self.rank = map.next_value::<Distributed>()?.rank.and_then(|rank| rank.try_into().ok());
                }
                "baseTimeNanoseconds" => self.base = map.next_value::<u64>()?.into(),
                "traceEvents" => {
                    self.has_events = true;
                    map.next_value_seed(Events { is_wanted: self.is_wanted, spans: &mut self.spans })?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list of events.
struct Events<'a> {
    is_wanted: &'a dyn Fn(&str) -> bool,
    spans: &'a mut Vec<[i128; 2]>,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    ts: Option<f64>,
    dur: Option<f64>,
}

impl<'de> DeserializeSeed<'de> for Events<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Events<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(event) = events.next_element::<Event<'_>>()? {
            // an event that was cut off has no duration
            let time = event.ts.zip(event.dur).filter(|_| event.cat == COMPUTATION);
            if let Some((begin, length)) = time.filter(|_| (self.is_wanted)(&event.name)) {
                self.spans.push([begin, begin + length].map(|us| (us * 1e3).round() as i128));
            }
        }
        Ok(())
    }
}
