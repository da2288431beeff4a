//! Intervals as bars in a terminal, drawn over the ones before.

use super::condition::ConditionStep;
use super::lines::{GIGABYTE, NO_FIGURES, called, further, watts};
use super::sampler::{Device, Interval};
use present::output::screen::Screen;
use std::fmt::Write;

/// Columns of a bar at most, and at least.
const BAR: [usize; 2] = [50, 10];
/// Columns beside the bar.
const TEXT: usize = 48;
/// Eighths of a column.
const EIGHTHS: [&str; 9] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];

/// The bars.
pub(super) struct Chart {
    screen: Screen,
    /// Largest rates so far, by kind of device: a bar of full length.
    largest: [f64; 3],
}

impl Chart {
    pub(super) fn new() -> Self {
        Self { screen: Screen::standard_output(), largest: [0.0; 3] }
    }

    /// Draws an interval over the one before.
    ///
    /// # Errors
    /// When the terminal takes nothing more; in words.
    pub(super) fn draw(&mut self, time: &str, interval: &Interval) -> Result<(), String> {
        let [most, least] = BAR;
        let [height, width] = self.screen.room();
        let text = self.text(time, interval, width.saturating_sub(TEXT).clamp(least, most));
        self.screen.draw(&fitting(text.lines().map(str::to_owned).collect(), height))
    }

    fn text(&mut self, time: &str, interval: &Interval, columns: usize) -> String {
        for row in &interval.rows {
            let largest = &mut self.largest[scale(&row.device)];
            *largest = largest.max(row.rate.sent).max(row.rate.received);
        }
        let mut text = format!("{time}  GB/s; full bars: a GPU's limit, the largest rate\n");
        for step in &interval.conditions {
            text.push_str(&gpu(step, columns));
        }
        for row in &interval.rows {
            let name = called(&row.device);
            for (name, way, rate) in [(name.as_str(), "sent", row.rate.sent), ("", "received", row.rate.received)] {
                let bar = bar(rate, self.largest[scale(&row.device)], columns);
                let rate = rate / GIGABYTE;
                // writing to a string does not fail
                let _ = writeln!(text, "{name:<20} {way:<8} {rate:8.3} {bar}");
            }
        }
        text
    }
}

/// Returns a GPU's clock, power and use as bars of their limits, and its other figures in further lines.
fn gpu(step: &ConditionStep, columns: usize) -> String {
    let (now, mut text) = (&step.now, String::new());
    let clock = now.sm_clock_mhz.map(|mhz| ("SM clock", format!("{mhz} MHz"), mhz, now.sm_clock_max_mhz));
    let power = now.power_mw.map(|mw| ("power", format!("{} W", watts(mw)), mw, now.power_limit_mw));
    let used = now.gpu_use_percent.map(|percent| ("used", format!("{percent} %"), percent, Some(100)));
    let mut name = format!("{} GPU", step.bus);
    for (figure, value, of, limit) in [clock, power, used].into_iter().flatten() {
        let bar = limit.map_or_else(String::new, |limit| bar(f64::from(of), f64::from(limit), columns));
        // writing to a string does not fail
        let _ = writeln!(text, "{name:<20} {figure:<8} {value:>8} {bar}");
        name.clear();
    }
    for further in further(step) {
        // a line that the terminal breaks could not be drawn over
        let line: String = format!("{name:<20} {further}").chars().take(TEXT + columns - 1).collect();
        let _ = writeln!(text, "{line}");
        name.clear();
    }
    if text.is_empty() { format!("{name:<20} {NO_FIGURES}\n") } else { text }
}

/// Returns the lines of a screen with this number of lines, since those beyond it could not be drawn over. The last one
/// says how many are not shown.
fn fitting(mut lines: Vec<String>, height: usize) -> Vec<String> {
    let hidden = lines.len().saturating_sub(height);
    if hidden > 0 {
        lines.truncate(height.saturating_sub(1));
        lines.push(format!("{} more lines; --lines shows all", hidden + 1));
    }
    lines
}

