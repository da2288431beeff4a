//! A recorded callback as a line of JSON, in the format of captures.

use super::event::{Event, Record, What};
use super::strings::{Strings, Text};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::fmt::{self, Display, Formatter};

/// The arguments of an init, without its context.
#[derive(Debug)]
pub(super) struct Communicator {
    pub(super) id: u64,
    pub(super) name: Option<String>,
    pub(super) nodes: i32,
    pub(super) ranks: i32,
    pub(super) rank: i32,
}

/// Strings and communicators that lines refer to by number.
pub(super) struct Words<'a> {
    strings: &'a Strings,
    communicators: &'a FxHashMap<u32, Communicator>,
    /// Quoted strings, by number; each is made when first used.
    quoted: Vec<OnceCell<String>>,
}

impl<'a> Words<'a> {
    pub(super) fn new(strings: &'a Strings, communicators: &'a FxHashMap<u32, Communicator>) -> Self {
        Self { strings, communicators, quoted: vec![OnceCell::new(); Text::NUMBERS] }
    }

    fn quoted(&self, text: Text) -> &str {
        let quote = || Quoted(self.strings.text(text).as_deref()).to_string();
        self.quoted.get(text.number()).map_or("null", |place| place.get_or_init(quote))
    }
}

/// The line of a callback, without the line's end. `tid` is the number of the thread in the file.
pub(super) struct Line<'a> {
    pub(super) record: &'a Record,
    pub(super) tid: u32,
    pub(super) words: &'a Words<'a>,
}

/// A string as JSON; NULL becomes null.
struct Quoted<'a>(Option<&'a str>);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(text) = self.0 else { return f.write_str("null") };
        f.write_str("\"")?;
        for character in text.chars() {
            match character {
                '"' | '\\' => write!(f, "\\{character}")?,
                control if control < ' ' => write!(f, "\\u{:04x}", u32::from(control))?,
                other => write!(f, "{other}")?,
            }
        }
        f.write_str("\"")
    }
}

impl Display for Line<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"t\":{},\"tid\":{},", self.record.time, self.tid)?;
        match self.record.what {
            What::Init { context, introduction } => {
                let Some(it) = self.words.communicators.get(&introduction) else { return Err(fmt::Error) };
                write!(
                    f,
                    "\"cb\":\"init\",\"ctx\":{context},\"comm\":\"{:016x}\",\"name\":{},",
                    it.id,
                    Quoted(it.name.as_deref())
                )?;
                write!(f, "\"nnodes\":{},\"nranks\":{},\"rank\":{}", it.nodes, it.ranks, it.rank)?;
            }
            What::Start { context, handle, parent, event } => {
                let rank = self.record.rank;
                write!(f, "\"cb\":\"start\",\"ctx\":{context},\"h\":{handle},\"type\":")?;
                match event {
                    Event::Unknown { bits } => write!(f, "{bits}")?,
                    known => write!(f, "\"{}\"", name(&known))?,
                }
                write!(f, ",\"parent\":{parent},\"rank\":{rank}")?;
                self.event(f, &event)?;
            }
            What::State { handle, state, value } => {
                write!(f, "\"cb\":\"state\",\"h\":{handle},\"state\":{state}")?;
                if let Some(value) = value {
                    write!(f, ",\"arg\":{value}")?;
                }
            }
            What::Stop { handle } => write!(f, "\"cb\":\"stop\",\"h\":{handle}")?,
            What::Finalize { context } => write!(f, "\"cb\":\"finalize\",\"ctx\":{context}")?,
            What::Anchor { handle, time, from, until } => {
                write!(f, "\"cb\":\"anchor\",\"h\":{handle},\"time\":{time},\"from\":{from},\"until\":{until}")?;
            }
            What::Kernel { handle, first, begin, last, at } => {
                write!(f, "\"cb\":\"kernel\",\"h\":{handle},\"first\":{first},\"begin\":{begin},\"last\":{last}")?;
                if let Some(at) = at {
                    write!(f, ",\"at\":{at}")?;
                }
            }
        }
        f.write_str("}")
    }
}

fn name(event: &Event) -> &'static str {
    match event {
        Event::Group => "Group",
        Event::Coll { .. } => "Coll",
        Event::P2p { .. } => "P2p",
        Event::ProxyOp { .. } => "ProxyOp",
        Event::ProxyStep { .. } => "ProxyStep",
        Event::ProxyCtrl => "ProxyCtrl",
        Event::KernelCh { .. } => "KernelCh",
        Event::NetPlugin => "NetPlugin",
        Event::GroupApi { .. } => "GroupApi",
        Event::CollApi { .. } => "CollApi",
        Event::P2pApi { .. } => "P2pApi",
        Event::KernelLaunch { .. } => "KernelLaunch",
        Event::CeColl { .. } => "CeColl",
        Event::CeSync => "CeSync",
        Event::CeBatch => "CeBatch",
        Event::KernelPhase { .. } => "KernelPhase",
        Event::Unknown { .. } => "",
    }
}

