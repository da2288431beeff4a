//! NCCL's part: loads the library under its NCCL name, takes the newest table that both sides know or the one it is told to,
//! makes the calls.

use super::descriptor::{self, Descriptor, Place, Strings};
use super::{HostError, open, symbol};
use crate::capture::{Call, Event, Meta, What};
use libloading::os::unix::Library;
use std::collections::{HashMap, HashSet};
use std::ffi::{CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};

/// Interface versions that the stand-in can speak.
pub(crate) const OLDEST: u32 = 1;
/// See [`OLDEST`].
pub(crate) const NEWEST: u32 = 7;

/// The functions of a table: six pointers, whatever the version.
#[repr(C)]
#[derive(Clone, Copy)]
struct Table {
    name: *const c_char,
    init: *const c_void,
    start: unsafe extern "C" fn(*mut c_void, *mut *mut c_void, *const u8) -> c_int,
    stop: unsafe extern "C" fn(*mut c_void) -> c_int,
    state: unsafe extern "C" fn(*mut c_void, c_int, *const u64) -> c_int,
    finalize: unsafe extern "C" fn(*mut c_void) -> c_int,
}

type InitV1 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int) -> c_int;
type InitV4 = unsafe extern "C" fn(*mut *mut c_void, *mut c_int, *const c_char, u64, c_int, c_int, c_int, *const c_void) -> c_int;
type InitV5 = unsafe extern "C" fn(*mut *mut c_void, u64, *mut c_int, *const c_char, c_int, c_int, c_int, *const c_void) -> c_int;

/// The stand-in for NCCL in one process.
pub(crate) struct Nccl {
    path: PathBuf,
    meta: Meta,
    /// The version to speak, where it is given.
    interface: Option<u32>,
    /// Loaded for the first communicator, and again when there was none left.
    loaded: Option<(Library, u32, Table)>,
    alive: HashSet<u32>,
    strings: Strings,
    /// What the plugin gave back, by what the recorded one gave.
    contexts: HashMap<u32, u64>,
    handles: HashMap<u64, u64>,
    /// The group that a thread has started and not stopped, by context and thread: captures do not name it.
    groups: HashMap<(u32, u32), u64>,
}

// SAFETY: the raw pointers in the table are constants of the loaded library, which any thread may use.
unsafe impl Send for Nccl {}

impl Nccl {
    /// For one capture; `path` is the library under its NCCL name. Without `interface`, the newest version that the library
    /// exports is spoken, at most the capture's.
    pub(crate) fn new(path: &Path, meta: Meta, interface: Option<u32>) -> Self {
        Self {
            path: path.into(),
            meta,
            interface,
            loaded: None,
            alive: HashSet::new(),
            strings: Strings::default(),
            contexts: HashMap::new(),
            handles: HashMap::new(),
            groups: HashMap::new(),
        }
    }

    /// Makes one recorded call. Handles, contexts and the process id become this run's.
    ///
    /// # Errors
    /// When the library cannot be loaded, or answers what NCCL would not go on with.
    pub(crate) fn call(&mut self, call: &Call) -> Result<(), HostError> {
        if let What::Init { ctx, comm, name, nnodes, nranks, rank } = &call.what {
            return self.init(*ctx, *comm, name.as_deref(), [*nnodes, *nranks, *rank]);
        }
        // calls before the first communicator: NCCL has no plugin yet
        let Some((_, api, table)) = self.loaded.as_ref().map(|(library, api, table)| (library, *api, *table)) else {
            return Ok(());
        };
        let pointer = |number: u64| number as *mut c_void;
        match &call.what {
            What::Init { .. } => {}
            What::Start { ctx, h, parent, rank, event } => {
                let handle = self.start(api, &table, (*ctx, call.tid), (*h, *parent), *rank, event);
                self.handles.insert(*h, handle);
            }
            What::State { h, state, arg } => {
                let handle = self.handles.get(h).copied().unwrap_or(0);
                if let Some(argument) = descriptor::state(api, self.meta.api, *state, *arg) {
                    let argument = argument.as_ref().map_or(std::ptr::null(), |words| words.as_ptr());
                    // SAFETY: the argument is NULL or as large as any version's union.
                    unsafe { (table.state)(pointer(handle), c_int::try_from(*state).unwrap_or(-1), argument) };
                }
            }
            What::Stop { h } => {
                self.groups.retain(|_, group| group != h);
                let handle = self.handles.get(h).copied().unwrap_or(0);
                // SAFETY: the plugin takes any handle.
                unsafe { (table.stop)(pointer(handle)) };
            }
            What::Finalize { ctx } => {
                let context = self.contexts.get(ctx).copied().unwrap_or(0);
                // SAFETY: the plugin takes any context.
                unsafe { (table.finalize)(pointer(context)) };
                self.alive.remove(ctx);
            }
        }
        Ok(())
    }

