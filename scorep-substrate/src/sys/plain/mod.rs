//! The interfaces, written by hand: for builds without Score-P's headers. Field names are Score-P's, as they are when
//! the headers are read.

mod definition;
mod metric;
mod substrate;

pub use definition::*;
pub use metric::*;
pub use substrate::*;
