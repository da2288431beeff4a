//! The columns of the table, each with the field of an operation that it holds.

use crate::job::{RankOperation, Time, TimedBy};
use common::moments;
use common::name::{NcclName, UNKNOWN};

/// How a column stores its values.
#[derive(Debug, Clone, Copy)]
pub enum Form {
    /// 64-bit integers.
    Long,
    /// 32-bit integers.
    Int,
    /// Booleans.
    Flag,
    /// Text, from a dictionary.
    Text(TextNumbers),
}

/// The numbers that stand for texts in a process.
#[derive(Debug, Clone, Copy)]
pub struct TextNumbers {
    /// Returns the text of a number.
    pub show: fn(i64) -> String,
    /// Returns the number of a text; `None` for a text that the column cannot have.
    pub parse: fn(&str) -> Option<i64>,
}

/// A column.
#[derive(Debug, Clone, Copy)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Form of its values.
    pub form: Form,
    /// Whether a value may be absent.
    pub is_optional: bool,
    /// Returns the value of an operation. Values beyond 2^63 - 1 are stored as 2^63 - 1.
    pub get: fn(&RankOperation) -> Option<i64>,
    /// Sets the value of an operation; `None` for a value that the field cannot have.
    pub set: fn(&mut RankOperation, i64) -> Option<()>,
}

const HEX: TextNumbers = TextNumbers {
    show: |id| format!("{:016x}", id.cast_unsigned()),
    parse: |text| u64::from_str_radix(text, 16).ok().map(u64::cast_signed),
};
const NAME: TextNumbers = TextNumbers { show: |name| of_bits(name).text(), parse: |text| Some(number(named(text))) };
const KIND: TextNumbers = TextNumbers {
    show: |is_message| if is_message == 0 { "Coll" } else { "P2p" }.into(),
    parse: |text| ["Coll", "P2p"].iter().zip(0..).find_map(|(kind, number)| (*kind == text).then_some(number)),
};
const SOURCE: TextNumbers = TextNumbers {
    show: |source| source_of(source).unwrap_or_default().text().into(),
    parse: |text| TimedBy::from_text(text).map(of_source),
};

/// The columns, in the order of the file. Times are nanoseconds of the process' clock, so their names have no unit.
/// Only an optional column may be absent from a file, so only such a one is added without a new [`super::FORMAT`].
pub static COLUMNS: &[Column] = &[
    text("comm", HEX, |it| Some(it.comm.cast_signed()), |it, value| put(&mut it.comm, Some(value.cast_unsigned()))),
    int("rank", |it| Some(it.rank.into()), |it, value| put(&mut it.rank, value.try_into().ok())),
    text("function", NAME, |it| Some(number(it.function)), |it, value| put(&mut it.function, Some(of_bits(value)))),
    text("kind", KIND, |it| Some(it.is_message().into()), |_, _| Some(())),
    optional(long(
        "sequence",
        |it| it.sequence.map(whole),
        |it, value| put(&mut it.sequence, natural(value).map(Some)),
    )),
    int(
        "replay",
        |it| Some(it.replay.min(i32::MAX as u32).into()),
        |it, value| put(&mut it.replay, value.try_into().ok()),
    ),
    long("order", |it| Some(whole(it.order)), |it, value| put(&mut it.order, natural(value))),
    optional(int("peer", |it| it.peer.map(i64::from), |it, value| put(&mut it.peer, value.try_into().ok().map(Some)))),
    optional(int("root", |it| it.root.map(i64::from), |it, value| put(&mut it.root, value.try_into().ok().map(Some)))),
    optional(long("count", |it| it.count.map(whole), |it, value| put(&mut it.count, natural(value).map(Some)))),
    optional(text("type", NAME, |it| known(it.datatype), |it, value| put(&mut it.datatype, Some(of_bits(value))))),
    long("bytes", |it| Some(whole(it.bytes)), |it, value| put(&mut it.bytes, natural(value))),
    optional(text(
        "algorithm",
        NAME,
        |it| known(it.algorithm),
        |it, value| put(&mut it.algorithm, Some(of_bits(value))),
    )),
    optional(text("protocol", NAME, |it| known(it.protocol), |it, value| put(&mut it.protocol, Some(of_bits(value))))),
    optional(int(
        "channels",
        |it| (it.channels > 0).then_some(it.channels.min(i32::MAX as u32).into()),
        |it, value| put(&mut it.channels, value.try_into().ok()),
    )),
    long("enqueued", |it| Some(whole(it.enqueued)), |it, value| put(&mut it.enqueued, moment(value))),
    optional(long("launched", |it| it.launched.map(whole), |it, value| put(&mut it.launched, moment(value).map(Some)))),
    text("source", SOURCE, |it| Some(of_source(it.source)), |it, value| put(&mut it.source, source_of(value))),
    long("duration", |it| Some(whole(it.duration)), |it, value| put(&mut it.duration, moment(value))),
    optional(long("start", |it| Some(whole(it.time?.start)), |it, value| put(&mut time(it).start, moment(value)))),
    optional(long("stop", |it| Some(whole(it.time?.stop)), |it, value| put(&mut time(it).stop, moment(value)))),
    optional(long(
        "clock_early",
        |it| Some(whole(it.time?.clock[0])),
        |it, value| put(&mut time(it).clock[0], moment(value)),
    )),
    optional(long(
        "clock_late",
        |it| Some(whole(it.time?.clock[1])),
        |it, value| put(&mut time(it).clock[1], moment(value)),
    )),
    optional(long(
        "begin_early",
        |it| Some(whole(it.time?.ahead)),
        |it, value| put(&mut time(it).ahead, moment(value)),
    )),
    long("kernel", |it| Some(whole(it.kernel)), |it, value| put(&mut it.kernel, natural(value))),
    flag("alone", |it| Some(it.alone.into()), |it, value| put(&mut it.alone, Some(value != 0))),
    optional(long("group", |it| it.group.map(whole), |it, value| put(&mut it.group, natural(value).map(Some)))),
    optional(long(
        "stream",
        |it| (it.stream > 0).then_some(whole(it.stream)),
        |it, value| put(&mut it.stream, natural(value)),
    )),
    // the bits of the tag: one beyond 2^63 - 1 reads as a negative number
    optional(long(
        "tag",
        |it| (it.tag != 0).then_some(it.tag.cast_signed()),
        |it, value| put(&mut it.tag, Some(value.cast_unsigned())),
    )),
    flag("unfinished", |it| Some(it.unfinished.into()), |it, value| put(&mut it.unfinished, Some(value != 0))),
];

