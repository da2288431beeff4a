//! A terminal on which each text is drawn over the one before.

use console::Term;

/// The terminal.
pub struct Screen {
    terminal: Term,
    drawn: usize,
}

impl Screen {
    /// Begins on the terminal of standard output.
    pub fn standard_output() -> Self {
        Self { terminal: Term::stdout(), drawn: 0 }
    }

    /// Returns the numbers of lines and of columns to draw in: a further line could not be drawn over.
    pub fn room(&self) -> [usize; 2] {
        let (height, width) = self.terminal.size();
        [usize::from(height).saturating_sub(1), width.into()]
    }

    /// Draws lines over the ones before.
    ///
    /// # Errors
    /// When the terminal takes nothing more; in words.
    pub fn draw(&mut self, lines: &[String]) -> Result<(), String> {
        let drawn =
            self.terminal.clear_last_lines(self.drawn).and_then(|()| self.terminal.write_line(&lines.join("\n")));
        self.drawn = lines.len();
        drawn.map_err(|error| format!("the terminal: {error}"))
    }
}
