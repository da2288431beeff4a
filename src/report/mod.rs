//! `scorep-nccl report` and `scorep-nccl compare`: their command lines, and the way from inputs to a report.
//!
//! | file | task |
//! |---|---|
//! | `command.rs` | the arguments of `report`, and its outputs |
//! | `compare.rs` | the arguments of `compare`, and its exit status |
//! | `facts.rs` | the arguments of both that add facts to a job |
//! | `inputs.rs` | the inputs, told apart by content |
//! | `jobs.rs` | the jobs that the inputs are of, and the choice of one |
//! | `links.rs` | rates of links |
//! | `step_times.rs` | the user's file of steps |
//! | `text_file.rs` | files of facts, read whole |
//! | `findings` | logs of a watch's findings |
//! | `nccl_logs.rs` | logs of NCCL |
//! | `outputs.rs` | the files of a report, and the tables |
//! | `request.rs` | a report as it was asked for, and as it was made of its inputs |
//! | `drive.rs` | from inputs to a report |
//! | `archives.rs` | archives as tables |
//! | `archive_child.rs` | the process that reads an archive |
//! | `tables_child.rs` | the process that reads tables before the report does |
//! | `tagged.rs` | the operations of one of the user's tags |
//! | `traced.rs` | the file of Perfetto's trace |
//! | `watched.rs` | tables with a progress bar, as far as they can be read |

pub(crate) mod archive_child;
pub(crate) mod archives;
pub(crate) mod command;
pub(crate) mod compare;
mod drive;
mod facts;
mod findings;
mod inputs;
mod jobs;
mod links;
mod nccl_logs;
mod outputs;
mod request;
#[cfg(test)]
#[path = "../../tools/report/tests/sample/mod.rs"]
mod sample;
mod step_times;
pub(crate) mod tables_child;
mod tagged;
mod text_file;
mod traced;
mod watched;
