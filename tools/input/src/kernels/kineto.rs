//! A trace of PyTorch's profiler, read event by event.

use super::bounded::Bounded;
use super::own::KernelLane;
use crate::archive::nccl_kernel::Runs;
use common::files;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::io::{BufReader, Read};
use std::path::Path;

/// Most kernels of a trace: 128 MiB of them. A training step has some thousands.
const MOST: usize = 1 << 22;
/// Category of kernels.
const KERNEL: &str = "kernel";

/// The kernels of a trace.
#[derive(Debug, Default)]
pub(super) struct KinetoTrace {
    /// Rank of its process, where it says so.
    pub(super) rank: Option<u32>,
    /// Kernels of the computation. Times are numbers of microseconds in the file, so those since 1970 are exact to a
    /// quarter of a microsecond.
    pub(super) computing: Vec<TraceDay>,
    /// NCCL's own kernels.
    pub(super) nccl: Vec<(Runs, KernelLane, TraceDay)>,
}

/// Begin and end, nanoseconds since 1970.
pub(super) type TraceDay = [i128; 2];

/// Reads a trace, also a compressed one.
///
/// # Errors
/// The cause, with line and column.
pub(super) fn read(file: &Path) -> Result<KinetoTrace, String> {
    let opened = files::input(file).map_err(|error| error.to_string())?;
    let is_packed = file.extension().is_some_and(|ending| ending == "gz");
    let text: Box<dyn Read> = if is_packed { Box::new(MultiGzDecoder::new(opened)) } else { Box::new(opened) };
    let text = BufReader::with_capacity(1 << 16, Bounded::new(text));
    let mut reader = serde_json::Deserializer::from_reader(text);
    let mut top = Top::default();
    reader.deserialize_map(&mut top).map_err(|error| error.to_string())?;
    if !top.has_events {
        return Err("no traceEvents: not a trace of PyTorch's profiler".into());
    }
    let Top { mut trace, base, .. } = top;
    // the file may have the base behind the events
    let spans = trace.computing.iter_mut().chain(trace.nccl.iter_mut().map(|(_, _, span)| span));
    spans.flatten().for_each(|time| *time = time.saturating_add(base));
    Ok(trace)
}

/// The file's object.
#[derive(Default)]
struct Top {
    trace: KinetoTrace,
    base: i128,
    has_events: bool,
}

#[derive(Deserialize)]
struct Distributed {
    rank: Option<i64>,
}

impl<'de> Visitor<'de> for &mut Top {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the object of a profiler's trace")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Cow<'_, str>>()? {
            match &*key {
                "distributedInfo" => {
                    self.trace.rank = map.next_value::<Distributed>()?.rank.and_then(|rank| rank.try_into().ok());
                }
                "baseTimeNanoseconds" => self.base = map.next_value::<u64>()?.into(),
                "traceEvents" => {
                    self.has_events = true;
                    map.next_value_seed(KinetoEvents(&mut self.trace))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

/// The list of events.
struct KinetoEvents<'a>(&'a mut KinetoTrace);

#[derive(Deserialize)]
struct KinetoEvent<'a> {
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    /// Of a kernel, the GPU.
    #[serde(default)]
    pid: KinetoNumber,
    /// Of a kernel, the stream.
    #[serde(default)]
    tid: KinetoNumber,
    ts: Option<f64>,
    dur: Option<f64>,
}

/// A number, or 0 for anything else: events that are no kernels have texts there.
#[derive(Debug, Clone, Copy, Default)]
struct KinetoNumber(i64);

impl<'de> Deserialize<'de> for KinetoNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyNumber).map(Self)
    }
}

struct AnyNumber;

impl<'de> Visitor<'de> for AnyNumber {
    type Value = i64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a text")
    }

    fn visit_i64<E>(self, number: i64) -> Result<i64, E> {
        Ok(number)
    }

    fn visit_u64<E>(self, number: u64) -> Result<i64, E> {
        Ok(number.cast_signed())
    }

    fn visit_f64<E>(self, number: f64) -> Result<i64, E> {
        Ok(number as i64)
    }

    fn visit_str<E>(self, _: &str) -> Result<i64, E> {
        Ok(0)
    }

    fn visit_bool<E>(self, _: bool) -> Result<i64, E> {
        Ok(0)
    }

    fn visit_unit<E>(self) -> Result<i64, E> {
        Ok(0)
    }
}

impl<'de> DeserializeSeed<'de> for KinetoEvents<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for KinetoEvents<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of events")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut events: A) -> Result<(), A::Error> {
        while let Some(event) = events.next_element::<KinetoEvent<'_>>()? {
            // an event that was cut off has no duration
            let time = event.ts.zip(event.dur).filter(|_| event.cat == KERNEL);
            let Some((begin, length)) = time else { continue };
            if self.0.computing.len() + self.0.nccl.len() == MOST {
                return Err(serde::de::Error::custom(format_args!("it has more than {MOST} kernels")));
            }
            let span = [begin, begin + length].map(|us| (us * 1e3).round() as i128);
            match Runs::of(&event.name) {
                Some(runs) => self.0.nccl.push((runs, KernelLane([event.pid.0, event.tid.0]), span)),
                None => self.0.computing.push(span),
            }
        }
        Ok(())
    }
}
