//! The demo's pictures, as SVG, drawn from recorded callbacks: for users without a trace viewer.
//!
//! | file | task |
//! |---|---|
//! | `recorded.rs` | operations and transfers of a capture, with their times |
//! | `rows.rs` | assigns operations and transfers to rows |
//! | `timeline.rs` | draws rows of regions over time |
//! | `fit.rs` | draws the time of transfers over their size |
//! | `sizes.rs` | the axis of sizes |

pub(crate) mod fit;
pub(crate) mod recorded;
pub(crate) mod rows;
mod sizes;
pub(crate) mod timeline;
