//! A stage: its layers, what it keeps of each micro-batch, and the steps that it does.

use crate::device::Device;
use crate::layer::{Inner, Kept, Layer, Shape};
use crate::link::Link;
use crate::options::{Options, Slow};
use crate::outcome::{Fingerprint, Memory, Outcome};
use crate::rendezvous::Store;
use crate::schedule::{Action, Side};
use crate::values;
use crate::work::Work;
use anyhow::{Context, Result, ensure};
use std::time::{Duration, Instant};

/// How far a step goes down the gradient: so little that no run of hours diverges.
const RATE: f32 = 1e-3;

/// One micro-batch that is under way.
struct Slot<M> {
    layers: Vec<Kept<M>>,
    output: M,
}

/// What has just been done, between two marks.
#[derive(Clone, Copy)]
enum Done {
    Forward,
    Backward,
    Message(Side),
    Both(Side),
    Update,
}

/// The marks of a step, whose times are read one step later: so the device never waits for the host.
struct Marks<K> {
    is_measured: bool,
    begin: K,
    done: Vec<(Done, K)>,
}

/// The neighbours of a stage.
#[derive(Debug)]
pub struct Links<L> {
    /// The stage before.
    pub left: Option<L>,
    /// The stage behind.
    pub right: Option<L>,
}

struct Stage<'a, D: Device, L> {
    options: &'a Options,
    device: &'a D,
    links: Links<L>,
    work: Work<'a, D>,
    layers: Vec<Layer<D::Memory>>,
    slots: Vec<Slot<D::Memory>>,
    inner: Inner<D::Memory>,
    /// Gradient of the output before a backward, and of the input behind it.
    gradient: D::Memory,
    /// By micro-batch; of the first stage alone.
    inputs: Vec<D::Memory>,
    /// By micro-batch; of the last stage alone.
    targets: Vec<D::Memory>,
    /// Distance of output and target, by micro-batch.
    distances: D::Memory,
    outcome: Outcome,
}

/// Runs a stage until its steps are over.
///
/// # Errors
///
/// The device's, a neighbour's that has gone, or the store's.
pub fn run<D: Device, L: Link<D>>(
    options: &Options,
    number: usize,
    device: &D,
    links: Links<L>,
    store: &mut Store,
) -> Result<Outcome> {
    let mut stage = Stage::new(options, number, device, links)?;
    let actions = options.schedule.actions(options.stages, number, options.microbatches);
    let mut earlier = None;
    let mut measured_since = Instant::now();
    for step in 0.. {
        let is_measured = step >= options.warmup;
        if step == options.warmup {
            stage.settle(earlier.take())?;
            stage.outcome.memory[0] = stage.memory()?;
            measured_since = Instant::now();
        }
        if is_measured && !goes_on(options, number, step, measured_since.elapsed(), store)? {
            break;
        }
        let marks = stage.step(&actions, is_measured)?;
        stage.settle(earlier.replace(marks))?;
        if options.fingerprints || step == 0 {
            stage.note_loss(step)?;
        }
    }
    stage.settle(earlier)?;
    stage.note_loss(usize::MAX)?;
    stage.outcome.memory[1] = stage.memory()?;
    if options.fingerprints {
        stage.note_results()?;
    }
    Ok(stage.outcome)
}

/// Whether another step is done. With --seconds the first stage decides, and the others ask the store.
fn goes_on(options: &Options, number: usize, step: usize, since: Duration, store: &mut Store) -> Result<bool> {
    let Some(seconds) = options.seconds else { return Ok(step < options.warmup + options.steps) };
    let key = format!("go.{step}");
    if number > 0 {
        return Ok(store.get(&key)? == b"on");
    }
    let goes_on = step == options.warmup || since < Duration::from_secs(seconds.into());
    store.put(&key, if goes_on { b"on" } else { b"end" })?;
    Ok(goes_on)
}

