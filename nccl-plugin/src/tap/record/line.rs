//! A recorded callback as a line of JSON, in the format of captures.

use super::event::{CallbackFields, EventFields, Record};
use super::strings::{RecordedStrings, StringNumber};
use common::event::network::NetworkEvent;
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::fmt::{self, Display, Formatter};

/// The arguments of an init, without its context.
#[derive(Debug)]
pub(super) struct RecordedInit {
    pub(super) id: u64,
    pub(super) name: Option<String>,
    pub(super) nodes: i32,
    pub(super) ranks: i32,
    pub(super) rank: i32,
}

/// Strings and communicators that lines refer to by number.
pub(super) struct LineWords<'a> {
    strings: &'a RecordedStrings,
    communicators: &'a FxHashMap<u32, RecordedInit>,
    /// Quoted strings, by number; each is made when first used.
    quoted: Vec<OnceCell<String>>,
}

impl<'a> LineWords<'a> {
    pub(super) fn new(strings: &'a RecordedStrings, communicators: &'a FxHashMap<u32, RecordedInit>) -> Self {
        Self { strings, communicators, quoted: vec![OnceCell::new(); StringNumber::NUMBERS] }
    }

    fn quoted(&self, text: StringNumber) -> &str {
        let quote = || Quoted(self.strings.text(text).as_deref()).to_string();
        self.quoted.get(text.number()).map_or("null", |place| place.get_or_init(quote))
    }
}

/// The line of a callback, without the line's end. `tid` is the number of the thread in the file.
pub(super) struct CallbackLine<'a> {
    pub(super) record: &'a Record,
    pub(super) tid: u32,
    pub(super) words: &'a LineWords<'a>,
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

impl Display for CallbackLine<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{{\"t\":{},\"tid\":{},", self.record.time, self.tid)?;
        match self.record.what {
            CallbackFields::Init { context, introduction } => {
                let Some(it) = self.words.communicators.get(&introduction) else { return Err(fmt::Error) };
                write!(
                    f,
                    "\"cb\":\"init\",\"ctx\":{context},\"comm\":\"{:016x}\",\"name\":{},",
                    it.id,
                    Quoted(it.name.as_deref())
                )?;
                write!(f, "\"nnodes\":{},\"nranks\":{},\"rank\":{}", it.nodes, it.ranks, it.rank)?;
            }
            CallbackFields::Start { context, handle, parent, event } => {
                let rank = self.record.rank;
                write!(f, "\"cb\":\"start\",\"ctx\":{context},\"h\":{handle},\"type\":")?;
                match event {
                    EventFields::Unknown { bits } => write!(f, "{bits}")?,
                    known => write!(f, "\"{}\"", name(&known))?,
                }
                write!(f, ",\"parent\":{parent},\"rank\":{rank}")?;
                self.event(f, &event)?;
            }
            CallbackFields::State { handle, state, value } => {
                write!(f, "\"cb\":\"state\",\"h\":{handle},\"state\":{state}")?;
                if let Some(value) = value {
                    write!(f, ",\"arg\":{value}")?;
                }
            }
            CallbackFields::Stop { handle } => write!(f, "\"cb\":\"stop\",\"h\":{handle}")?,
            CallbackFields::Finalize { context } => write!(f, "\"cb\":\"finalize\",\"ctx\":{context}")?,
            CallbackFields::Anchor { handle, time, from, until } => {
                write!(f, "\"cb\":\"anchor\",\"h\":{handle},\"time\":{time},\"from\":{from},\"until\":{until}")?;
            }
            CallbackFields::Kernel { handle, first, begin, last, at } => {
                write!(f, "\"cb\":\"kernel\",\"h\":{handle},\"first\":{first},\"begin\":{begin},\"last\":{last}")?;
                if let Some(at) = at {
                    write!(f, ",\"at\":{at}")?;
                }
            }
        }
        f.write_str("}")
    }
}

