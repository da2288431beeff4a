//! Rates of links: one for all communicators, or a file with a line for each.

use super::text_file;
use report::job::{Links, Unreadable};
use std::path::Path;

/// Largest rate that a link may have, Gbit/s.
const MAX_GBIT_S: f64 = 1e6;

/// Returns the rates that `--link-gbps` gives: a number of Gbit/s, or a file with lines `<communicator> <Gbit/s>`. The
/// communicator is an id of 16 hexadecimal digits, or `*` for all others. Empty lines and `#` comments are passed
/// over.
///
/// # Errors
/// The file, the line and the cause.
pub(super) fn parse(text: &str) -> Result<Links, Unreadable> {
    if let Ok(rate) = text.parse() {
        let others = Some(checked(rate).map_err(|cause| Unreadable::whole("--link-gbps", cause))?);
        return Ok(Links { others, ..Links::default() });
    }
    let content = text_file::read(Path::new(text), text_file::LINES).map_err(|error| {
        let cause = format!("{}; --link-gbps needs a number of Gbit/s or a file", error.cause);
        Unreadable { cause, ..error }
    })?;
    of_file(text, &content)
}

fn of_file(file: &str, content: &str) -> Result<Links, Unreadable> {
    let mut links = Links::default();
    for (number, words) in text_file::lines(content) {
        let wrong = |cause: String| Unreadable::whole(file, cause).at(format!("line {number}"));
        let [comm, rate] = words[..] else {
            return Err(wrong("it needs a communicator and a rate in Gbit/s".into()));
        };
        let rate = rate.parse().map_err(|_| format!("{rate} is no number of Gbit/s"));
        let rate = rate.and_then(checked).map_err(&wrong)?;
        let before = if comm == "*" {
            links.others.replace(rate)
        } else {
            let id = u64::from_str_radix(comm, 16)
                .map_err(|_| wrong(format!("{comm} is no communicator's id of hexadecimal digits, and not *")))?;
            links.by_comm.insert(id, rate)
        };
        if before.is_some() {
            return Err(wrong(format!("{comm} has a rate already")));
        }
    }
    if links == Links::default() {
        return Err(Unreadable::whole(file, "it has no rates: give lines of a communicator and a rate in Gbit/s"));
    }
    Ok(links)
}

fn checked(rate: f64) -> Result<f64, String> {
    if rate > 0.0 && rate <= MAX_GBIT_S { Ok(rate) } else { Err(format!("{rate} is no rate of a link, Gbit/s")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::stream::CallKind;

    #[test]
    fn a_number_is_for_all_and_a_file_for_each() {
        assert_eq!(parse("400").unwrap(), Links { others: Some(400.0), ..Links::default() });
        // GB/s
        assert_eq!(parse("400").unwrap().rate(7, CallKind::Collective), Some(50.0));
        let links = of_file("links", "# node to node\n00000000000000ab 200\n\n*\t100 # the others\n").unwrap();
        assert_eq!(
            [links.rate(0xab, CallKind::Collective), links.rate(0xac, CallKind::Collective)],
            [Some(25.0), Some(12.5)]
        );
    }

    #[test]
    fn errors_name_the_file_the_line_and_the_cause() {
        let errors = ["ab", "ab 1 2", "xy 1", "ab fast", "ab -1", "ab 1\nab 2", "# nothing", "ab NaN"]
            .map(|text| of_file("links", text).unwrap_err().to_string());
        let expected = [
            "links, line 1: it needs a communicator and a rate in Gbit/s",
            "links, line 1: it needs a communicator and a rate in Gbit/s",
            "links, line 1: xy is no communicator's id of hexadecimal digits, and not *",
            "links, line 1: fast is no number of Gbit/s",
            "links, line 1: -1 is no rate of a link, Gbit/s",
            "links, line 2: ab has a rate already",
            "links: it has no rates: give lines of a communicator and a rate in Gbit/s",
            "links, line 1: NaN is no rate of a link, Gbit/s",
        ];
        assert_eq!(errors, expected);
        assert_eq!(parse("0").unwrap_err().to_string(), "--link-gbps: 0 is no rate of a link, Gbit/s");
        assert!(parse("no/such/file").unwrap_err().to_string().starts_with("no/such/file: No such file"));
    }
}
