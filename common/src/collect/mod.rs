//! The collector: reads windows, assembles operations, works out figures.

pub(crate) mod assembly;
pub(crate) mod collector;
pub mod communicator;
pub mod course;
pub(crate) mod in_step;
pub(crate) mod operations;
pub(crate) mod pending_calls;
pub(crate) mod proxies;
pub(crate) mod pulse;
pub(crate) mod question;
pub(crate) mod reader;
pub mod round;
pub(crate) mod standing;
pub(crate) mod standstill;
pub(crate) mod step_queue;
pub(crate) mod table;
