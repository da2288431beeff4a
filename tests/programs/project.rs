//! Code and documents, installation, packages, scripts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop")]

#[path = "../architecture/main.rs"]
mod architecture;
#[path = "../commands/main.rs"]
mod commands;
#[path = "../gpu_scripts/main.rs"]
mod gpu_scripts;
#[path = "../install/main.rs"]
mod install;
#[path = "../kubernetes/main.rs"]
mod kubernetes;
#[path = "../readme.rs"]
mod readme;
#[path = "../wheel/main.rs"]
mod wheel;

#[path = "../support/mod.rs"]
mod support;
