//! Parts that several subjects of the tests use.
#![allow(dead_code, unused_imports, reason = "each test program uses a part of its own")]

pub(crate) mod bounded;
pub(crate) mod callgrind;
pub(crate) mod cupti;
pub(crate) mod document;
pub(crate) mod edited;
pub(crate) mod events;
pub(crate) mod host;
pub(crate) mod installation;
pub(crate) mod job;
pub(crate) mod lines;
pub(crate) mod marked;
pub(crate) mod mutations;
pub(crate) mod once;
pub(crate) mod parts;
pub(crate) mod ranks;
pub(crate) mod reference;
pub(crate) mod repeated;
pub(crate) mod report;
pub(crate) mod site;
pub(crate) mod skip;
pub(crate) mod status;
pub(crate) mod summaries;
pub(crate) mod synthetic;
pub(crate) mod tool;
pub(crate) mod trace;
pub(crate) mod two_users;
pub(crate) mod until;
