//! State files of a job's processes.

use crate::fuzz_readers::kinds::Kind;
use crate::fuzz_readers::mutations;
use common::status::{SCHEMA, Status};
use std::path::PathBuf;

/// A process that waits in a collective, in a call and for the network.
const WAITING: &str = r#"{"schema":"SCHEMA","pid":100,"born":7,"id":"00000000000000aa","host":"elsewhere",
"rank":0,"ranks":4,"written":2000000000,"beat":3,"communicators":[{"comm":"00000000000000ab","name":"world","rank":0,
"nranks":4,"opened":1000000,"ended":null,"counts_all":true,"sees_gpu":true,"entered":6,"entered_p2p":1,"begun":6,
"finished":5,"operations":[{"number":5,"func":"AllReduce","count":7,"datatype":"ncclFloat32","root":0,"peer":1,
"bytes":28,"entered":1000000000,"begun":1000000100,"finished":null}],"calls":[{"func":"AllReduce","since":1000000000}],
"waits":[{"peer":1,"channel":2,"sends":true,"state":"network","since":1000000000,"steps":3}]}]}"#;
/// A process that has not come, of a measurement that has ended, with an answer to a request.
const ENDED: &str = r#"{"schema":"SCHEMA","pid":101,"born":7,"id":"00000000000000ab","host":"elsewhere",
"rank":1,"ranks":4,"written":2000000000,"beat":3,"over":5,"silent_since":6,"off":"why","further_communicators":1,
"communicators":[{"comm":"00000000000000ab","rank":1,"nranks":4,"counts_all":true,"entered":5,"finished":5}],
"answer":{"ticket":"7","taken":1,"until":2,"left_out":"a part"}}"#;

fn seeds() -> Vec<Vec<u8>> {
    [WAITING, ENDED].map(|text| text.replace("SCHEMA", SCHEMA).into_bytes()).to_vec()
}

pub(crate) const STATUS: Kind = Kind {
    name: "state",
    ending: ".status.json",
    at_a_time: 100,
    prepare: |place| {
        assert!(seeds().iter().all(|seed| serde_json::from_slice::<Status>(seed).is_ok()));
        place.to_path_buf()
    },
    mutated: |rng, _| vec![(PathBuf::new(), mutations::of_text(&seeds(), rng))],
    arguments: |command, files, _| {
        command.arg("hang").arg(files[0].parent().unwrap()).args(["--json", "--verbose"]);
    },
    status_answers: true,
    // more further communicators than a number has room for, in all files
    failed: &[12178],
};
