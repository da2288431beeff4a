//! Words that all sentences use.

/// Says that an answer is absent.
pub(super) fn absent(reason: Option<&str>) -> String {
    format!("Not known: {}", reason.unwrap_or("the report does not have this part."))
}

/// Returns the text with a capital first letter.
pub(in crate::output) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
