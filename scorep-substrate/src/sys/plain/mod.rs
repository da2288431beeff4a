//! The interfaces, written by hand, for builds without Score-P's headers. Field names are Score-P's, as in the
//! generated declarations.

mod callbacks;
mod definition;
mod metric;
mod substrate;

pub use callbacks::*;
pub use definition::*;
pub use metric::*;
pub use substrate::*;