/// Returns the place of the largest rate among [`Chart::largest`].
fn scale(device: &Device) -> usize {
    match device {
        Device::NvLink(_) | Device::Link(..) => 0,
        Device::Pcie(_) => 1,
        Device::Adapter(_) => 2,
    }
}

fn bar(rate: f64, largest: f64, columns: usize) -> String {
    let share = if largest > 0.0 { (rate / largest).clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * (columns * 8) as f64).round() as usize;
    EIGHTHS[8].repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

#[cfg(test)]
mod tests {
    use super::super::sampler::CounterStep;
    use super::*;
    use common::hardware::Ways;
    use common::hardware::nvml::condition::GpuCondition;

    #[test]
    fn a_bar_is_a_share_of_the_largest_rate() {
        assert_eq!([bar(0.0, 0.0, 10), bar(5.0, 10.0, 4), bar(3.0, 8.0, 1), bar(9.0, 8.0, 2)], ["", "██", "▍", "██"]);
        let mut chart = Chart::new();
        let mut bars = |sent: f64| {
            let rows = [Device::NvLink("a".into()), Device::Adapter("b".into())];
            let rows =
                rows.map(|device| CounterStep { device, bytes: None, rate: Ways { sent, received: 0.0 } }).into();
            let text = chart.text("12:00:00", &Interval { seconds: 1.0, rows, conditions: vec![] }, 8);
            text.lines().map(|line| line.matches('█').count()).collect::<Vec<_>>()
        };
        assert_eq!([bars(8e9), bars(4e9)], [[0, 8, 0, 8, 0], [0, 4, 0, 4, 0]]);
    }

    #[test]
    fn a_gpus_figures_are_shares_of_their_limits() {
        let mut now = GpuCondition { sm_clock_mhz: Some(990), sm_clock_max_mhz: Some(1980), ..GpuCondition::default() };
        now = GpuCondition { power_mw: Some(700_400), power_limit_mw: Some(700_000), gpu_use_percent: Some(0), ..now };
        now = GpuCondition { temperature_c: Some(71), pcie_generation: Some(5), pcie_width: Some(16), ..now };
        now = GpuCondition { throttle: Some(4), ecc_uncorrected: Some(1), ..now };
        let mut step = ConditionStep { bus: "0000:0A:00.0".into(), seconds: 1.0, now, before: now, xids: None };
        let expected = "0000:0A:00.0 GPU     SM clock  990 MHz ████\n\
                        \u{20}                    power       700 W ████████\n\
                        \u{20}                    used          0 % \n\
                        \u{20}                    71 C, PCIe 5 x16\n\
                        \u{20}                    throttle: power cap\n\
                        \u{20}                    ECC uncorrected: 1\n";
        assert_eq!(gpu(&step, 8), expected);
        // a terminal of 48 columns, which has no room for bars
        assert_eq!(gpu(&step, 0).lines().map(|line| line.chars().count()).max(), Some(40));
        step.now.throttle = Some(0xff);
        assert_eq!(gpu(&step, 0).lines().map(|line| line.chars().count()).max(), Some(47));
        // a GPU that fails; without a limit there is no bar
        step.now = GpuCondition::default();
        assert_eq!(gpu(&step, 8), "0000:0A:00.0 GPU     no figures\n");
        step.now = GpuCondition { sm_clock_mhz: Some(990), ..GpuCondition::default() };
        assert_eq!(gpu(&step, 8), "0000:0A:00.0 GPU     SM clock  990 MHz \n");
    }

    #[test]
    fn lines_that_do_not_fit_are_counted() {
        let lines = |height| fitting(["a", "b", "c", "d"].map(str::to_owned).into(), height);
        assert_eq!(lines(4), ["a", "b", "c", "d"]);
        assert_eq!(lines(3), ["a", "b", "2 more lines; --lines shows all"]);
    }
}
