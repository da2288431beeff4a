//! Recording: slots, windows, threads, and the callbacks that fill them.

pub mod callbacks;
pub mod context;
pub mod grace;
pub mod host_region;
pub(crate) mod network_events;
pub(crate) mod news;
pub(crate) mod payload;
pub mod pool;
pub mod recorder;
pub mod slot;
pub mod thread;
pub mod window;
