//! The environment that a job needs, printed for a shell (`env`) or set for a command (`run`).

mod child_signal;
mod companion;
pub(crate) mod env;
mod environment;
pub(crate) mod ranks;
pub(crate) mod run;
mod shell;
