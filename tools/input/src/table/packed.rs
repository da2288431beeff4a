//! Values as bytes, for files that the same process reads again.

use common::name::NcclName;
use common::operation::TimeSource;
use std::io::{self, Read, Write};

/// A value that is written as bytes.
pub(super) trait Packed: Sized {
    fn write(&self, out: &mut dyn Write) -> io::Result<()>;

    /// # Errors
    /// The bytes end, or are no such value.
    fn read(from: &mut dyn Read) -> io::Result<Self>;
}

macro_rules! numbers {
    ($($number:ty)*) => {
        $(impl Packed for $number {
            fn write(&self, out: &mut dyn Write) -> io::Result<()> {
                out.write_all(&self.to_ne_bytes())
            }

            fn read(from: &mut dyn Read) -> io::Result<Self> {
                let mut bytes = [0; size_of::<Self>()];
                from.read_exact(&mut bytes)?;
                Ok(Self::from_ne_bytes(bytes))
            }
        })*
    };
}

numbers! { u8 u16 u32 u64 i32 }

impl Packed for bool {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        u8::from(*self).write(out)
    }

    fn read(from: &mut dyn Read) -> io::Result<Self> {
        Ok(u8::read(from)? != 0)
    }
}

impl<T: Packed> Packed for Option<T> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.is_some().write(out)?;
        self.as_ref().map_or(Ok(()), |value| value.write(out))
    }

    fn read(from: &mut dyn Read) -> io::Result<Self> {
        bool::read(from)?.then(|| T::read(from)).transpose()
    }
}

impl Packed for NcclName {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        self.bits().write(out)
    }

    fn read(from: &mut dyn Read) -> io::Result<Self> {
        u8::read(from).map(Self::from_bits)
    }
}

impl Packed for TimeSource {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        (*self as u8).write(out)
    }

    fn read(from: &mut dyn Read) -> io::Result<Self> {
        let number = u8::read(from)?;
        Self::ALL.get(usize::from(number)).copied().ok_or_else(|| io::ErrorKind::InvalidData.into())
    }
}

/// Makes a structure one whose fields are written one after the other.
macro_rules! packed {
    ($($structure:ty { $($field:ident)* })*) => {
        $(impl Packed for $structure {
            fn write(&self, out: &mut dyn Write) -> io::Result<()> {
                $(self.$field.write(out)?;)*
                Ok(())
            }

            fn read(from: &mut dyn Read) -> io::Result<Self> {
                Ok(Self { $($field: Packed::read(from)?),* })
            }
        })*
    };
}

pub(super) use packed;
