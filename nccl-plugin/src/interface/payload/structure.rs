//! What all structures in NCCL's descriptors have in common, and how the values of C's types become the descriptor's.

use crate::interface::descriptor::Payload;
use common::text::CText;
use std::ffi::{c_char, c_void};

/// A structure in a version's descriptor.
pub(crate) trait Structure: Copy {
    /// The event type whose descriptor has it.
    const KIND: u64;
    /// Its members, for the test that compares them with C.
    const MEMBERS: &'static [CMember];

    /// Reads it.
    ///
    /// # Safety
    /// The strings are NCCL's, alive as long as `'a`: until the callback returns.
    unsafe fn decode<'a>(&self) -> Payload<'a>;

    /// Writes a payload of its type. Returns `None` if it cannot have a value of the payload's.
    fn encode(payload: &Payload<'_>) -> Option<Self>;
}

/// A member of a C structure, where a C compiler has to lay it.
#[derive(Debug, Clone, Copy)]
pub struct CMember {
    /// Name.
    pub name: &'static str,
    /// Offset in the structure.
    pub offset: usize,
    /// Size.
    pub size: usize,
}

impl CMember {
    /// Describes the member at `offset` that the function returns.
    pub(crate) const fn new<S, M>(name: &'static str, offset: usize, _: fn(&S) -> &M) -> Self {
        Self { name, offset, size: size_of::<M>() }
    }
}

/// Lists members of a structure.
macro_rules! members {
    ($structure:ty: $($member:ident),*) => { const {
        &[$(crate::interface::payload::CMember::new(
            stringify!($member), std::mem::offset_of!($structure, $member), |whole: &$structure| &whole.$member,
        )),*] as &[crate::interface::payload::CMember]
    } };
}
pub(crate) use members;

/// A type of C, whose values become those of a descriptor's field.
pub(super) trait CType<Field>: Copy {
    /// Returns the field's value.
    ///
    /// # Safety
    /// A string is NULL, or alive as long as the field's type says.
    unsafe fn read(self) -> Field;

    /// Returns the value in C; `None` if the type has none for it.
    fn write(field: Field) -> Option<Self>;
}

/// Declares conversions: `C TYPE, FIELD'S TYPE: reading, writing`.
macro_rules! conversions {
    ($($type:ty, $field:ty: |$value:ident| $read:expr, |$given:ident| $write:expr;)*) => { $(
        impl CType<$field> for $type {
            #[inline(always)]
            unsafe fn read(self) -> $field {
                let $value = self;
                $read
            }

            fn write($given: $field) -> Option<Self> {
                $write
            }
        }
    )* };
}

conversions! {
    u8, u8: |value| value, |value| Some(value);
    u32, u32: |value| value, |value| Some(value);
    u64, u64: |value| value, |value| Some(value);
    i32, i32: |value| value, |value| Some(value);
    i64, i64: |value| value, |value| Some(value);
    // C's bool
    u8, bool: |value| value != 0, |is| Some(is.into());
    usize, u64: |value| value as u64, |value| Some(value as usize);
    *const c_void, usize: |address| address as usize, |address| Some(address as *const c_void);
    *mut c_void, usize: |address| address as usize, |address| Some(address as *mut c_void);
    // a handle
    *mut c_void, u64: |handle| handle as u64, |handle| Some(handle as *mut c_void);
    // a GPU clock, which a descriptor of v3 does not have
    u64, Option<u64>: |time| Some(time), |time| time;
    CommunicatorId, Option<u64>: |id| Some(id.0), |id| Some(CommunicatorId(id.unwrap_or(0)));
}

/// Id of a communicator (v1 to v3); 0 where it is not known, as the wrappers of newer NCCL have it.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommunicatorId(u64);

impl<'a> CType<Option<CText<'a>>> for *const c_char {
    #[inline(always)]
    unsafe fn read(self) -> Option<CText<'a>> {
        // SAFETY: the caller upholds the condition.
        unsafe { CText::new(self) }
    }

    fn write(text: Option<CText<'a>>) -> Option<Self> {
        Some(text.map_or(std::ptr::null(), CText::as_ptr))
    }
}
