//! The stand-in for NCCL. It loads the library under its NCCL name, takes the requested table or the newest one that
//! both sides have, and makes the calls.

use super::HostError;
use super::c_memory::CMemory;
use super::descriptor::{self, DescriptorMemory, RunHandles};
use super::kernels::CaptureKernels;
use super::table::{InterfaceTable, NEWEST, OLDEST, TableFunctions};
use crate::capture::{Callback, CallbackKind, CapturedEvent, Handles, Meta};
use libloading::os::unix::Library;
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_int, c_void};
use std::path::{Path, PathBuf};

/// The stand-in for NCCL in one process.
pub(crate) struct Nccl {
    path: PathBuf,
    meta: Meta,
    own_pid: c_int,
    kernels: CaptureKernels,
    /// Version of the interface to speak, where it is given.
    interface: Option<u32>,
    /// The library and its table: loaded for the first communicator, and again for a communicator after all others are
    /// gone.
    loaded: Option<(Library, InterfaceTable)>,
    alive: HashSet<u32>,
    strings: CMemory,
    /// Contexts and handles of this run, by the recorded ones.
    contexts: HashMap<u32, u64>,
    handles: Handles<u64>,
    /// The group that a thread has started and not stopped, by context and thread. Captures do not name the group of an
    /// operation.
    groups: HashMap<(u32, u32), u64>,
    /// Context and thread of each group in `groups`.
    places: HashMap<u64, (u32, u32)>,
}

impl Nccl {
    /// Prepares the stand-in for one capture; `path` is the library under its NCCL name. Without `interface`, it speaks
    /// the newest version that the library exports, at most the capture's.
    pub(crate) fn new(path: &Path, meta: Meta, kernels: CaptureKernels, interface: Option<u32>) -> Self {
        Self {
            path: path.into(),
            meta,
            own_pid: c_int::try_from(std::process::id()).unwrap_or(0),
            kernels,
            interface,
            loaded: None,
            alive: HashSet::new(),
            strings: CMemory::default(),
            contexts: HashMap::new(),
            handles: Handles::default(),
            groups: HashMap::new(),
            places: HashMap::new(),
        }
    }

    /// Makes one recorded call, with handles, contexts and the process id of this run.
    ///
    /// # Errors
    /// When the library cannot be loaded, or gives an answer with which NCCL would not go on.
    pub(crate) fn call(&mut self, call: &Callback) -> Result<(), HostError> {
        if let CallbackKind::Init { ctx, comm, name, nnodes, nranks, rank } = &call.what {
            return self.init(*ctx, *comm, name.as_deref(), [*nnodes, *nranks, *rank]);
        }
        // before the first communicator NCCL has no plugin to call
        let Some(InterfaceTable { api, functions: table }) = self.loaded.as_ref().map(|(_, table)| *table) else {
            return Ok(());
        };
        let pointer = |number: u64| number as *mut c_void;
        match &call.what {
            CallbackKind::Init { .. } => {}
            CallbackKind::Start { ctx, h, parent, rank, event } => {
                let handle = self.start(api, &table, (*ctx, call.tid), (*h, *parent), *rank, event);
                self.handles.set(*h, handle);
            }
            CallbackKind::State { h, state, arg } => {
                let handle = self.handles.get(*h);
                if let Some(argument) = descriptor::state(api, self.meta.api, *state, *arg) {
                    let argument = argument.as_ref().map_or(std::ptr::null(), |words| words.as_ptr());
                    // SAFETY: the argument is NULL or as large as the largest version's union.
                    unsafe { (table.state)(pointer(handle), c_int::try_from(*state).unwrap_or(-1), argument) };
                }
            }
            CallbackKind::Stop { h } => {
                if let Some(place) = self.places.remove(h) {
                    self.groups.remove(&place);
                }
                let handle = self.handles.get(*h);
                // SAFETY: the plugin accepts any handle.
                unsafe { (table.stop)(pointer(handle)) };
            }
            CallbackKind::Finalize { ctx } => {
                let context = self.contexts.get(ctx).copied().unwrap_or(0);
                // SAFETY: the plugin accepts any context.
                unsafe { (table.finalize)(pointer(context)) };
                self.alive.remove(ctx);
            }
        }
        Ok(())
    }

    /// Starts an event in a context on a recorded thread and returns its handle. Returns 0 if the version has no such
    /// events.
    fn start(
        &mut self,
        api: u32,
        table: &TableFunctions,
        at: (u32, u32),
        ids: (u64, u64),
        rank: i32,
        event: &CapturedEvent,
    ) -> u64 {
        let (context, (h, parent)) = (at.0, ids);
        if matches!(event, CapturedEvent::Group) {
            if let Some(earlier) = self.groups.insert(at, h) {
                self.places.remove(&earlier);
            }
            self.places.insert(h, at);
        }
        // only a translation to an older version leaves events out
        if api < self.meta.api && api < descriptor::since(event) {
            return 0;
        }
        let own_pid = self.own_pid;
        let pid = match event {
            // the operation of another process must not get this process' id
            CapturedEvent::ProxyOp { pid, .. } if *pid != self.meta.pid => own_pid ^ 1,
            _ => own_pid,
        };
        let known = |h: u64| self.handles.get(h);
        // up to v4, a capture names the group as the parent
        let group = if self.meta.api <= 4 { parent } else { self.groups.get(&at).copied().unwrap_or(0) };
        let place = RunHandles { parent: known(parent), group: known(group), rank, pid };
        let descriptor = DescriptorMemory::new(api, event, place, &mut self.strings);
        let context = self.contexts.get(&context).copied().unwrap_or(0);
        // NCCL does not clear this variable, so it may hold an earlier event's handle
        let mut handle = u64::MAX as *mut c_void;
        // of an event that its version does not have, the library would take the time for that of the next operation
        if api >= descriptor::since(event) {
            self.kernels.before_start(h);
        }
        // SAFETY: the descriptor is laid out for `api`, the table's version; its strings live as long as the process.
        unsafe { (table.start)(context as *mut c_void, &raw mut handle, descriptor.as_ptr()) };
        handle as u64
    }

    fn init(&mut self, ctx: u32, comm: u64, name: Option<&str>, shape: [i32; 3]) -> Result<(), HostError> {
        // NCCL closes the library with its last communicator and opens it again for the next one. A recording may have
        // calls between the two; they are made with the library still loaded.
        if self.alive.is_empty() {
            self.loaded = None;
        }
        let table = match &self.loaded {
            Some((_, table)) => *table,
            None => self.load()?,
        };
        let bytes: Vec<u8> = name.unwrap_or_default().bytes().filter(|&byte| byte != 0).collect();
        let text = CString::new(bytes).unwrap_or_default();
        let name = name.map(|_| text.as_c_str());
        let context =
            table.init(comm, name, shape).map_err(|what| HostError::Refused { path: self.path.clone(), what })?;
        self.alive.insert(ctx);
        self.contexts.insert(ctx, context);
        Ok(())
    }

    /// Loads the library with the requested version, or with the newest one up to the recorded version.
    fn load(&mut self) -> Result<InterfaceTable, HostError> {
        let newest = self.interface.unwrap_or(self.meta.api).clamp(OLDEST, NEWEST);
        let oldest = if self.interface.is_some() { newest } else { OLDEST };
        let (library, table) = InterfaceTable::load(&self.path, oldest..=newest)?;
        self.loaded = Some((library, table));
        Ok(table)
    }
}
