//! The view in a terminal: ranks by excess as bars, the state of the job, the newest findings.

use super::judge::finding::WatchFinding;
use super::judge::{JobState, RankState};
use common::origin::since_epoch;
use common::visible::visible;
use present::output::screen::Screen;
use std::collections::VecDeque;
use std::fmt::Write;

/// Findings that are kept for the view.
const FINDINGS: usize = 12;
/// Ranks of a job that are shown.
const RANKS: usize = 8;
/// Columns of a bar of 100 %.
const BAR: f64 = 40.0;

/// The view.
pub(super) struct View {
    screen: Screen,
    newest: VecDeque<String>,
}

impl View {
    pub(super) fn new() -> Self {
        Self { screen: Screen::standard_output(), newest: VecDeque::new() }
    }

    /// Draws the state after a look.
    ///
    /// # Errors
    /// When the terminal takes nothing more; in words.
    pub(super) fn draw(&mut self, findings: &[WatchFinding], states: &[JobState]) -> Result<(), String> {
        for finding in findings {
            self.newest.push_back(format!("{} {}", finding.time, visible(&finding.text)));
        }
        let excess = self.newest.len().saturating_sub(FINDINGS);
        self.newest.drain(..excess);
        let [height, width] = self.screen.room();
        // a line that the terminal breaks could not be drawn over
        let fit = |line: &str| line.chars().take(width.saturating_sub(1)).collect::<String>();
        let text = text(states, &self.newest);
        self.screen.draw(&text.lines().map(fit).take(height.max(1)).collect::<Vec<String>>())
    }
}

fn text(states: &[JobState], newest: &VecDeque<String>) -> String {
    let mut text = String::new();
    let now = since_epoch().as_nanos() as u64;
    if states.is_empty() {
        text.push_str("no state file yet\n");
    }
    for state in states {
        // writing to a string does not fail
        let _ = write!(
            text,
            "{}: {} processes, {} run, verdict {}",
            visible(state.name.as_deref().unwrap_or("job")),
            state.processes.all,
            state.processes.running,
            format!("{:?}", state.verdict).to_lowercase()
        );
        if !state.is_over && state.oldest > 0 {
            let _ = write!(text, ", oldest file {} s", now.saturating_sub(state.oldest) / 1_000_000_000);
        }
        let _ = writeln!(text, ", {} slow links, {} slow nodes", state.slow_links, state.slow_nodes);
        state.causes.iter().for_each(|cause| _ = writeln!(text, "  {cause}"));
        let mut ranks: Vec<&RankState> = state.ranks.iter().collect();
        ranks.sort_by(|one, other| other.excess.total_cmp(&one.excess));
        for rank in ranks.iter().take(RANKS) {
            let name = format!("rank {} {}", rank.process.rank, visible(rank.process.host.as_deref().unwrap_or("")));
            let bar = "█".repeat((rank.excess.clamp(0.0, 1.0) * BAR).round() as usize);
            let sign = if rank.stands { "stands out" } else { "" };
            let _ = writeln!(text, "  {name:<28} {:>6.1} % {sign:<10} {bar}", 100.0 * rank.excess);
        }
    }
    newest.iter().for_each(|line| _ = writeln!(text, "{line}"));
    text
}
