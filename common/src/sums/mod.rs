//! Sums, fits and unions of operations and transfers.

pub mod channel_fits;
pub(crate) mod connections;
pub(crate) mod enough;
pub(crate) mod fit;
pub(crate) mod histograms;
pub(crate) mod intervals;
pub mod rate;
pub(crate) mod round_sums;
pub mod run_sums;
pub mod services;
pub(crate) mod significance;
pub(crate) mod window_sums;
