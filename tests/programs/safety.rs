//! Harm to a job: limits, signals, memory, files, instructions.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../harm/main.rs"]
mod harm;
#[path = "../harm_memory.rs"]
mod harm_memory;
#[path = "../instructions/main.rs"]
mod instructions;
#[path = "../killed.rs"]
mod killed;
#[path = "../lasting.rs"]
mod lasting;
#[path = "../memory.rs"]
mod memory;
#[path = "../names.rs"]
mod names;
#[path = "../stack.rs"]
mod stack;

#[path = "../support/mod.rs"]
mod support;
