//! Those who look on while the parts are made: they see each call with what the analysis knows of it.

use crate::job::Job;
use crate::stream::JudgedCall;

/// Where a call is in the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed<'a> {
    /// Its step, counted behind the warm-up; `None` outside of these.
    pub step: Option<u64>,
    /// The dimension of parallelism that its communicator serves; `unknown` where nothing says.
    pub dimension: &'a str,
}

/// One who sees all calls of a job.
pub trait Onlooker {
    /// The next call of a GPU, in the order in which its host enqueued them.
    fn call(&mut self, job: &Job, judged: &JudgedCall, placed: &Placed<'_>);
}
