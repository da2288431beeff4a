//! Looks Score-P's functions up, and decides whether a release that nobody has tried is used.

use super::release::MeasurementLibrary;
use super::symbols::{Symbols, address};
use super::{Measurement, trial};
use common::config::{self, LaneChoice};
use common::{log, notes};

impl Measurement {
    /// Looks all symbols up.
    ///
    /// # Errors
    /// The reason why they are not used, in words.
    pub(super) fn look_up() -> Result<Self, String> {
        let library = MeasurementLibrary::loaded()?;
        // SAFETY: in a release that was tried the symbols have these types; in another one they are called after a
        // trial, or because the user forces it (NCCL_SCOREP_LANES=always).
        let found = unsafe { Symbols::find(address) };
        let measurement = found.map(Self).map_err(|lacking| format!("{library} does not export {lacking}"))?;
        if !library.was_tried() {
            measurement.may_be_used(&library)?;
        }
        Ok(measurement)
    }

    /// Decides whether a release that nobody has tried is used.
    ///
    /// # Errors
    /// The reason why not, in words.
    fn may_be_used(&self, library: &MeasurementLibrary) -> Result<(), String> {
        match config::settings().lanes {
            LaneChoice::Tried | LaneChoice::Off => {
                return Err(format!(
                    "{library} was not tried; NCCL_SCOREP_LANES=on tries it when the measurement begins"
                ));
            }
            LaneChoice::Always => {}
            LaneChoice::On => trial::run(self).map_err(|flaw| {
                format!("{library} was not tried before, and a trial failed: {flaw} (docs/score-p.md, Releases)")
            })?,
        }
        let line = format!("{library} was not tried before. NCCL's lanes are written into it (NCCL_SCOREP_LANES)");
        log::info(&line);
        notes::add(line);
        Ok(())
    }
}