    /// Starts an event in a context, on a recorded thread, if the version has such events. Gives its handle.
    fn start(&mut self, api: u32, table: &Table, at: (u32, u32), ids: (u64, u64), rank: i32, event: &Event) -> u64 {
        let (context, (h, parent)) = (at.0, ids);
        if matches!(event, Event::Group) {
            self.groups.insert(at, h);
        }
        // where nothing is translated, what was recorded came through this version
        if api < self.meta.api && api < descriptor::since(event) {
            return 0;
        }
        let own_pid = c_int::try_from(std::process::id()).unwrap_or(0);
        let pid = match event {
            // another process' operation stays another's
            Event::ProxyOp { pid, .. } if *pid != self.meta.pid => own_pid ^ 1,
            _ => own_pid,
        };
        let known = |h: u64| self.handles.get(&h).copied().unwrap_or(0);
        // a capture of v4 or older names the group as the parent
        let group = if self.meta.api <= 4 { parent } else { self.groups.get(&at).copied().unwrap_or(0) };
        let place = Place { parent: known(parent), group: known(group), rank, pid };
        let descriptor = Descriptor::new(api, event, place, &mut self.strings);
        let context = self.contexts.get(&context).copied().unwrap_or(0);
        // what an earlier event left here: NCCL does not clear it
        let mut handle = u64::MAX as *mut c_void;
        // SAFETY: the descriptor is laid out for `api`, the table's version; its strings live as long as the process.
        unsafe { (table.start)(context as *mut c_void, &raw mut handle, descriptor.as_ptr()) };
        handle as u64
    }

    fn init(&mut self, ctx: u32, comm: u64, name: Option<&str>, shape: [i32; 3]) -> Result<(), HostError> {
        // NCCL closes the library with its last communicator and opens it for the next; calls between the two, which a recording may
        // have, are made all the same
        if self.alive.is_empty() {
            self.loaded = None;
        }
        let (api, table) = match &self.loaded {
            Some((_, api, table)) => (*api, *table),
            None => self.load()?,
        };
        let bytes: Vec<u8> = name.unwrap_or_default().bytes().filter(|&byte| byte != 0).collect();
        let text = CString::new(bytes).unwrap_or_default();
        let text = name.map_or(std::ptr::null(), |_| text.as_ptr());
        let [nnodes, nranks, rank] = shape;
        let (mut context, mut mask) = (std::ptr::null_mut(), 0);
        let (context_place, mask_place) = (&raw mut context, &raw mut mask);
        let no_logger = std::ptr::null();
        let result = if api <= 3 {
            // SAFETY: init has this type up to v3.
            let init = unsafe { std::mem::transmute::<*const c_void, InitV1>(table.init) };
            // SAFETY: both pointers are to locals.
            unsafe { init(context_place, mask_place) }
        } else if api == 4 {
            // SAFETY: v4's init has this type.
            let init = unsafe { std::mem::transmute::<*const c_void, InitV4>(table.init) };
            // SAFETY: all pointers are to locals.
            unsafe { init(context_place, mask_place, text, comm, nnodes, nranks, rank, no_logger) }
        } else {
            // SAFETY: init has this type since v5.
            let init = unsafe { std::mem::transmute::<*const c_void, InitV5>(table.init) };
            // SAFETY: all pointers are to locals.
            unsafe { init(context_place, comm, mask_place, text, nnodes, nranks, rank, no_logger) }
        };
        if result != 0 || context.is_null() {
            let what = format!("init of interface v{api} gave result {result} and context {context:?}");
            return Err(HostError::Refused { path: self.path.clone(), what });
        }
        self.alive.insert(ctx);
        self.contexts.insert(ctx, context as u64);
        Ok(())
    }

    /// Opens the library and looks its tables up: the wanted one, or newest first, beginning with the one that was recorded.
    fn load(&mut self) -> Result<(u32, Table), HostError> {
        let library = open(&self.path)?;
        let mut found = None;
        let newest = self.interface.unwrap_or(self.meta.api).clamp(OLDEST, NEWEST);
        let oldest = if self.interface.is_some() { newest } else { OLDEST };
        for api in (oldest..=newest).rev() {
            let name = format!("ncclProfiler_v{api}");
            // SAFETY: the symbol is a table of that version: six pointers.
            if let Ok(symbol) = unsafe { symbol::<*const Table>(&library, &self.path, &name) } {
                // SAFETY: as above; the library stays open as long as the table is in use.
                found = Some((api, unsafe { **symbol }));
                break;
            }
        }
        let Some((api, table)) = found else {
            let what = format!("none of ncclProfiler_v{oldest} to _v{newest} is exported");
            return Err(HostError::Refused { path: self.path.clone(), what });
        };
        self.loaded = Some((library, api, table));
        Ok((api, table))
    }
}
