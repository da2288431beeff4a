//! All calls as a trace for Perfetto: a process for each GPU in the order of ranks, with its steps, what it waited in
//! each, and a track for each of its communicators; and arrows between the ranks of an occurrence. It is written as the
//! stream goes by.

mod message;
mod step;
#[cfg(test)]
mod tests;

use message::{
    Annotation, AnnotationValue, BEGIN, Counter, END, INSTANT, Packet, ProcessDescriptor, TIME_NS, Track, TrackEvent,
    VALUE,
};
use prost::Message;
use report::analysis::whole::{Onlooker, Placed};
use report::job::Job;
use report::stream::JudgedCall;
use rustc_hash::FxHashMap;
use std::io::{self, Write};
use step::StepTrack;

/// The only sequence of packets.
const SEQUENCE: u32 = 1;
/// Field 1 of `Trace`, with a length: a packet.
const PACKET: u8 = 0x0a;

/// Tracks of a GPU's communicator: operations that overlap are on further ones.
#[derive(Debug, Default)]
struct Tracks {
    /// Number and last end of each.
    tracks: Vec<(u64, i64)>,
}

/// A trace that is being written. Calls without a GPU time are marks on the track of their host.
pub struct Trace<W> {
    to: W,
    /// Number of the last track.
    last: u64,
    gpus: FxHashMap<usize, u64>,
    tracks: FxHashMap<(usize, usize), Tracks>,
    steps: FxHashMap<usize, StepTrack>,
    /// The first error; nothing is written behind it.
    failed: Option<io::Error>,
    /// Calls that were written.
    pub calls: u64,
}

impl<W: Write> Trace<W> {
    /// Begins a trace. Its times are those of the common clock, nanoseconds.
    pub fn new(to: W) -> Self {
        let (gpus, tracks, steps) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Self { to, last: 0, gpus, tracks, steps, failed: None, calls: 0 }
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The first error of writing.
    pub fn finish(mut self) -> io::Result<W> {
        let mut open: Vec<_> = std::mem::take(&mut self.steps).into_iter().collect();
        open.sort_unstable_by_key(|(gpu, _)| *gpu);
        for (_, mut steps) in open {
            self.end_step(&mut steps, None);
        }
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.to.flush().map(|()| self.to),
        }
    }

    fn write(&mut self, packet: &Packet) {
        if self.failed.is_some() {
            return;
        }
        let body = packet.encode_length_delimited_to_vec();
        self.failed = self.to.write_all(&[PACKET]).and_then(|()| self.to.write_all(&body)).err();
    }

    fn describe(&mut self, track: Track) {
        self.write(&Packet { sequence: SEQUENCE, track: Some(track), ..Packet::default() });
    }

    fn event(&mut self, time: i64, event: TrackEvent) {
        let timestamp = u64::try_from(time).unwrap_or(0);
        self.write(&Packet { timestamp: Some(timestamp), sequence: SEQUENCE, event: Some(event), track: None });
    }

    /// Returns the track of a GPU, on which its host's marks are.
    fn gpu(&mut self, job: &Job, gpu: usize) -> u64 {
        if let Some(&track) = self.gpus.get(&gpu) {
            return track;
        }
        self.last += 1;
        let (uuid, name) = (self.last, job.gpus.get(gpu).map_or_else(String::new, |gpu| gpu.name.clone()));
        // Perfetto takes 0 for its idle process
        let pid = i32::try_from(gpu).unwrap_or(i32::MAX).saturating_add(1);
        let process = Some(ProcessDescriptor { pid, name: name.clone() });
        self.describe(Track { uuid, name, process, ..Track::default() });
        self.gpus.insert(gpu, uuid);
        uuid
    }

    fn child(&mut self, parent: u64, name: String, counter: Option<Counter>) -> u64 {
        self.last += 1;
        let uuid = self.last;
        self.describe(Track { uuid, name, process: None, parent: Some(parent), counter });
        uuid
    }

    /// Takes a call on the GPU into its step.
    fn step(&mut self, job: &Job, judged: &JudgedCall, placed: &Placed<'_>, [start, stop]: [i64; 2]) {
        let gpu = judged.call().gpu;
        let mut steps = match self.steps.remove(&gpu) {
            Some(steps) => steps,
            // without a step there are no tracks for them
            None if placed.step.is_none() => return,
            None => {
                let parent = self.gpu(job, gpu);
                let slices = self.child(parent, "steps".into(), None);
                let waits = self.child(parent, "waited in a step".into(), Some(Counter { unit: TIME_NS }));
                StepTrack::new(slices, waits)
            }
        };
        if steps.number() != placed.step {
            self.end_step(&mut steps, placed.step.map(|_| start));
            if let Some(number) = placed.step {
                let name = Some(format!("step {number}"));
                let begin = steps.begin(number, start);
                self.event(begin, TrackEvent { kind: BEGIN, track: steps.slices, name, ..TrackEvent::default() });
            }
        }
        steps.add(stop, judged.part.wait);
        self.steps.insert(gpu, steps);
    }

