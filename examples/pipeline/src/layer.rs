//! A layer of a transformer: its matrix products, forward and backward.
//!
//! With x the input of n tokens, h numbers each:
//!
//! - attention: Q, K, V = x Wqkv; S = Q K' / (n sqrt(h)); y = x + S V Wout
//! - feed-forward: z = y + y Wup Wdown, with 4 h numbers inside
//!
//! Softmax, norms and GELU are left out: beside the products they take little time, and without them the program needs
//! no compiler for the GPU. The attention of three factors makes the layer no linear function, nevertheless.

use crate::device::{Device, Factor, Matrix, Scales};
use crate::values;
use crate::work::Work;
use anyhow::Result;

const SET: Scales = Scales { scale: 1.0, keep: 0.0 };
const ADD: Scales = Scales { scale: 1.0, keep: 1.0 };

/// Sizes of all layers.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// Tokens of a micro-batch.
    pub tokens: usize,
    /// Numbers of a token.
    pub hidden: usize,
}

impl Shape {
    fn tokens_by(self, columns: usize) -> Matrix {
        Matrix::whole(self.tokens, columns)
    }

    /// Returns the numbers of what goes from a layer to the next one.
    pub fn activations(self) -> usize {
        self.tokens * self.hidden
    }

    /// Returns the numbers of the largest product.
    pub fn largest(self) -> usize {
        4 * self.hidden * self.hidden.max(self.tokens) + self.tokens * self.tokens
    }

    fn attention_scale(self) -> f32 {
        1.0 / ((self.hidden as f32).sqrt() * self.tokens as f32)
    }
}

/// A matrix that is trained: `rows` inputs to `columns` outputs.
#[derive(Debug)]
pub struct Weight<M> {
    /// Its name in the whole model.
    pub name: String,
    /// The matrix.
    pub place: Matrix,
    /// Its numbers.
    pub value: M,
    /// Their gradient in this step.
    pub gradient: M,
}

impl<M> Weight<M> {
    fn new<D: Device<Memory = M>>(device: &D, name: String, place: Matrix, scale: f32) -> Result<Self> {
        let mut value = device.allocate(place.end())?;
        let scale = scale / (place.rows as f32).sqrt();
        device.write(&values::spread(&name, place.end(), scale), &mut value)?;
        Ok(Self { name, place, value, gradient: device.allocate(place.end())? })
    }

    /// output = input W, or output += input W.
    fn forward<D: Device<Memory = M>>(
        &self,
        work: &mut Work<'_, D>,
        scales: Scales,
        (input, input_place): (&M, Matrix),
        (output, output_place): (&mut M, Matrix),
    ) -> Result<()> {
        let (input, own) = (Factor::of(input, input_place), Factor::of(&self.value, self.place));
        work.multiply(scales, &input, &own, output, output_place)
    }

    /// The gradient of W, to which each micro-batch but the first adds: input' gradient of the output.
    fn backward_weight<D: Device<Memory = M>>(
        &mut self,
        work: &mut Work<'_, D>,
        is_first: bool,
        (input, input_place): (&M, Matrix),
        (of_output, output_place): (&M, Matrix),
    ) -> Result<()> {
        let (input, of_output) = (Factor::transposed(input, input_place), Factor::of(of_output, output_place));
        work.multiply(if is_first { SET } else { ADD }, &input, &of_output, &mut self.gradient, self.place)
    }

    /// The gradient of the input, or what is added to it: gradient of the output W'.
    fn backward_input<D: Device<Memory = M>>(
        &self,
        work: &mut Work<'_, D>,
        scales: Scales,
        (of_output, output_place): (&M, Matrix),
        (of_input, input_place): (&mut M, Matrix),
    ) -> Result<()> {
        let (of_output, own) = (Factor::of(of_output, output_place), Factor::transposed(&self.value, self.place));
        work.multiply(scales, &of_output, &own, of_input, input_place)
    }
}

/// What the backward of a micro-batch needs of its forward, for one layer.
#[derive(Debug)]
pub struct Kept<M> {
    /// The layer's input.
    pub input: M,
    middle: M,
    inner: Inner<M>,
}

impl<M> Kept<M> {
    /// Makes the memories.
    ///
    /// # Errors
    ///
    /// The device's, where they do not fit.
    pub fn new<D: Device<Memory = M>>(device: &D, shape: Shape) -> Result<Self> {
        let one = shape.activations();
        Ok(Self { input: device.allocate(one)?, middle: device.allocate(one)?, inner: Inner::new(device, shape)? })
    }
}

