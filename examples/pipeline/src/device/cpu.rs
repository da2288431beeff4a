//! The processor: plain loops, as the reference of the tests and for machines without GPUs.

use super::{Device, Factor, Matrix, Scales, checked};
use anyhow::{Result, ensure};
use std::time::Instant;

/// Computes on the calling thread; each call's work is done when it returns.
#[derive(Debug, Default)]
pub struct Cpu;

impl Device for Cpu {
    type Memory = Vec<f32>;
    type Mark = Instant;

    fn name(&self) -> String {
        "CPU".into()
    }

    fn allocate(&self, numbers: usize) -> Result<Vec<f32>> {
        Ok(vec![0.0; numbers])
    }

    fn length(&self, memory: &Vec<f32>) -> usize {
        memory.len()
    }

    fn write(&self, values: &[f32], memory: &mut Vec<f32>) -> Result<()> {
        ensure!(values.len() == memory.len(), "{} values for a memory of {}", values.len(), memory.len());
        memory.copy_from_slice(values);
        Ok(())
    }

    fn read(&self, memory: &Vec<f32>) -> Result<Vec<f32>> {
        Ok(memory.clone())
    }

    fn multiply(
        &self,
        Scales { scale, keep }: Scales,
        a: &Factor<'_, Vec<f32>>,
        b: &Factor<'_, Vec<f32>>,
        c: &mut Vec<f32>,
        place: Matrix,
    ) -> Result<()> {
        let (rows, columns, inner) = checked(self, a, b, c, place)?;
        let at = |factor: &Factor<'_, Vec<f32>>, row: usize, column: usize| {
            let Matrix { stride, offset, .. } = factor.matrix;
            let (row, column) = if factor.transposed { (column, row) } else { (row, column) };
            factor.memory[offset + row * stride + column]
        };
        for row in 0..rows {
            for column in 0..columns {
                let sum: f32 = (0..inner).map(|each| at(a, row, each) * at(b, each, column)).sum();
                let number = &mut c[place.offset + row * place.stride + column];
                *number = scale * sum + if keep == 0.0 { 0.0 } else { keep * *number };
            }
        }
        Ok(())
    }

    fn copy(&self, from: &Vec<f32>, to: &mut Vec<f32>) -> Result<()> {
        self.write(from, to)
    }

    fn add(&self, factor: f32, from: &Vec<f32>, to: &mut Vec<f32>) -> Result<()> {
        ensure!(from.len() == to.len(), "{} numbers cannot be added to {}", from.len(), to.len());
        to.iter_mut().zip(from).for_each(|(sum, number)| *sum += factor * number);
        Ok(())
    }

    fn scale(&self, factor: f32, memory: &mut Vec<f32>) -> Result<()> {
        memory.iter_mut().for_each(|number| *number *= factor);
        Ok(())
    }

    fn norm(&self, of: &Vec<f32>, into: &mut Vec<f32>, place: usize) -> Result<()> {
        ensure!(place < into.len(), "place {place} is not inside of a memory of {} numbers", into.len());
        into[place] = of.iter().map(|number| number * number).sum::<f32>().sqrt();
        Ok(())
    }

    fn mark(&self) -> Result<Instant> {
        Ok(Instant::now())
    }

    fn seconds(&self, from: &Instant, to: &Instant) -> Result<f64> {
        Ok(to.saturating_duration_since(*from).as_secs_f64())
    }

    fn used(&self) -> Result<usize> {
        Ok(0)
    }
}
