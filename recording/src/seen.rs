//! Checks that handles and contexts were given out before they are used.
//!
//! NCCL may name a stopped handle again, since the children of an operation start after its stop. It may also name a
//! finalised context again, for late proxy events. No NCCL uses a handle or a context that the plugin never gave out.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::callback::{Callback, CallbackKind, Content, Kernel, RecordedAnchor, UnknownCallback};
use super::error::Problem;
use super::handles::Handles;

/// Handles and contexts given out so far, each with its line. Lines count from 1, so 0 stands for no line.
#[derive(Default)]
pub(crate) struct HandleLines {
    handles: Handles<u32>,
    contexts: HashMap<u32, u32>,
}

impl HandleLines {
    /// Checks the handles and contexts that the next line uses, and notes those that it gives out.
    pub(crate) fn check(&mut self, content: &Content) -> Result<(), Problem> {
        match content {
            Content::Call(call) => self.call(call),
            Content::Kernel(Kernel { h, .. }) | Content::Anchor(RecordedAnchor { h, .. }) => self.handle("h", *h),
            Content::Conditions(_) | Content::End(_) => Ok(()),
            Content::Unknown(unknown) => self.unknown(unknown),
        }
    }

    fn call(&mut self, call: &Callback) -> Result<(), Problem> {
        match call.what {
            CallbackKind::Init { ctx, .. } => self.initialise(ctx, call.line),
            CallbackKind::Start { ctx, h, parent, .. } => {
                self.context(ctx)?;
                if parent != 0 {
                    self.handle("parent", parent)?;
                }
                self.start(h, call.line)
            }
            CallbackKind::State { h, .. } | CallbackKind::Stop { h } => self.handle("h", h),
            CallbackKind::Finalize { ctx } => self.context(ctx),
        }
    }

    /// Checks a line of an unknown kind: no recorder writes a line with a handle or a context that was never given out.
    fn unknown(&self, unknown: &UnknownCallback) -> Result<(), Problem> {
        let known = unknown.h.is_none_or(|h| self.handles.get(h) > 0)
            && unknown.ctx.is_none_or(|ctx| self.contexts.contains_key(&ctx));
        if known { Ok(()) } else { Err(Problem::Callback(unknown.cb.clone())) }
    }

    fn initialise(&mut self, ctx: u32, line: u32) -> Result<(), Problem> {
        match self.contexts.entry(ctx) {
            Entry::Occupied(first) => Err(Problem::ContextAgain { ctx, first: *first.get() }),
            Entry::Vacant(free) => {
                free.insert(line);
                Ok(())
            }
        }
    }

    fn start(&mut self, h: u64, line: u32) -> Result<(), Problem> {
        if h == 0 {
            return Err(Problem::NullHandle);
        }
        match self.handles.get(h) {
            0 => {
                self.handles.set(h, line);
                Ok(())
            }
            first => Err(Problem::HandleAgain { h, first }),
        }
    }

    fn context(&self, ctx: u32) -> Result<(), Problem> {
        if self.contexts.contains_key(&ctx) { Ok(()) } else { Err(Problem::Context(ctx)) }
    }

    fn handle(&self, field: &'static str, h: u64) -> Result<(), Problem> {
        if self.handles.get(h) > 0 { Ok(()) } else { Err(Problem::Handle { field, h }) }
    }
}
