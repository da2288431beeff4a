//! Made jobs through the stream to all parts, and the jobs, occurrences and calls that the parts' own tests are made
//! of.

pub(crate) mod calls;
mod conditions;
pub(in crate::analysis) mod occurrences;
mod through;
