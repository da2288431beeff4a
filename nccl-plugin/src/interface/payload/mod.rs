//! The structures that NCCL's event descriptors consist of (`structures`), their conversion (`structure`, `number`,
//! `network`), and the arguments of a state change. tests/layouts of the workspace proves that the members lie where a
//! C compiler lays them.

mod arguments;
pub(crate) mod network;
pub(crate) mod number;
mod structure;
pub(crate) mod structures;

pub use arguments::{OldArguments, StateArguments, StateUnion};
pub use network::CONTENTS;
pub(crate) use network::NetPlugin;
pub use structure::CMember;
pub(crate) use structure::{Structure, members};
