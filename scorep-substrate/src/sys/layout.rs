//! Layout of the declarations: against the numbers measured with Score-P 8.4 on x86-64, and, where
//! its headers are, against what bindgen made of them.
//!
//! One list serves all: it names each field with its offset and each constant with its value. A
//! field that is missing from it, or that one of the two declarations does not have, fails to
//! compile.

use super::plain;

#[cfg(scorep_headers)]
use super::generated;

/// Expands `$check!` with a module and the list: structs with size, alignment and fields with their
/// offsets, then the constants.
macro_rules! for_all {
    ($check:ident, $module:ident) => {
        $check! {
            $module
            structs {
                MetricProperties(48, 8) {
                    name: 0,
                    description: 8,
                    mode: 16,
                    value_type: 20,
                    base: 24,
                    exponent: 32,
                    unit: 40,
                }
                TimeValuePair(16, 8) {
                    timestamp: 0,
                    value: 8,
                }
                MetricPluginInfo(832, 8) {
                    plugin_version: 0,
                    run_per: 4,
                    sync: 8,
                    delta_t: 16,
                    initialize: 24,
                    finalize: 32,
                    get_event_info: 40,
                    add_counter: 48,
                    get_current_value: 56,
                    get_optional_value: 64,
                    set_clock_function: 72,
                    get_all_values: 80,
                    synchronize: 88,
                    reserved: 96,
                }
            }
            constants {
                PLUGIN_VERSION = 1,
                MODE_ACCUMULATED_START = 0,
                MODE_ACCUMULATED_POINT = 1,
                MODE_ACCUMULATED_LAST = 2,
                MODE_ACCUMULATED_NEXT = 3,
                MODE_ABSOLUTE_POINT = 4,
                MODE_ABSOLUTE_LAST = 5,
                MODE_ABSOLUTE_NEXT = 6,
                MODE_RELATIVE_POINT = 7,
                MODE_RELATIVE_LAST = 8,
                MODE_RELATIVE_NEXT = 9,
                VALUE_INT64 = 0,
                VALUE_UINT64 = 1,
                VALUE_DOUBLE = 2,
                BASE_BINARY = 0,
                BASE_DECIMAL = 1,
                PER_THREAD = 0,
                PER_PROCESS = 1,
                PER_HOST = 2,
                ONCE = 3,
                STRICTLY_SYNC = 0,
                SYNC = 1,
                ASYNC_EVENT = 2,
                ASYNC = 3,
                SYNCHRONIZATION_MODE_BEGIN = 0,
                SYNCHRONIZATION_MODE_BEGIN_MPP = 1,
                SYNCHRONIZATION_MODE_END = 2,
            }
        }
    };
}

/// A field, as far as C can see it.
#[derive(Debug, PartialEq, Eq)]
struct Field {
    name: &'static str,
    offset: usize,
    size: usize,
    /// The type, whichever module declares it; tells the arguments of callbacks apart.
    shape: String,
}

/// A struct, as far as C can see it.
#[derive(Debug, PartialEq, Eq)]
struct Shape {
    name: &'static str,
    size: usize,
    align: usize,
    fields: Vec<Field>,
}

fn field<T>(name: &'static str, offset: usize, _: &T) -> Field {
    let shape = std::any::type_name::<T>().replace("::sys::generated::", "::sys::plain::");
    Field { name, offset, size: size_of::<T>(), shape }
}

/// The shapes of all structs of the list, as the module declares them.
macro_rules! shapes {
    (
        $module:ident
        structs {
            $($name:ident($size:literal, $align:literal) { $($field:ident: $offset:literal,)* })*
        }
        constants { $($constants:tt)* }
    ) => {
        vec![$({
            type This = $module::$name;
            // SAFETY: integers, arrays of integers, raw pointers and optional function pointers:
            // zero is a value of each. Generated fields of another kind would show as a difference.
            let value: This = unsafe { std::mem::zeroed() };
            // Without `..`, so that the list cannot lack a field.
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

/// Name, size, alignment, and the fields with their offsets.
#[cfg(target_arch = "x86_64")]
type Measured = (&'static str, usize, usize, Vec<(&'static str, usize)>);

/// The numbers of the list itself.
#[cfg(target_arch = "x86_64")]
macro_rules! measured {
    (
        $module:ident
        structs {
            $($name:ident($size:literal, $align:literal) { $($field:ident: $offset:literal,)* })*
        }
        constants { $($constants:tt)* }
    ) => {
        vec![$((stringify!($name), $size, $align, vec![$((stringify!($field), $offset),)*]),)*]
    };
}

/// All constants of the list: name, value in the module, value in the list.
macro_rules! constants {
    (
        $module:ident
        structs { $($structs:tt)* }
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

    let declared = include_str!("plain.rs").lines().filter(|line| line.starts_with("pub const "));
    assert_eq!(declared.count(), constants.len(), "a constant of plain.rs is not in the list");
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
}
