//! Memory that is handed over to Score-P. Score-P frees it with C's `free`, so all of it comes from C's `malloc`.
//!
//! Score-P frees the array of metric properties, and each name in it. It never frees a description or a unit; these are
//! `'static`, so nothing leaks.
//!
//! Nothing here fails. If memory runs out, the result is shorter: a metric without memory for its name is left out.

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use crate::sys::{MetricBase, MetricMode, MetricProperties, MetricValueType};

/// `malloc`, or its replacement in a test: returns NULL or that many bytes, aligned for any C type.
type Allocate<'a> = &'a mut dyn FnMut(usize) -> *mut c_void;

/// A metric in Rust's form.
#[derive(Clone, Copy, Debug)]
pub struct Metric<'a> {
    /// Letters, digits and underscores: Score-P complains about other characters. The name ends at a NUL.
    pub name: &'a str,
    /// One line for the user.
    pub description: &'static CStr,
    /// What the values mean.
    pub mode: MetricMode,
    /// How the bits of a value are read.
    pub value_type: MetricValueType,
    /// Base of the scale.
    pub base: MetricBase,
    /// A value is in units of `base` to the power of `exponent`.
    pub exponent: i64,
    /// Name of the unit.
    pub unit: &'static CStr,
}

/// Returns the metrics in the form of `get_event_info`: an array that ends with the end entry. It is never NULL.
///
/// Return one metric per token where possible. Score-P 8.4 frees the array with its first metric and then reads the
/// names of the other metrics from it. With glibc, small arrays survive that; thousands of metrics do not.
///
/// If memory runs out, a metric whose name cannot be stored is left out. Without memory for the array, the result is a
/// static end entry. Score-P aborts the application on NULL. It reads an array that begins with its end entry once, and
/// never frees it, since it frees arrays by way of their first metric. A Score-P that did free it would free static
/// memory, in a process without 48 bytes left: still no worse than NULL.
pub(crate) fn properties(list: &[Metric<'_>]) -> *mut MetricProperties {
    properties_from(list, &mut allocate)
}

fn allocate(bytes: usize) -> *mut c_void {
    // SAFETY: malloc takes any size.
    unsafe { libc::malloc(bytes) }
}

/// Allocates an array of `count` values of `T`; NULL if there is no memory.
fn array<T>(count: usize, allocate: Allocate<'_>) -> *mut T {
    const { assert!(align_of::<T>() <= align_of::<libc::max_align_t>(), "malloc aligns for C's types") };
    match count.checked_mul(size_of::<T>()) {
        Some(bytes) => allocate(bytes).cast(),
        None => ptr::null_mut(),
    }
}

fn properties_from(list: &[Metric<'_>], allocate: Allocate<'_>) -> *mut MetricProperties {
    let entries: *mut MetricProperties = array(list.len().saturating_add(1), allocate);
    if entries.is_null() {
        return NO_METRICS.0.get();
    }
    let mut used = 0;
    for metric in list {
        let name = text(metric.name, allocate);
        if name.is_null() {
            continue;
        }
        let entry = MetricProperties {
            name,
            description: metric.description.as_ptr().cast_mut(),
            mode: metric.mode,
            value_type: metric.value_type,
            base: metric.base,
            exponent: metric.exponent,
            unit: metric.unit.as_ptr().cast_mut(),
        };
        // SAFETY: the array has one entry more than the list, and `used` counts the metrics stored so far.
        unsafe { entries.add(used).write(entry) };
        used += 1;
    }
    // SAFETY: `used` is at most the length of the list, and the array has one entry more.
    unsafe { entries.add(used).write(MetricProperties::end()) };
    entries
}

/// Copies `text` up to its first NUL and terminates it with NUL. Returns NULL if there is no memory.
fn text(text: &str, allocate: Allocate<'_>) -> *mut c_char {
    let bytes = text.as_bytes().split(|byte| *byte == 0).next().unwrap_or_default();
    let copy: *mut u8 = array(bytes.len() + 1, allocate);
    if !copy.is_null() {
        // SAFETY: the copy was just allocated one byte longer than the text, so it is apart from it.
        unsafe {
            ptr::copy_nonoverlapping(bytes.as_ptr(), copy, bytes.len());
            copy.add(bytes.len()).write(0);
        }
    }
    copy.cast()
}

/// The list that is returned if there is no memory for one: its end entry.
static NO_METRICS: EndEntry = EndEntry(UnsafeCell::new(MetricProperties::end()));

/// In a cell, since Score-P gets a pointer through which it could write.
struct EndEntry(UnsafeCell<MetricProperties>);

// SAFETY: this library never reads or writes the entry, only passes its address; Score-P asks for metrics on one thread
// at a time.
unsafe impl Sync for EndEntry {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{BASE_DECIMAL, MODE_ACCUMULATED_START, VALUE_UINT64};

    fn metric(name: &str) -> Metric<'_> {
        Metric {
            name,
            description: c"bytes handed to NCCL",
            mode: MODE_ACCUMULATED_START,
            value_type: VALUE_UINT64,
            base: BASE_DECIMAL,
            exponent: 3,
            unit: c"B",
        }
    }

    /// Returns the names in a list and frees it as Score-P does, but without reading freed memory.
    fn names_freed(list: *mut MetricProperties) -> Vec<String> {
        assert!(!list.is_null());
        let mut names = Vec::new();
        // SAFETY: the list comes from the functions above and ends with an entry without a name.
        unsafe {
            let mut entry = list;
            while !(*entry).name.is_null() {
                names.push(CStr::from_ptr((*entry).name).to_str().unwrap().to_owned());
                libc::free((*entry).name.cast());
                entry = entry.add(1);
            }
            if list != NO_METRICS.0.get() {
                libc::free(list.cast());
            }
        }
        names
    }

    /// Returns an allocator that fails for each allocation whose number `fails` selects.
    fn failing(fails: impl Fn(usize) -> bool) -> impl FnMut(usize) -> *mut c_void {
        let mut number = 0;
        move |bytes| {
            number += 1;
            if fails(number - 1) { ptr::null_mut() } else { allocate(bytes) }
        }
    }

    #[test]
    fn properties_hold_what_was_said() {
        let list = properties(&[metric("nccl_bytes")]);
        // SAFETY: the list has one metric and its end entry.
        let (entry, end) = unsafe { (*list, *list.add(1)) };
        // SAFETY: both are static strings, passed above.
        let (description, unit) = unsafe { (CStr::from_ptr(entry.description), CStr::from_ptr(entry.unit)) };
        assert_eq!((description, unit), (c"bytes handed to NCCL", c"B"));
        assert_eq!((entry.mode, entry.value_type), (MODE_ACCUMULATED_START, VALUE_UINT64));
        assert_eq!((entry.base, entry.exponent), (BASE_DECIMAL, 3));
        assert!(end.name.is_null());
        assert_eq!(names_freed(list), ["nccl_bytes"]);
    }

    #[test]
    fn many_metrics_keep_their_order() {
        let names: Vec<String> = (0..300).map(|number| format!("nccl_{number}")).collect();
        let list: Vec<Metric<'_>> = names.iter().map(|name| metric(name)).collect();
        assert_eq!(names_freed(properties(&list)), names);
    }

    #[test]
    fn no_metrics_are_an_end_entry() {
        assert!(names_freed(properties(&[])).is_empty());
    }

    #[test]
    fn name_ends_at_a_nul() {
        assert_eq!(names_freed(properties(&[metric("a\0b"), metric("")])), ["a", ""]);
    }

    #[test]
    fn no_memory_at_all_gives_the_static_end() {
        let list = properties_from(&[metric("a")], &mut failing(|_| true));
        assert_eq!(list, NO_METRICS.0.get());
        assert!(names_freed(list).is_empty());
    }

    #[test]
    fn metrics_without_room_for_a_name_are_left_out() {
        // allocation 0 is the array; the names follow
        let list = [metric("a"), metric("b"), metric("c")];
        assert_eq!(names_freed(properties_from(&list, &mut failing(|number| number == 2))), ["a", "c"]);
        assert_eq!(names_freed(properties_from(&list, &mut failing(|number| number > 1))), ["a"]);
        assert!(names_freed(properties_from(&list, &mut failing(|number| number > 0))).is_empty());
    }

    #[test]
    fn size_beyond_the_address_space_is_no_memory() {
        let mut asked = false;
        let list: *mut MetricProperties = array(usize::MAX / 2, &mut |_| {
            asked = true;
            ptr::null_mut()
        });
        assert!(list.is_null() && !asked);
    }
}