impl Line<'_> {
    fn text(&self, f: &mut Formatter<'_>, field: &str, text: Text) -> fmt::Result {
        write!(f, ",\"{field}\":{}", self.words.quoted(text))
    }

    /// Writes the fields that depend on the event's type.
    fn event(&self, f: &mut Formatter<'_>, event: &Event) -> fmt::Result {
        match *event {
            Event::Coll { sequence, count, root, function, datatype, algorithm, protocol, channels, warps } => {
                write!(f, ",\"seq\":{sequence}")?;
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"root\":{root},\"nch\":{channels},\"nwarps\":{warps}")?;
                self.text(f, "algo", algorithm)?;
                self.text(f, "proto", protocol)
            }
            Event::P2p { count, peer, function, datatype, channels } => {
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"peer\":{peer},\"nch\":{channels}")
            }
            Event::ProxyOp { pid, peer, steps, chunk, send, channel } => {
                write!(
                    f,
                    ",\"pid\":{pid},\"ch\":{channel},\"peer\":{peer},\"nsteps\":{steps},\"chunk\":{chunk},\"send\":{send}"
                )
            }
            Event::ProxyStep { step } => write!(f, ",\"step\":{step}"),
            Event::KernelCh { ptimer, channel } => write!(f, ",\"ch\":{channel},\"ptimer\":{ptimer}"),
            Event::GroupApi { depth, captured } => write!(f, ",\"depth\":{depth},\"graph\":{}", u8::from(captured)),
            Event::CollApi { count, stream, root, function, datatype, captured } => {
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"root\":{root},\"stream\":\"{stream:x}\",\"graph\":{}", u8::from(captured))
            }
            Event::P2pApi { count, stream, function, datatype, captured } => {
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"stream\":\"{stream:x}\",\"graph\":{}", u8::from(captured))
            }
            Event::KernelLaunch { stream } => write!(f, ",\"stream\":\"{stream:x}\""),
            Event::CeColl { sequence, count, stream, root, function, datatype } => {
                write!(f, ",\"seq\":{sequence}")?;
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"root\":{root},\"stream\":\"{stream:x}\"")
            }
            Event::KernelPhase { ptimer, channel, phase } => {
                write!(f, ",\"ch\":{channel},\"phase\":{phase},\"ptimer\":{ptimer}")
            }
            Event::Group
            | Event::ProxyCtrl
            | Event::NetPlugin
            | Event::CeSync
            | Event::CeBatch
            | Event::Unknown { .. } => Ok(()),
        }
    }

    fn operation(&self, f: &mut Formatter<'_>, function: Text, count: u64, datatype: Text) -> fmt::Result {
        self.text(f, "func", function)?;
        write!(f, ",\"count\":{count}")?;
        self.text(f, "dtype", datatype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(what: What) -> String {
        let strings = Strings::new().unwrap();
        let name = Some("a \"b\"\\\n".to_owned());
        let communicators = FxHashMap::from_iter([(0, Communicator { id: 0xab, name, nodes: 1, ranks: 2, rank: 0 })]);
        let words = Words::new(&strings, &communicators);
        Line { record: &Record { sequence: 0, time: 5, thread: 9, rank: 0, what }, tid: 1, words: &words }.to_string()
    }

    #[test]
    fn a_line_is_json_with_the_fields_of_its_callback() {
        let expected = r#"{"t":5,"tid":1,"cb":"init","ctx":1,"comm":"00000000000000ab","name":"a \"b\"\\\u000a","nnodes":1,"nranks":2,"rank":0}"#;
        assert_eq!(line(What::Init { context: 1, introduction: 0 }), expected);
        let start = |event| line(What::Start { context: 1, handle: 2, parent: 0, event });
        let expected = r#"{"t":5,"tid":1,"cb":"start","ctx":1,"h":2,"type":65536,"parent":0,"rank":0}"#;
        assert_eq!(start(Event::Unknown { bits: 65536 }), expected);
        let null = Strings::new().unwrap().number(None);
        let expected = r#"{"t":5,"tid":1,"cb":"start","ctx":1,"h":2,"type":"P2p","parent":0,"rank":0,"func":null,"count":3,"dtype":null,"peer":-1,"nch":4}"#;
        assert_eq!(start(Event::P2p { count: 3, peer: -1, function: null, datatype: null, channels: 4 }), expected);
        let expected = r#"{"t":5,"tid":1,"cb":"state","h":2,"state":9,"arg":18446744073709551615}"#;
        assert_eq!(line(What::State { handle: 2, state: 9, value: Some(u64::MAX) }), expected);
        assert_eq!(
            line(What::State { handle: 2, state: 23, value: None }),
            r#"{"t":5,"tid":1,"cb":"state","h":2,"state":23}"#
        );
        assert_eq!(line(What::Stop { handle: 2 }), r#"{"t":5,"tid":1,"cb":"stop","h":2}"#);
        let kernel = What::Kernel { handle: 2, first: 3, begin: 4, last: 9, at: Some(1) };
        assert_eq!(line(kernel), r#"{"t":5,"tid":1,"cb":"kernel","h":2,"first":3,"begin":4,"last":9,"at":1}"#);
        let anchor = What::Anchor { handle: 2, time: 3, from: 4, until: 9 };
        assert_eq!(line(anchor), r#"{"t":5,"tid":1,"cb":"anchor","h":2,"time":3,"from":4,"until":9}"#);
        assert_eq!(line(What::Finalize { context: 1 }), r#"{"t":5,"tid":1,"cb":"finalize","ctx":1}"#);
    }
}