    /// Ends the step that is under way, where the next one begins or with its last call.
    fn end_step(&mut self, steps: &mut StepTrack, next: Option<i64>) {
        let Some(ended) = steps.end(next) else { return };
        self.event(ended.stop, TrackEvent { kind: END, track: steps.slices, ..TrackEvent::default() });
        if let Some(waited) = ended.waited {
            let value = TrackEvent { kind: VALUE, track: steps.waits, value: Some(waited), ..TrackEvent::default() };
            self.event(ended.begin, value);
        }
    }

    /// Returns the first track of the GPU's communicator that is free from `start` on, and takes it until `stop`.
    fn track(
        &mut self,
        job: &Job,
        (gpu, communicator): (usize, usize),
        dimension: &str,
        [start, stop]: [i64; 2],
    ) -> u64 {
        let tracks = &mut self.tracks.entry((gpu, communicator)).or_default().tracks;
        if let Some((uuid, end)) = tracks.iter_mut().find(|(_, end)| *end <= start) {
            *end = stop;
            return *uuid;
        }
        let number = tracks.len() + 1;
        let parent = self.gpu(job, gpu);
        let own = job.communicators.get(communicator).map_or_else(String::new, |it| match it.name.as_str() {
            "" => format!("{:016x}", it.comm),
            name => name.to_owned(),
        });
        let dimension = if dimension == "unknown" { "NCCL" } else { dimension };
        let name = if number > 1 { format!("{dimension} {own} ({number})") } else { format!("{dimension} {own}") };
        let uuid = self.child(parent, name, None);
        self.tracks.entry((gpu, communicator)).or_default().tracks.push((uuid, stop));
        uuid
    }
}

fn annotation(name: &str, value: AnnotationValue) -> Annotation {
    Annotation { name: name.into(), value: Some(value) }
}

/// Returns the properties of a call that Perfetto shows beside it.
fn annotations(judged: &JudgedCall) -> Vec<Annotation> {
    let call = judged.call();
    let unsigned = |name, value: u64| annotation(name, AnnotationValue::Unsigned(value));
    let signed = |name, value: i64| annotation(name, AnnotationValue::Signed(value));
    let text = |name, value: String| annotation(name, AnnotationValue::Text(value));
    let mut all = vec![unsigned("bytes", call.bytes), signed("rank", call.rank.into())];
    if let Some((sequence, replay)) = call.sequence {
        all.extend([unsigned("sequence", sequence), unsigned("replay", replay.into())]);
    }
    for (name, value) in [("algorithm", call.algorithm), ("protocol", call.protocol)] {
        if value != common::name::NcclName::none() {
            all.push(text(name, value.text().to_string()));
        }
    }
    all.push(text("timed by", call.source.text().into()));
    if let Some(wait) = judged.part.wait {
        all.extend([signed("wait_ns", wait), signed("wait_error_ns", judged.part.likely)]);
    }
    all
}

impl<W: Write> Onlooker for Trace<W> {
    fn call(&mut self, job: &Job, judged: &JudgedCall, placed: &Placed<'_>) {
        let call = judged.call();
        let name = || Some(call.function.text().to_string());
        let slice = |kind, track, name| TrackEvent {
            kind,
            track,
            name,
            categories: vec!["nccl".into()],
            ..TrackEvent::default()
        };
        self.calls += 1;
        let host = self.gpu(job, call.gpu);
        let mark = TrackEvent { annotations: annotations(judged), ..slice(INSTANT, host, name()) };
        let Some([start, stop]) = judged.part.span else {
            self.event(call.enqueued, mark);
            return;
        };
        self.event(call.enqueued, TrackEvent { annotations: Vec::new(), ..mark });
        self.step(job, judged, placed, [start, stop]);
        let track = self.track(job, (call.gpu, call.communicator), placed.dimension, [start, stop]);
        // Perfetto takes a flow of number 0 for none
        let flows = vec![judged.occurrence + 1];
        self.event(start, TrackEvent { annotations: annotations(judged), flows, ..slice(BEGIN, track, name()) });
        if let Some([latest, _]) = judged.latest.filter(|[latest, _]| *latest > start && *latest < stop) {
            self.event(start, slice(BEGIN, track, Some("wait".into())));
            self.event(latest, slice(END, track, None));
            self.event(latest, slice(BEGIN, track, Some("transfer".into())));
            self.event(stop, slice(END, track, None));
        }
        self.event(stop, slice(END, track, None));
    }
}
