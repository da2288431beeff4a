//! The installed library and the installed NCCLs, with their versions and features.

pub(crate) mod library;
pub(crate) mod loader;
pub(crate) mod nccl_files;
pub(crate) mod probe;
pub(crate) mod program;
