//! What is installed here: the library, NCCL, and what they say of themselves.

pub(crate) mod library;
pub(crate) mod loader;
pub(crate) mod nccl_files;
pub(crate) mod probe;
pub(crate) mod program;