/// Values inside a layer. Their gradients, while its backward runs, are alike; all layers use the same memories for these.
#[derive(Debug)]
pub struct Inner<M> {
    qkv: M,
    scores: M,
    attended: M,
    up: M,
}

impl<M> Inner<M> {
    /// Makes the memories.
    ///
    /// # Errors
    ///
    /// The device's, where they do not fit.
    pub fn new<D: Device<Memory = M>>(device: &D, shape: Shape) -> Result<Self> {
        let (one, tokens) = (shape.activations(), shape.tokens);
        Ok(Self {
            qkv: device.allocate(3 * one)?,
            scores: device.allocate(tokens * tokens)?,
            attended: device.allocate(one)?,
            up: device.allocate(4 * one)?,
        })
    }
}

/// The weights of a layer.
#[derive(Debug)]
pub struct Layer<M> {
    shape: Shape,
    qkv: Weight<M>,
    out: Weight<M>,
    up: Weight<M>,
    down: Weight<M>,
}

impl<M> Layer<M> {
    /// Makes a layer of the model; its values depend on its number alone.
    ///
    /// # Errors
    ///
    /// The device's, where it does not fit.
    pub fn new<D: Device<Memory = M>>(device: &D, shape: Shape, number: usize) -> Result<Self> {
        let hidden = shape.hidden;
        // the residual branches are small, so that many layers neither vanish nor explode
        let weight = |name: &str, rows, columns, scale| {
            Weight::new(device, format!("layer {number} {name}"), Matrix::whole(rows, columns), scale)
        };
        Ok(Self {
            shape,
            qkv: weight("qkv", hidden, 3 * hidden, 1.0)?,
            out: weight("out", hidden, hidden, 0.1)?,
            up: weight("up", hidden, 4 * hidden, 1.0)?,
            down: weight("down", 4 * hidden, hidden, 0.1)?,
        })
    }

    /// Returns the weights.
    pub fn weights(&self) -> [&Weight<M>; 4] {
        [&self.qkv, &self.out, &self.up, &self.down]
    }

