//! Texts from elsewhere, made safe for a terminal.

/// Returns whether a character steers what shows it, instead of being shown: control characters, those that end a line,
/// and those that change the direction of the text around them, by which a name can look like another one.
pub fn steers(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the text on one line, with characters that steer a terminal escaped, as in `\u{1b}`.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if steers(letter) {
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
        let turned = "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}\u{200e}\u{200f}\u{61c}";
        assert!(visible(turned).is_ascii() && visible("\u{2028}\u{2029}").is_ascii(), "{}", visible(turned));
        // letters that are written from right to left are shown
        assert_eq!(visible("\u{5d0}\u{627}\u{200d}"), "\u{5d0}\u{627}\u{200d}");
    }
}
