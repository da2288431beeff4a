//! The stand-in for Score-P. It loads the metric plugins, calls them in Score-P's order, and reads counters where
//! Score-P reads them.

use super::{HostError, clock, open, symbol};
use crate::trace::Metric;
use libloading::os::unix::Library;
use std::ffi::{CStr, CString, c_char, c_void};
use std::path::{Path, PathBuf};

/// SCOREP_METRIC_SYNCHRONIZATION_MODE_BEGIN and _END.
const BEGIN: u32 = 0;
const END: u32 = 2;
const STRICTLY_SYNC: u32 = 0;
const ASYNC: u32 = 3;

/// `SCOREP_Metric_Plugin_Info`: 832 bytes, of which the words below matter.
#[repr(C)]
struct Info([u64; 104]);

/// Words of [`Info`].
mod word {
    pub(super) const VERSION_AND_PER: usize = 0;
    pub(super) const SYNC: usize = 1;
    pub(super) const INITIALIZE: usize = 3;
    pub(super) const FINALIZE: usize = 4;
    pub(super) const GET_EVENT_INFO: usize = 5;
    pub(super) const ADD_COUNTER: usize = 6;
    pub(super) const GET_CURRENT_VALUE: usize = 7;
    pub(super) const SET_CLOCK_FUNCTION: usize = 9;
    pub(super) const GET_ALL_VALUES: usize = 10;
    pub(super) const SYNCHRONIZE: usize = 11;
}

/// `SCOREP_Metric_Plugin_MetricProperties`: 48 bytes.
#[repr(C)]
struct Properties {
    name: *mut c_char,
    description: *const c_char,
    mode: u32,
    value_type: u32,
    base: u32,
    exponent: i64,
    unit: *const c_char,
}

/// A loaded metric plugin.
pub(crate) struct MetricPlugin {
    path: PathBuf,
    info: Info,
    metrics: Vec<Metric>,
    /// Declared last, because Score-P calls dlclose last.
    _library: Library,
}

impl MetricPlugin {
    /// Loads `lib<name>.so` at `path`, sets the clock, initialises, and asks for the metrics of each token.
    ///
    /// # Errors
    /// Everything for which Score-P would warn or abort.
    pub(crate) fn load(path: &Path, name: &str, tokens: &[String]) -> Result<Self, HostError> {
        let library = open(path)?;
        let refused = |what: String| HostError::Refused { path: path.into(), what };
        let get_info = format!("SCOREP_MetricPlugin_{name}_get_info");
        // SAFETY: every metric plugin's get_info has this type; a structure of this size is returned through memory.
        let get_info = unsafe { symbol::<unsafe extern "C" fn() -> Info>(&library, path, &get_info) }?;
        // SAFETY: as above.
        let info = unsafe { get_info() };
        let version = info.0[word::VERSION_AND_PER] as u32;
        if version != 1 {
            return Err(refused(format!("plugin version {version} is not 1")));
        }
        let mut plugin = Self { path: path.into(), info, metrics: Vec::new(), _library: library };
        let needed = match plugin.sync() {
            STRICTLY_SYNC => word::GET_CURRENT_VALUE,
            ASYNC => word::GET_ALL_VALUES,
            other => {
                return Err(refused(format!("synchronicity {other} is neither strictly synchronous nor asynchronous")));
            }
        };
        let mandatory = [word::INITIALIZE, word::FINALIZE, word::GET_EVENT_INFO, word::ADD_COUNTER, needed];
        if mandatory.iter().any(|&word| plugin.info.0[word] == 0) {
            return Err(refused("a mandatory function is missing".into()));
        }
        if let Some(set) =
            plugin.function::<unsafe extern "C" fn(unsafe extern "C" fn() -> u64)>(word::SET_CLOCK_FUNCTION)
        {
            // SAFETY: the interface gives this word the type of set_clock_function.
            unsafe { set(clock::read) };
        }
        if let Some(initialize) = plugin.function::<unsafe extern "C" fn() -> i32>(word::INITIALIZE) {
            // SAFETY: the interface gives this word the type of initialize.
            let result = unsafe { initialize() };
            if result != 0 {
                return Err(refused(format!("initialize gave {result}")));
            }
        }
        for token in tokens {
            plugin.ask(token)?;
        }
        Ok(plugin)
    }

    fn sync(&self) -> u32 {
        self.info.0[word::SYNC] as u32
    }

