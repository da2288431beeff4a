//! Texts that come from elsewhere, on their way to a terminal.

/// The same text on one line: whatever a terminal would obey is a question mark.
pub fn visible(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_commanded() {
        assert_eq!(visible("a\nb\u{1b}[2J\u{9b}\u{e4}"), "a?b?[2J?\u{e4}");
    }
}