impl<'a, D: Device, L: Link<D>> Stage<'a, D, L> {
    fn new(options: &'a Options, number: usize, device: &'a D, links: Links<L>) -> Result<Self> {
        let shape = Shape { tokens: options.tokens, hidden: options.hidden };
        let own = options.layers / options.stages;
        let in_flight = options.schedule.in_flight(options.stages, number, options.microbatches);
        let factor = options.slow.filter(|slow| slow.stage == number).map_or(1.0, |Slow { factor, .. }| factor);
        let slot = |_| -> Result<_> {
            let layers = (0..own).map(|_| Kept::new(device, shape)).collect::<Result<_>>()?;
            Ok(Slot { layers, output: device.allocate(shape.activations())? })
        };
        let data = |what: &str, is_here: bool| -> Result<Vec<_>> {
            let memory = |microbatch| {
                let mut memory = device.allocate(shape.activations())?;
                let values = values::spread(&format!("{what} {microbatch}"), shape.activations(), 1.0);
                device.write(&values, &mut memory)?;
                Ok(memory)
            };
            (0..if is_here { options.microbatches } else { 0 }).map(memory).collect()
        };
        let is_last = number + 1 == options.stages;
        Ok(Self {
            options,
            device,
            links,
            work: Work::new(device, factor, shape.largest())?,
            layers: (number * own..(number + 1) * own)
                .map(|each| Layer::new(device, shape, each))
                .collect::<Result<_>>()?,
            slots: (0..in_flight).map(slot).collect::<Result<_>>()?,
            inner: Inner::new(device, shape)?,
            gradient: device.allocate(shape.activations())?,
            inputs: data("input", number == 0)?,
            targets: data("target", is_last)?,
            distances: device.allocate(options.microbatches)?,
            outcome: Outcome { stage: number, device: device.name(), in_flight, ..Outcome::default() },
        })
    }

    fn step(&mut self, actions: &[Action], is_measured: bool) -> Result<Marks<D::Mark>> {
        let begin = self.device.mark()?;
        let mut done = Vec::with_capacity(actions.len() + 1);
        for &action in actions {
            let kind = match action {
                Action::Forward(microbatch) => self.forward(microbatch).map(|()| Done::Forward),
                Action::Backward(microbatch) => self.backward(microbatch).map(|()| Done::Backward),
                Action::Exchange { side, send, receive } => self.exchange(side, send, receive),
            };
            done.push((kind.with_context(|| format!("{action:?}"))?, self.device.mark()?));
        }
        self.layers.iter_mut().try_for_each(|layer| layer.update(self.device, RATE))?;
        done.push((Done::Update, self.device.mark()?));
        Ok(Marks { is_measured, begin, done })
    }

    fn forward(&mut self, microbatch: usize) -> Result<()> {
        let in_flight = self.slots.len();
        let Slot { layers: kept, output } = &mut self.slots[microbatch % in_flight];
        if let (Some(input), Some(first)) = (self.inputs.get(microbatch), kept.first_mut()) {
            self.device.copy(input, &mut first.input)?;
        }
        let mut rest = kept.as_mut_slice();
        for layer in &self.layers {
            let Some((own, behind)) = rest.split_first_mut() else { break };
            let output = behind.first_mut().map_or(&mut *output, |next| &mut next.input);
            layer.forward(&mut self.work, own, output)?;
            rest = behind;
        }
        Ok(())
    }

    fn backward(&mut self, microbatch: usize) -> Result<()> {
        let slot = &self.slots[microbatch % self.slots.len()];
        if let Some(target) = self.targets.get(microbatch) {
            // the loss is half of the mean squared distance of a token from its target, over all micro-batches
            self.device.copy(&slot.output, &mut self.gradient)?;
            self.device.add(-1.0, target, &mut self.gradient)?;
            self.device.norm(&self.gradient, &mut self.distances, microbatch)?;
            self.device.scale(1.0 / self.all_tokens() as f32, &mut self.gradient)?;
        }
        for (layer, kept) in self.layers.iter_mut().zip(&slot.layers).rev() {
            layer.backward(&mut self.work, microbatch == 0, kept, &mut self.inner, &mut self.gradient)?;
        }
        Ok(())
    }

