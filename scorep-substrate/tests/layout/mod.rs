//! Checks the layout of the declarations against the numbers measured with Score-P 8.4 on x86-64 and, if there are
//! headers, against bindgen's declarations. Those of 8.4 and 9.0 agree.
//!
//! One list is used for all: it has the offset of each field and the value of each constant. A check fails for a field
//! or type that the list or one of the declarations lacks.

mod list;

use super::plain;
use list::for_all;

#[cfg(scorep_headers)]
use super::generated;

/// A field, as C sees it.
#[derive(Debug, PartialEq, Eq)]
struct Field {
    name: &'static str,
    offset: usize,
    size: usize,
    /// Name of the type without modules; it distinguishes the arguments of callbacks.
    shape: String,
}

/// A struct, as C sees it.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    name: &'static str,
    size: usize,
    align: usize,
    fields: Vec<Field>,
}

/// Returns a type's name without the modules that declare its parts.
fn shape_of<T>() -> String {
    let parts =
        std::any::type_name::<T>().split_inclusive(|letter: char| !(letter.is_alphanumeric() || "_:".contains(letter)));
    parts.filter_map(|part| part.rsplit("::").next()).collect()
}

fn field<T>(name: &'static str, offset: usize, _: &T) -> Field {
    Field { name, offset, size: size_of::<T>(), shape: shape_of::<T>() }
}

/// Returns the shapes of all structs of the list, as the module declares them.
macro_rules! shapes {
    (
        $module:ident
        structs {
            $($name:ident($size:literal, $align:literal) { $($field:ident: $offset:literal,)* })*
        }
        types { $($types:tt)* }
        constants { $($constants:tt)* }
    ) => {
        vec![$({
            type This = $module::$name;
            // SAFETY: the struct consists of integers, arrays of integers, raw pointers and optional function pointers,
            // for which zero is a value. A generated field of another kind would show as a difference.
            let value: This = unsafe { std::mem::zeroed() };
            // without `..`, so that the list cannot lack a field
            let This { $($field,)* } = &value;
            Shape {
                name: stringify!($name),
                size: size_of::<This>(),
                align: align_of::<This>(),
                fields: vec![
                    $(field(stringify!($field), std::mem::offset_of!(This, $field), $field),)*
                ],
            }
        },)*]
    };
}

/// Returns name, size and alignment of each struct, and its fields with their offsets.
#[cfg(target_arch = "x86_64")]
type Measured = (&'static str, usize, usize, Vec<(&'static str, usize)>);

/// Returns the numbers in the list.
#[cfg(target_arch = "x86_64")]
macro_rules! measured {
    (
        $module:ident
        structs {
            $($name:ident($size:literal, $align:literal) { $($field:ident: $offset:literal,)* })*
        }
        types { $($types:tt)* }
        constants { $($constants:tt)* }
    ) => {
        vec![$((stringify!($name), $size, $align, vec![$((stringify!($field), $offset),)*]),)*]
    };
}

/// Returns all other types of the list, with the types that they stand for.
macro_rules! types {
    (
        $module:ident
        structs { $($structs:tt)* }
        types { $($name:ident,)* }
        constants { $($constants:tt)* }
    ) => {
        vec![$((stringify!($name), shape_of::<$module::$name>()),)*]
    };
}

/// Returns all constants of the list: name, value in the module, value in the list.
macro_rules! constants {
    (
        $module:ident
        structs { $($structs:tt)* }
        types { $($types:tt)* }
        constants { $($name:ident = $value:literal,)* }
    ) => {
        vec![$((stringify!($name), $module::$name, $value),)*]
    };
}

#[test]
#[cfg(target_arch = "x86_64")]
fn structs_have_the_measured_layout() {
    let measured: Vec<Measured> = for_all!(measured, plain);
    let declared: Vec<Shape> = for_all!(shapes, plain);
    let declared: Vec<Measured> = declared
        .into_iter()
        .map(|shape| {
            let offsets = shape.fields.iter().map(|field| (field.name, field.offset)).collect();
            (shape.name, shape.size, shape.align, offsets)
        })
        .collect();
    assert_eq!(declared, measured);
}

#[test]
fn fields_fill_their_structs() {
    let shapes: Vec<Shape> = for_all!(shapes, plain);
    for shape in shapes {
        let mut end = 0;
        for field in &shape.fields {
            assert!(field.offset >= end && field.offset < end + 8, "{}: before {field:?}", shape.name);
            end = field.offset + field.size;
        }
        assert_eq!(end, shape.size, "{}: behind the last field", shape.name);
    }
}

#[test]
fn constants_have_their_values() {
    let constants: Vec<(&str, u32, u32)> = for_all!(constants, plain);
    for (name, declared, listed) in &constants {
        assert_eq!(declared, listed, "{name}");
    }
}

/// Counts the lines of the hand-written declarations that begin with `keyword`.
fn declared(keyword: &str) -> usize {
    let files = [
        include_str!("../../src/sys/plain/callbacks.rs"),
        include_str!("../../src/sys/plain/definition.rs"),
        include_str!("../../src/sys/plain/metric.rs"),
        include_str!("../../src/sys/plain/substrate.rs"),
    ];
    files.iter().flat_map(|file| file.lines()).filter(|line| line.starts_with(keyword)).count()
}

#[test]
fn the_list_has_all_that_is_declared() {
    let structs: Vec<Shape> = for_all!(shapes, plain);
    let types: Vec<(&str, String)> = for_all!(types, plain);
    let constants: Vec<(&str, u32, u32)> = for_all!(constants, plain);
    assert_eq!(declared("pub struct ") + declared("pub type "), structs.len() + types.len());
    assert_eq!(declared("pub const "), constants.len());
}

#[test]
#[cfg(scorep_headers)]
fn structs_agree_with_the_headers() {
    let ours: Vec<Shape> = for_all!(shapes, plain);
    let theirs: Vec<Shape> = for_all!(shapes, generated);
    assert_eq!(ours, theirs);
}

#[test]
#[cfg(scorep_headers)]
fn types_agree_with_the_headers() {
    let ours: Vec<(&str, String)> = for_all!(types, plain);
    let theirs: Vec<(&str, String)> = for_all!(types, generated);
    assert_eq!(ours, theirs);
}

#[test]
#[cfg(scorep_headers)]
fn constants_agree_with_the_headers() {
    let constants: Vec<(&str, u32, u32)> = for_all!(constants, generated);
    for (name, declared, listed) in constants {
        assert_eq!(declared, listed, "{name}");
    }
}

#[test]
fn empty_values_are_empty() {
    let info = super::MetricPluginInfo::zeroed();
    assert_eq!((info.plugin_version, info.delta_t, info.reserved), (0, 0, [0; 92]));
    assert!(info.initialize.is_none() && info.get_event_info.is_none() && info.synchronize.is_none());
    assert!(super::MetricProperties::end().name.is_null());
    let info = super::SubstratePluginInfo::zeroed();
    assert!(info.plugin_version == 0 && info.init.is_none() && info.undeclared.iter().all(Option::is_none));
}
