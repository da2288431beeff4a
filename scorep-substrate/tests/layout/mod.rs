//! Holds the two forms of the declarations against each other: the plain form, and, if there are headers, bindgen's.
//! Those of Score-P 8.4 and 9.0 agree.
//!
//! A check fails for a field, type or constant of the plain form that bindgen's lacks, and for a field that only
//! bindgen's has. Without headers, the plain form is compared with sizes that were measured with Score-P 8.4 on x86-64.

use super::plain::{self, interface};

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

/// Returns the shapes of all structs, as the module declares them.
macro_rules! shapes {
    (
        $module:ident
        types { $($types:tt)* }
        constants { $($constants:tt)* }
        structs { $($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)? })* }
    ) => {
        vec![$({
            type This = $module::$name;
            // SAFETY: the struct consists of integers, arrays of integers, raw pointers and optional function pointers,
            // for which zero is a value. A generated field of another kind would show as a difference.
            let value: This = unsafe { std::mem::zeroed() };
            // without `..`, so that the plain form cannot lack a field
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

/// Returns all other types, with the types that they stand for.
#[cfg(scorep_headers)]
macro_rules! types {
    (
        $module:ident
        types { $($(#[$doc:meta])* $name:ident = $is:ty;)* }
        constants { $($constants:tt)* }
        structs { $($structs:tt)* }
    ) => {
        vec![$((stringify!($name), shape_of::<$module::$name>()),)*]
    };
}

/// Returns all constants with their values.
#[cfg(scorep_headers)]
macro_rules! constants {
    (
        $module:ident
        types { $($types:tt)* }
        constants { $($(#[$doc:meta])* $name:ident: $of:ty = $value:literal;)* }
        structs { $($structs:tt)* }
    ) => {
        vec![$((stringify!($name), $module::$name),)*]
    };
}

#[test]
#[cfg(target_arch = "x86_64")]
fn structs_have_the_measured_sizes() {
    let shapes: Vec<Shape> = interface!(shapes plain);
    let sizes: Vec<_> = shapes.iter().map(|shape| (shape.name, shape.size, shape.align, shape.fields.len())).collect();
    assert_eq!(
        sizes,
        [
            ("MetricProperties", 48, 8, 7),
            ("TimeValuePair", 16, 8, 2),
            ("MetricPluginInfo", 832, 8, 14),
            ("SubstratePluginInfo", 936, 8, 19),
            ("SubstratePluginCallbacks", 424, 8, 53),
        ]
    );
}

#[test]
fn fields_fill_their_structs() {
    let shapes: Vec<Shape> = interface!(shapes plain);
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
#[cfg(scorep_headers)]
fn structs_agree_with_the_headers() {
    let ours: Vec<Shape> = interface!(shapes plain);
    let mut theirs: Vec<Shape> = interface!(shapes generated);
    // the plain form does not declare the arguments of functions that are not in use
    let unused = shape_of::<plain::UnusedFunction>();
    let plain = ours.iter().flat_map(|shape| &shape.fields);
    for (plain, generated) in plain.zip(theirs.iter_mut().flat_map(|shape| &mut shape.fields)) {
        if plain.shape == unused && generated.shape.starts_with("Option<unsafe extern \"C\" fn(") {
            generated.shape.clone_from(&unused);
        }
    }
    assert_eq!(ours, theirs);
}

#[test]
#[cfg(scorep_headers)]
fn types_agree_with_the_headers() {
    let ours: Vec<(&str, String)> = interface!(types plain);
    let theirs: Vec<(&str, String)> = interface!(types generated);
    assert_eq!(ours, theirs);
}

#[test]
#[cfg(scorep_headers)]
fn constants_agree_with_the_headers() {
    let ours: Vec<(&str, u32)> = interface!(constants plain);
    let theirs: Vec<(&str, u32)> = interface!(constants generated);
    assert_eq!(ours, theirs);
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
