//! The numbers of a JSON text, each to be set to another one.

use serde_json::Value;
use std::collections::BTreeSet;

/// Values at and beyond the ends of the types that numbers have.
pub(crate) const EXTREMES: [&str; 7] =
    ["0", "-1", "2147483648", "9007199254740992", "9223372036854775808", "1e308", "NaN"];
/// The largest number of ranks that NCCL's type has.
pub(crate) const RANKS: &str = "2147483647";

/// Maps whose keys are names: one of their values stands for all.
const MAPS: [&str; 4] = ["counters", "untimed", "series", "variables"];

/// A step into a value.
#[derive(Debug, Clone)]
enum Step {
    Field(String),
    Place(usize),
}

/// A number of a text.
#[derive(Debug, Clone)]
pub(crate) struct Number {
    /// Its field, with `*` for any place in a list.
    pub(crate) field: String,
    steps: Vec<Step>,
}

/// Returns the numbers of a value; of those of one field in a list, the first. `seen` are the fields so far.
pub(crate) fn numbers(value: &Value, seen: &mut BTreeSet<String>, prefix: &str) -> Vec<Number> {
    let mut found = Vec::new();
    walk(value, &mut Number { field: prefix.into(), steps: vec![] }, seen, &mut found);
    found
}

fn walk(value: &Value, at: &mut Number, seen: &mut BTreeSet<String>, found: &mut Vec<Number>) {
    let mut below = |name: &str, step: Step, value: &Value, seen: &mut BTreeSet<String>| {
        let mut next = at.clone();
        next.field += name;
        next.steps.push(step);
        walk(value, &mut next, seen, found);
    };
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_name = MAPS.iter().any(|map| at.field.ends_with(&format!(".{map}")));
                let shown = if is_name { ".*".to_owned() } else { format!(".{name}") };
                below(&shown, Step::Field(name.clone()), value, seen);
            }
        }
        Value::Array(values) => {
            for (place, value) in values.iter().enumerate() {
                below("[*]", Step::Place(place), value, seen);
            }
        }
        Value::Number(_) if seen.insert(at.field.clone()) => found.push(at.clone()),
        _ => {}
    }
}

impl Number {
    /// Returns the text of a value in which this number is another one, which need not be one of JSON's.
    pub(crate) fn set(&self, value: &Value, to: &str) -> String {
        let mut value = value.clone();
        let mut place = &mut value;
        for step in &self.steps {
            place = match step {
                Step::Field(name) => &mut place[name.as_str()],
                Step::Place(number) => &mut place[*number],
            };
        }
        *place = Value::String("@number@".into());
        value.to_string().replace("\"@number@\"", to)
    }
}