fn name(event: &EventFields) -> &'static str {
    match event {
        EventFields::Group => "Group",
        EventFields::Coll { .. } => "Coll",
        EventFields::P2p { .. } => "P2p",
        EventFields::ProxyOp { .. } => "ProxyOp",
        EventFields::ProxyStep { .. } => "ProxyStep",
        EventFields::ProxyCtrl => "ProxyCtrl",
        EventFields::KernelCh { .. } => "KernelCh",
        EventFields::NetPlugin { .. } => "NetPlugin",
        EventFields::GroupApi { .. } => "GroupApi",
        EventFields::CollApi { .. } => "CollApi",
        EventFields::P2pApi { .. } => "P2pApi",
        EventFields::KernelLaunch { .. } => "KernelLaunch",
        EventFields::CeColl { .. } => "CeColl",
        EventFields::CeSync => "CeSync",
        EventFields::CeBatch => "CeBatch",
        EventFields::KernelPhase { .. } => "KernelPhase",
        EventFields::Unknown { .. } => "",
    }
}

/// Writes the user's tag, if there is one.
fn tagged(f: &mut Formatter<'_>, tag: u64) -> fmt::Result {
    if tag == 0 { Ok(()) } else { write!(f, ",\"tag\":{tag}") }
}

impl CallbackLine<'_> {
    fn text(&self, f: &mut Formatter<'_>, field: &str, text: StringNumber) -> fmt::Result {
        write!(f, ",\"{field}\":{}", self.words.quoted(text))
    }

    /// Writes the fields that depend on the event's type.
    fn event(&self, f: &mut Formatter<'_>, event: &EventFields) -> fmt::Result {
        match *event {
            EventFields::Coll {
                sequence,
                count,
                root,
                function,
                datatype,
                algorithm,
                protocol,
                variant,
                channels,
                warps,
                symmetric,
                tag,
            } => {
                write!(f, ",\"seq\":{sequence}")?;
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"root\":{root},\"nch\":{channels},\"nwarps\":{warps}")?;
                self.text(f, "algo", algorithm)?;
                self.text(f, "proto", protocol)?;
                if symmetric {
                    f.write_str(",\"sym\":1")?;
                    self.text(f, "variant", variant)?;
                }
                tagged(f, tag)
            }
            EventFields::P2p { count, peer, function, datatype, channels, tag } => {
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"peer\":{peer},\"nch\":{channels}")?;
                tagged(f, tag)
            }
            EventFields::ProxyOp { pid, peer, steps, chunk, send, channel } => {
                write!(
                    f,
                    ",\"pid\":{pid},\"ch\":{channel},\"peer\":{peer},\"nsteps\":{steps},\"chunk\":{chunk},\"send\":{send}"
                )
            }
            EventFields::ProxyStep { step } => write!(f, ",\"step\":{step}"),
            EventFields::KernelCh { ptimer, channel } => write!(f, ",\"ch\":{channel},\"ptimer\":{ptimer}"),
            EventFields::GroupApi { depth, captured } => {
                write!(f, ",\"depth\":{depth},\"graph\":{}", u8::from(captured))
            }
            EventFields::CollApi { count, stream, root, function, datatype, captured, tag } => {
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"root\":{root},\"stream\":\"{stream:x}\",\"graph\":{}", u8::from(captured))?;
                tagged(f, tag)
            }
            EventFields::P2pApi { count, stream, function, datatype, captured, tag } => {
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"stream\":\"{stream:x}\",\"graph\":{}", u8::from(captured))?;
                tagged(f, tag)
            }
            EventFields::KernelLaunch { stream } => write!(f, ",\"stream\":\"{stream:x}\""),
            EventFields::CeColl { sequence, count, stream, root, function, datatype, tag } => {
                write!(f, ",\"seq\":{sequence}")?;
                self.operation(f, function, count, datatype)?;
                write!(f, ",\"root\":{root},\"stream\":\"{stream:x}\"")?;
                tagged(f, tag)
            }
            EventFields::NetPlugin { plugin, event } => {
                write!(f, ",\"plugin\":{plugin}")?;
                match event {
                    NetworkEvent::QueuePair { device, number, bytes } => {
                        write!(f, ",\"dev\":{device},\"qp\":{number},\"bytes\":{bytes}")
                    }
                    NetworkEvent::Socket { descriptor, sends, bytes } => {
                        write!(f, ",\"fd\":{descriptor},\"send\":{},\"bytes\":{bytes}", u8::from(sends))
                    }
                    NetworkEvent::Other => Ok(()),
                }
            }
            EventFields::KernelPhase { ptimer, channel, phase } => {
                write!(f, ",\"ch\":{channel},\"phase\":{phase},\"ptimer\":{ptimer}")
            }
            EventFields::Group
            | EventFields::ProxyCtrl
            | EventFields::CeSync
            | EventFields::CeBatch
            | EventFields::Unknown { .. } => Ok(()),
        }
    }

    fn operation(
        &self,
        f: &mut Formatter<'_>,
        function: StringNumber,
        count: u64,
        datatype: StringNumber,
    ) -> fmt::Result {
        self.text(f, "func", function)?;
        write!(f, ",\"count\":{count}")?;
        self.text(f, "dtype", datatype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(what: CallbackFields) -> String {
        let strings = RecordedStrings::new().unwrap();
        let name = Some("a \"b\"\\\n".to_owned());
        let communicators = FxHashMap::from_iter([(0, RecordedInit { id: 0xab, name, nodes: 1, ranks: 2, rank: 0 })]);
        let words = LineWords::new(&strings, &communicators);
        CallbackLine { record: &Record { sequence: 0, time: 5, thread: 9, rank: 0, what }, tid: 1, words: &words }
            .to_string()
    }

    #[test]
    fn a_line_is_json_with_the_fields_of_its_callback() {
        let expected = r#"{"t":5,"tid":1,"cb":"init","ctx":1,"comm":"00000000000000ab","name":"a \"b\"\\\u000a","nnodes":1,"nranks":2,"rank":0}"#;
        assert_eq!(line(CallbackFields::Init { context: 1, introduction: 0 }), expected);
        let start = |event| line(CallbackFields::Start { context: 1, handle: 2, parent: 0, event });
        let expected = r#"{"t":5,"tid":1,"cb":"start","ctx":1,"h":2,"type":65536,"parent":0,"rank":0}"#;
        assert_eq!(start(EventFields::Unknown { bits: 65536 }), expected);
        let null = RecordedStrings::new().unwrap().number(None);
        let expected = r#"{"t":5,"tid":1,"cb":"start","ctx":1,"h":2,"type":"P2p","parent":0,"rank":0,"func":null,"count":3,"dtype":null,"peer":-1,"nch":4}"#;
        assert_eq!(
            start(EventFields::P2p { count: 3, peer: -1, function: null, datatype: null, channels: 4, tag: 0 }),
            expected
        );
        let call =
            EventFields::P2pApi { count: 3, stream: 0xab, function: null, datatype: null, captured: false, tag: 9 };
        let expected = r#"{"t":5,"tid":1,"cb":"start","ctx":1,"h":2,"type":"P2pApi","parent":0,"rank":0,"func":null,"count":3,"dtype":null,"stream":"ab","graph":0,"tag":9}"#;
        assert_eq!(start(call), expected);
        let event = NetworkEvent::QueuePair { device: 1, number: 2, bytes: 3 };
        let expected = r#"{"t":5,"tid":1,"cb":"start","ctx":1,"h":2,"type":"NetPlugin","parent":0,"rank":0,"plugin":65537,"dev":1,"qp":2,"bytes":3}"#;
        assert_eq!(start(EventFields::NetPlugin { plugin: 65537, event }), expected);
        let expected = r#"{"t":5,"tid":1,"cb":"state","h":2,"state":9,"arg":18446744073709551615}"#;
        assert_eq!(line(CallbackFields::State { handle: 2, state: 9, value: Some(u64::MAX) }), expected);
        assert_eq!(
            line(CallbackFields::State { handle: 2, state: 23, value: None }),
            r#"{"t":5,"tid":1,"cb":"state","h":2,"state":23}"#
        );
        assert_eq!(line(CallbackFields::Stop { handle: 2 }), r#"{"t":5,"tid":1,"cb":"stop","h":2}"#);
        let kernel = CallbackFields::Kernel { handle: 2, first: 3, begin: 4, last: 9, at: Some(1) };
        assert_eq!(line(kernel), r#"{"t":5,"tid":1,"cb":"kernel","h":2,"first":3,"begin":4,"last":9,"at":1}"#);
        let anchor = CallbackFields::Anchor { handle: 2, time: 3, from: 4, until: 9 };
        assert_eq!(line(anchor), r#"{"t":5,"tid":1,"cb":"anchor","h":2,"time":3,"from":4,"until":9}"#);
        assert_eq!(line(CallbackFields::Finalize { context: 1 }), r#"{"t":5,"tid":1,"cb":"finalize","ctx":1}"#);
    }
}
