//! Basics that every other module builds on: memory, threads, locks, log lines and files.

pub(crate) mod answer;
pub(crate) mod bell;
pub mod birth;
pub mod cancel;
pub mod files;
pub mod guard;
pub mod host_name;
pub mod last_work;
pub(crate) mod lock;
pub mod log;
pub mod mapping;
pub mod moments;
pub mod notes;
pub mod own_thread;
pub mod patience;
pub mod pause;
pub(crate) mod random;
pub mod rank;
pub mod ranks;
pub(crate) mod reserve;
pub mod shortage;
pub(crate) mod signal;
pub mod switch;
pub(crate) mod sync;
pub(crate) mod unseen;
pub mod visible;