type Get = fn(&RankOperation) -> Option<i64>;
type SetColumn = fn(&mut RankOperation, i64) -> Option<()>;

const fn long(name: &'static str, get: Get, set: SetColumn) -> Column {
    Column { name, form: Form::Long, is_optional: false, get, set }
}

const fn int(name: &'static str, get: Get, set: SetColumn) -> Column {
    Column { name, form: Form::Int, is_optional: false, get, set }
}

const fn flag(name: &'static str, get: Get, set: SetColumn) -> Column {
    Column { name, form: Form::Flag, is_optional: false, get, set }
}

const fn text(name: &'static str, words: TextNumbers, get: Get, set: SetColumn) -> Column {
    Column { name, form: Form::Text(words), is_optional: false, get, set }
}

const fn optional(column: Column) -> Column {
    Column { is_optional: true, ..column }
}

/// Sets a field, if there is a value for it.
fn put<T>(field: &mut T, value: Option<T>) -> Option<()> {
    *field = value?;
    Some(())
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn natural(value: i64) -> Option<u64> {
    u64::try_from(value).ok()
}

/// Returns a time, or the difference of two.
fn moment(value: i64) -> Option<u64> {
    natural(value).filter(|&time| time <= moments::LATEST)
}

fn time(operation: &mut RankOperation) -> &mut Time {
    operation.time.get_or_insert_default()
}

fn number(name: NcclName) -> i64 {
    name.bits().into()
}

fn known(name: NcclName) -> Option<i64> {
    (name != NcclName::none()).then(|| number(name))
}

fn of_bits(number: i64) -> NcclName {
    NcclName::from_bits(u8::try_from(number).unwrap_or_default())
}

fn named(text: &str) -> NcclName {
    if text == UNKNOWN { NcclName::none() } else { NcclName::of_text(text) }
}

fn of_source(source: TimedBy) -> i64 {
    TimedBy::ALL.iter().zip(0..).find_map(|(it, number)| (*it == source).then_some(number)).unwrap_or_default()
}

fn source_of(number: i64) -> Option<TimedBy> {
    TimedBy::ALL.get(usize::try_from(number).ok()?).copied()
}