    /// Computes the output of `kept.input`, and keeps what the backward needs.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn forward<D: Device<Memory = M>>(
        &self,
        work: &mut Work<'_, D>,
        kept: &mut Kept<M>,
        output: &mut M,
    ) -> Result<()> {
        let Shape { tokens, hidden } = self.shape;
        let [one, three, four] = [1, 3, 4].map(|times| self.shape.tokens_by(times * hidden));
        let scores = Matrix::whole(tokens, tokens);
        let [queries, keys, values] = [0, 1, 2].map(|part| three.columns(part * hidden, hidden));
        let scaled = Scales { scale: self.shape.attention_scale(), keep: 0.0 };

        self.qkv.forward(work, SET, (&kept.input, one), (&mut kept.inner.qkv, three))?;
        let (query, key) = (Factor::of(&kept.inner.qkv, queries), Factor::transposed(&kept.inner.qkv, keys));
        work.multiply(scaled, &query, &key, &mut kept.inner.scores, scores)?;
        let (score, value) = (Factor::of(&kept.inner.scores, scores), Factor::of(&kept.inner.qkv, values));
        work.multiply(SET, &score, &value, &mut kept.inner.attended, one)?;
        work.device.copy(&kept.input, &mut kept.middle)?;
        self.out.forward(work, ADD, (&kept.inner.attended, one), (&mut kept.middle, one))?;

        self.up.forward(work, SET, (&kept.middle, one), (&mut kept.inner.up, four))?;
        work.device.copy(&kept.middle, output)?;
        self.down.forward(work, ADD, (&kept.inner.up, four), (output, one))
    }

    /// Makes the gradient of the output that of the input, and adds to the weights' gradients.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn backward<D: Device<Memory = M>>(
        &mut self,
        work: &mut Work<'_, D>,
        is_first: bool,
        kept: &Kept<M>,
        inner: &mut Inner<M>,
        gradient: &mut M,
    ) -> Result<()> {
        let Shape { tokens, hidden } = self.shape;
        let [one, three, four] = [1, 3, 4].map(|times| self.shape.tokens_by(times * hidden));
        let scores = Matrix::whole(tokens, tokens);
        let [queries, keys, values] = [0, 1, 2].map(|part| three.columns(part * hidden, hidden));
        let scaled = Scales { scale: self.shape.attention_scale(), keep: 0.0 };

        self.down.backward_weight(work, is_first, (&kept.inner.up, four), (gradient, one))?;
        self.down.backward_input(work, SET, (gradient, one), (&mut inner.up, four))?;
        self.up.backward_weight(work, is_first, (&kept.middle, one), (&inner.up, four))?;
        self.up.backward_input(work, ADD, (&inner.up, four), (gradient, one))?;

        self.out.backward_weight(work, is_first, (&kept.inner.attended, one), (gradient, one))?;
        self.out.backward_input(work, SET, (gradient, one), (&mut inner.attended, one))?;
        let of_attended = Factor::of(&inner.attended, one);
        let value = Factor::transposed(&kept.inner.qkv, values);
        work.multiply(SET, &of_attended, &value, &mut inner.scores, scores)?;
        let score = Factor::transposed(&kept.inner.scores, scores);
        work.multiply(SET, &score, &of_attended, &mut inner.qkv, values)?;
        let (of_score, key) = (Factor::of(&inner.scores, scores), Factor::of(&kept.inner.qkv, keys));
        work.multiply(scaled, &of_score, &key, &mut inner.qkv, queries)?;
        let (of_score, query) = (Factor::transposed(&inner.scores, scores), Factor::of(&kept.inner.qkv, queries));
        work.multiply(scaled, &of_score, &query, &mut inner.qkv, keys)?;
        self.qkv.backward_weight(work, is_first, (&kept.input, one), (&inner.qkv, three))?;
        self.qkv.backward_input(work, ADD, (&inner.qkv, three), (gradient, one))
    }

    /// Takes a step down the gradient.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn update<D: Device<Memory = M>>(&mut self, device: &D, rate: f32) -> Result<()> {
        for weight in [&mut self.qkv, &mut self.out, &mut self.up, &mut self.down] {
            device.add(-rate, &weight.gradient, &mut weight.value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Cpu;

    const SHAPE: Shape = Shape { tokens: 3, hidden: 4 };

    /// Half of the squared norm of the output, and the gradient of the input by the layer.
    fn loss(layer: &mut Layer<Vec<f32>>, input: &[f32]) -> (f64, Vec<f32>) {
        let mut work = Work::new(&Cpu, 1.0, SHAPE.largest()).unwrap();
        let mut kept = Kept::new(&Cpu, SHAPE).unwrap();
        kept.input.copy_from_slice(input);
        let mut output = vec![0.0; SHAPE.activations()];
        layer.forward(&mut work, &mut kept, &mut output).unwrap();
        let loss = output.iter().map(|&number| f64::from(number).powi(2)).sum::<f64>() / 2.0;
        let mut inner = Inner::new(&Cpu, SHAPE).unwrap();
        layer.backward(&mut work, true, &kept, &mut inner, &mut output).unwrap();
        (loss, output)
    }

    /// The gradients are the differences of the loss.
    #[test]
    fn gradients_are_differences() {
        let mut layer = Layer::new(&Cpu, SHAPE, 0).unwrap();
        let input = values::spread("input", SHAPE.activations(), 1.0);
        let (_, of_input) = loss(&mut layer, &input);
        let by = 1e-2;
        let close = |what: &str, gradient: f32, above: f64, below: f64| {
            let difference = (above - below) / (2.0 * f64::from(by));
            assert!((f64::from(gradient) - difference).abs() < 2e-2 * (1.0 + difference.abs()), "{what} {difference}");
        };
        for place in 0..input.len() {
            let moved = |by: f32| {
                let mut moved = input.clone();
                moved[place] += by;
                moved
            };
            let (above, below) = (loss(&mut layer, &moved(by)).0, loss(&mut layer, &moved(-by)).0);
            close(&format!("input {place}"), of_input[place], above, below);
        }
        for weight in 0..4 {
            let pick = |layer: &mut Layer<Vec<f32>>, place: usize, by: f32| {
                let own = [&mut layer.qkv, &mut layer.out, &mut layer.up, &mut layer.down];
                own.into_iter().nth(weight).unwrap().value[place] += by;
            };
            loss(&mut layer, &input);
            let gradient = layer.weights()[weight].gradient.clone();
            for (place, &own) in gradient.iter().enumerate() {
                pick(&mut layer, place, by);
                let above = loss(&mut layer, &input).0;
                pick(&mut layer, place, -2.0 * by);
                let below = loss(&mut layer, &input).0;
                pick(&mut layer, place, by);
                close(&format!("weight {weight} {place}"), own, above, below);
            }
        }
    }
}