    fn exchange(&mut self, side: Side, send: Option<usize>, receive: Option<usize>) -> Result<Done> {
        let in_flight = self.slots.len();
        let Self { device, links, slots, gradient, .. } = self;
        let slot = |microbatch: usize| microbatch % in_flight;
        match (side, &mut links.left, &mut links.right) {
            (Side::Left, Some(link), _) => {
                let input = receive.and_then(|microbatch| slots[slot(microbatch)].layers.first_mut());
                link.exchange(device, send.map(|_| &*gradient), input.map(|kept| &mut kept.input))?;
            }
            (Side::Right, _, Some(link)) => {
                let output = send.map(|microbatch| &slots[slot(microbatch)].output);
                link.exchange(device, output, receive.map(|_| gradient))?;
            }
            _ => anyhow::bail!("the stage has no neighbour there"),
        }
        let messages = &mut self.outcome.messages;
        messages.sends += u64::from(send.is_some());
        messages.receives += u64::from(receive.is_some());
        messages.bytes = (self.options.tokens * self.options.hidden * size_of::<f32>()) as u64;
        Ok(if send.is_some() && receive.is_some() { Done::Both(side) } else { Done::Message(side) })
    }

    fn all_tokens(&self) -> usize {
        self.options.tokens * self.options.microbatches
    }

    /// Waits for a step and takes its times in.
    fn settle(&mut self, marks: Option<Marks<D::Mark>>) -> Result<()> {
        let Some(Marks { is_measured, begin, done }) = marks else { return Ok(()) };
        let Some((_, end)) = done.last() else { return Ok(()) };
        let step = self.device.seconds(&begin, end)?;
        if !is_measured {
            return Ok(());
        }
        self.outcome.steps.add(step);
        let mut before = &begin;
        for (kind, mark) in &done {
            let seconds = self.device.seconds(before, mark)?;
            before = mark;
            let outcome = &mut self.outcome;
            match *kind {
                Done::Forward => outcome.forward.add(seconds),
                Done::Backward => outcome.backward.add(seconds),
                Done::Update => outcome.update.add(seconds),
                Done::Message(side) => outcome.exchanged(side).message.add(seconds),
                Done::Both(side) => outcome.exchanged(side).both.add(seconds),
            }
        }
        Ok(())
    }

    /// Waits for all work and takes the loss of the step that was last.
    fn note_loss(&mut self, step: usize) -> Result<()> {
        if self.targets.is_empty() {
            return Ok(());
        }
        let distances = self.device.read(&self.distances)?;
        let squares: f64 = distances.iter().map(|&distance| f64::from(distance).powi(2)).sum();
        let loss = squares / (2.0 * self.all_tokens() as f64);
        ensure!(loss.is_finite(), "the loss is {loss}: the model has diverged");
        self.outcome.loss = Some([self.outcome.loss.map_or(loss, |[first, _]| first), loss]);
        if self.options.fingerprints && step != usize::MAX {
            self.outcome.fingerprints.push(fingerprint(format!("step {step} distances"), &distances));
        }
        Ok(())
    }

    /// Takes fingerprints of what the last step has left.
    fn note_results(&mut self) -> Result<()> {
        let mut all = Vec::new();
        for weight in self.layers.iter().flat_map(|layer| layer.weights()) {
            for (what, memory) in [("gradient", &weight.gradient), ("value", &weight.value)] {
                all.push(fingerprint(format!("{} {what}", weight.name), &self.device.read(memory)?));
            }
        }
        if !self.targets.is_empty() {
            let last = (self.options.microbatches - 1) % self.slots.len();
            all.push(fingerprint("last output".into(), &self.device.read(&self.slots[last].output)?));
        }
        self.outcome.fingerprints.extend(all);
        Ok(())
    }

    fn memory(&self) -> Result<Memory> {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<usize>().ok());
        Ok(Memory { resident: resident.unwrap_or(0) << 10, device: self.device.used()? })
    }
}

fn fingerprint(name: String, values: &[f32]) -> Fingerprint {
    let norm = values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
    Fingerprint { name, norm, hash: values::hash(values.iter().flat_map(|value| value.to_le_bytes())) }
}
