//! Lists with a bound: a reader of foreign files takes no more memory than the library's own files need.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;
use std::marker::PhantomData;

/// Reads a list of at most so many entries.
///
/// # Errors
/// It has more, or it is no such list.
pub fn at_most<'de, const MOST: usize, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Vec<T>, D::Error> {
    struct List<const MOST: usize, T>(PhantomData<T>);

    impl<'de, const MOST: usize, T: Deserialize<'de>> Visitor<'de> for List<MOST, T> {
        type Value = Vec<T>;

        fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(to, "a list of at most {MOST} entries")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Vec<T>, A::Error> {
            let mut list = Vec::new();
            while let Some(entry) = entries.next_element()? {
                if list.len() == MOST {
                    return Err(A::Error::custom(format_args!("a list has more than {MOST} entries")));
                }
                list.push(entry);
            }
            Ok(list)
        }
    }

    from.deserialize_seq(List::<MOST, T>(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::super::{MOST_COMMUNICATORS, Status};

    #[test]
    fn a_list_that_is_too_long_is_refused() {
        let status = |count: usize| format!("{{\"communicators\": [{}]}}", vec!["{}"; count].join(","));
        let read = |count| serde_json::from_str::<Status>(&status(count)).map(|status| status.communicators.len());
        assert_eq!(read(MOST_COMMUNICATORS).unwrap(), MOST_COMMUNICATORS);
        assert!(read(MOST_COMMUNICATORS + 1).unwrap_err().to_string().starts_with("a list has more than 64 entries"));
    }
}
