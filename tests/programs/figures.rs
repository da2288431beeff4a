//! Figures: sums, times and rates of recorded and made runs, against references.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

#[path = "../begins.rs"]
mod begins;
#[path = "../channels.rs"]
mod channels;
#[path = "../compared.rs"]
mod compared;
#[path = "../determinism.rs"]
mod determinism;
#[path = "../figures.rs"]
mod figures;
#[path = "../links.rs"]
mod links;
#[path = "../played.rs"]
mod played;
#[path = "../processes/main.rs"]
mod processes;
#[path = "../reference_checks.rs"]
mod reference_checks;
#[path = "../states.rs"]
mod states;
#[path = "../truth.rs"]
mod truth;
#[path = "../unseen.rs"]
mod unseen;

#[path = "../support/mod.rs"]
mod support;
