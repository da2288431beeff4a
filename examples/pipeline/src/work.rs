//! The products of a stage, and what makes it slow on purpose.

use crate::device::{Device, Factor, Matrix, Scales};
use anyhow::Result;

/// Multiplies on a device. A slow stage does part of its products again, into a memory that nobody reads: it computes
/// the same, later.
#[derive(Debug)]
pub struct Work<'a, D: Device> {
    /// The device.
    pub device: &'a D,
    /// Products to be made for each one that is asked for: 1 or more.
    factor: f64,
    /// What is owed of them.
    owed: f64,
    spare: Option<D::Memory>,
}

impl<'a, D: Device> Work<'a, D> {
    /// Returns the products of a stage whose largest one has `largest` numbers.
    ///
    /// # Errors
    ///
    /// The device's, where the memory of a slow stage does not fit.
    pub fn new(device: &'a D, factor: f64, largest: usize) -> Result<Self> {
        let spare = if factor > 1.0 { Some(device.allocate(largest)?) } else { None };
        Ok(Self { device, factor, owed: 0.0, spare })
    }

    /// C = scale A B + keep C.
    ///
    /// # Errors
    ///
    /// The device's.
    pub fn multiply(
        &mut self,
        scales: Scales,
        a: &Factor<'_, D::Memory>,
        b: &Factor<'_, D::Memory>,
        c: &mut D::Memory,
        place: Matrix,
    ) -> Result<()> {
        self.device.multiply(scales, a, b, c, place)?;
        let Some(spare) = &mut self.spare else { return Ok(()) };
        self.owed += self.factor - 1.0;
        while self.owed >= 1.0 {
            self.owed -= 1.0;
            let unread = Matrix { offset: 0, ..place };
            self.device.multiply(Scales { keep: 0.0, ..scales }, a, b, spare, unread)?;
        }
        Ok(())
    }
}
