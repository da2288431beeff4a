//! Texts from elsewhere, made safe for a terminal.

/// Returns the text on one line, with control characters escaped, as in `\u{1b}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_not_commanded() {
        assert_eq!(visible("a\nb\u{1b}[2J\u{9b}\u{e4}"), "a\\nb\\u{1b}[2J\\u{9b}\u{e4}");
    }
}
