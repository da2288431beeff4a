//! Sums, fits and unions of operations and transfers.

pub mod connections;
pub(crate) mod enough;
pub(crate) mod fit;
pub(crate) mod intervals;
pub mod rate;
pub(crate) mod sent;
pub mod services;
pub(crate) mod spread;
pub mod totals;
pub(crate) mod traffic;