    /// Returns a function of the table, unless it is NULL. `F` is the type that Score-P's interface gives this word.
    fn function<F: Copy>(&self, word: usize) -> Option<F> {
        const { assert!(size_of::<F>() == 8, "a function pointer") };
        let address = self.info.0[word];
        // SAFETY: callers name the type that Score-P's interface gives this word, and the address is not NULL.
        (address != 0).then(|| unsafe { std::mem::transmute_copy::<u64, F>(&address) })
    }

    /// Asks for the metrics of one token, copies them, and frees what Score-P frees.
    fn ask(&mut self, token: &str) -> Result<(), HostError> {
        type GetEventInfo = unsafe extern "C" fn(*mut c_char) -> *mut Properties;
        let (Some(get), Ok(text)) = (self.function::<GetEventInfo>(word::GET_EVENT_INFO), CString::new(token)) else {
            return Ok(());
        };
        // SAFETY: the interface gives this word the type of get_event_info; the token lives during the call.
        let list = unsafe { get(text.as_ptr().cast_mut()) };
        if list.is_null() {
            let what = format!("get_event_info({token}) gave NULL, for which Score-P aborts");
            return Err(HostError::Refused { path: self.path.clone(), what });
        }
        let mut entry = list;
        // SAFETY: the plugin ends the list with an entry without a name.
        while let Some(properties) = Some(unsafe { &*entry }).filter(|properties| !properties.name.is_null()) {
            // SAFETY: name, description and unit are C strings; description and unit belong to the plugin and stay.
            let [name, description, unit] = [properties.name.cast_const(), properties.description, properties.unit]
                .map(|text| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned());
            self.metrics.push(Metric {
                name,
                description,
                unit,
                mode: properties.mode,
                value_type: properties.value_type,
                base: properties.base,
                exponent: properties.exponent,
            });
            // SAFETY: the plugin took the name from malloc. The next entry is within the list, since this one does not
            // end it.
            entry = unsafe {
                libc::free(properties.name.cast::<c_void>());
                entry.add(1)
            };
        }
        // Score-P never frees a list without entries
        if entry != list {
            // SAFETY: the plugin took the list from malloc.
            unsafe { libc::free(list.cast()) };
        }
        Ok(())
    }

    /// The metrics of all tokens.
    pub(crate) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Registers the counters for the calling thread and returns their ids, one per metric.
    ///
    /// # Errors
    /// When the plugin refuses a counter, for which Score-P aborts.
    pub(crate) fn add_counters(&self) -> Result<Vec<i32>, HostError> {
        let add = self.function::<unsafe extern "C" fn(*const c_char) -> i32>(word::ADD_COUNTER);
        let ids = self.metrics.iter().map(|metric| {
            let name = CString::new(metric.name.as_str()).unwrap_or_default();
            // SAFETY: the interface gives this word the type of add_counter; the name lives during the call.
            let id = add.map_or(-1, |add| unsafe { add(name.as_ptr()) });
            let what = format!("add_counter({}) gave {id}, for which Score-P aborts", metric.name);
            if id < 0 { Err(HostError::Refused { path: self.path.clone(), what }) } else { Ok(id) }
        });
        ids.collect()
    }

    /// Reads the counters' current values.
    pub(crate) fn read(&self, ids: &[i32]) -> Vec<u64> {
        let get = self.function::<unsafe extern "C" fn(i32) -> u64>(word::GET_CURRENT_VALUE);
        // SAFETY: the interface gives this word the type of get_current_value.
        ids.iter().map(|&id| get.map_or(0, |get| unsafe { get(id) })).collect()
    }

    /// Announces the begin of the measurement, before the program's main.
    pub(crate) fn begin(&self) {
        self.synchronize(BEGIN);
    }

    /// Announces the end of the measurement.
    pub(crate) fn end(&self) {
        self.synchronize(END);
    }

    fn synchronize(&self, mode: u32) {
        if let Some(synchronize) = self.function::<unsafe extern "C" fn(bool, u32)>(word::SYNCHRONIZE) {
            // SAFETY: the interface gives this word the type of synchronize.
            unsafe { synchronize(true, mode) };
        }
    }

    /// Finalizes the plugin and closes the library.
    pub(crate) fn finalize(self) {
        if let Some(finalize) = self.function::<unsafe extern "C" fn()>(word::FINALIZE) {
            // SAFETY: the interface gives this word the type of finalize.
            unsafe { finalize() };
        }
    }
}
