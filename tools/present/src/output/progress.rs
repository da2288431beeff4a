//! A bar for work that takes longer than a second.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::time::{Duration, Instant};

/// How long the work goes on without a bar.
const QUIET: Duration = Duration::from_secs(1);

/// A progress bar on standard error, which is drawn on a terminal only, from the second second on.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
    begun: Instant,
    is_shown: bool,
}

impl Progress {
    /// Begins work of that many things: `verb` says what is done, `noun` what they are.
    pub fn new(verb: &str, noun: &str, all: u64) -> Self {
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::hidden());
        let template = format!("{verb} {{wide_bar}} {{human_pos}} of {{human_len}} {noun}, {{eta}}");
        if let Ok(style) = ProgressStyle::with_template(&template) {
            bar.set_style(style);
        }
        Self { bar, begun: Instant::now(), is_shown: false }
    }

    /// Adds things that are done.
    pub fn add(&mut self, done: u64) {
        if !self.is_shown && self.begun.elapsed() >= QUIET {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.is_shown = true;
        }
        self.bar.inc(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
