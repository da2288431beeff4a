//! What is done with each command of the documentation.

/// What is done with a command.
#[derive(Debug, Clone, Copy)]
pub(crate) enum How {
    /// Run here, as it is written, with the others of its block. These must lie there afterwards; `*` stands for
    /// anything.
    Run(&'static [&'static str]),
    /// Run by another test, in this file.
    RunBy(&'static str),
    /// A target of make, which builds or runs tests itself: looked up only.
    Make,
    /// Stands for many: its options are looked up.
    Synopsis,
    /// What it lacks on one machine that has nothing but this.
    Needs(#[expect(dead_code, reason = "for whoever reads the list")] &'static str),
}

impl How {
    /// What it leaves, if it is run here.
    pub(crate) fn leaves(self) -> Option<&'static [&'static str]> {
        if let Self::Run(leaves) = self { Some(leaves) } else { None }
    }

    /// The test that runs it.
    pub(crate) fn test(self) -> Option<&'static str> {
        if let Self::RunBy(test) = self { Some(test) } else { None }
    }
}

/// Pages whose commands another test runs, all of them.
pub(crate) const PAGES: [(&str, &str); 1] = [("docs/install.md", "tests/install/document.rs")];

/// Pages that may be missing.
pub(crate) const NOT_YET: [&str; 0] = [];

/// First lines of blocks that show what is printed, or drawn.
pub(crate) const PRINTED: [&str; 2] = [
    "NCCL's threads, the application's            the collector thread                            readers",
    "time         visits    nccl_op_bytes",
];

const WHEEL: How = How::RunBy("tests/wheel/main.rs");
const SCORE_P: How = How::RunBy("tests/score_p/documented.rs");
const GATHERING: How = How::RunBy("tests/gather_scale.rs");

const CLUSTER: How = How::Needs("a cluster with GPUs and a Grafana; tests/kubernetes checks the files by schemas");

/// The commands, as they are written.
pub(crate) const COMMANDS: [(&str, How); 60] = [
    ("scorep-nccl report all.*.json", How::RunBy("tests/without_mpi.rs")),
    ("scorep-nccl report scorep-nccl.rank*/", How::RunBy("tests/without_mpi.rs")),
    ("pip install scorep_nccl-*.whl", WHEEL),
    ("pip uninstall --yes scorep-nccl", WHEEL),
    ("export NCCL_SCOREP_RECORD=recordings", How::Run(&[])),
    (
        "torchrun --no-python --nproc-per-node=4 scorep-nccl run -- python train.py",
        How::Run(&["recordings/*.jsonl.gz"]),
    ),
    ("scorep-nccl report recordings", How::Run(&[])),
    ("scorep-nccl run --summary all.%h.%r.json -- python train.py --devices 4", How::Run(&["all.*.json"])),
    (
        "deepspeed --no_python --no_local_rank scorep-nccl run --summary all.%r.json -- python train.py",
        How::Needs("DeepSpeed"),
    ),
    (
        "scorep-nccl run --summary /shared/all.%h.%p.json -- ray start --address=HEAD:6379",
        How::Needs("Ray, and several nodes"),
    ),
    ("make demo", How::Make),
    ("make test", How::Make),
    ("make test-all", How::Make),
    ("make lint", How::Make),
    ("make library tool", How::Make),
    ("make library", How::Make),
    ("export SCOREP_NCCL_TEST_LIBRARY=$PWD/target/shipped/release/libscorep_substrate_nccl.so", GATHERING),
    ("cargo test --test measurement gather_scale:: -- --ignored --nocapture", GATHERING),
    (
        "SCOREP_NCCL_USUAL_PARTS=1 SCOREP_NCCL_RANKS=2560 cargo test --test measurement gather_scale:: -- --ignored --nocapture",
        GATHERING,
    ),
    ("export PATH=$PWD/target/shipped/release:$PATH", How::Run(&[])),
    ("scorep-nccl run -- scorep-nccl doctor", How::Run(&[])),
    (
        "scorep-nccl demo",
        How::Run(&["scorep-nccl-demo/report.html", "scorep-nccl-demo/net2_collectives.otf2/traces.otf2"]),
    ),
    // stand-ins for the launchers and the program; with Score-P itself: tests/score_p
    (
        "SCOREP_ENABLE_TRACING=true SCOREP_ENABLE_PROFILING=false scorep-nccl run -- scorep-nccl doctor",
        How::RunBy("tests/doctor/main.rs"),
    ),
    ("export SCOREP_ENABLE_TRACING=true SCOREP_ENABLE_PROFILING=false SCOREP_TOTAL_MEMORY=64M", How::Run(&[])),
    ("mpirun -n 4 scorep-nccl run -- ./program", How::Run(&["program.3.nccl_plugin.nccl"])),
    ("eval \"$(scorep-nccl env)\"", How::Run(&[])),
    ("srun ./program", How::Run(&["program.0.nccl_plugin.nccl"])),
    ("export SCOREP_TOTAL_MEMORY=256M", How::Run(&[])),
    (
        "torchrun --no-python --nproc-per-node=4 scorep-nccl run -- python -m scorep --mpp=none --thread=pthread train.py",
        How::Run(&["scorep-nccl.rank0", "scorep-nccl.rank3"]),
    ),
    ("scorep-nccl run --summary all.%r.json -- ./program", How::Run(&["all.*.json"])),
    (
        "torchrun --no-python --nproc-per-node=4 scorep-nccl run --summary all.%r.json -- python train.py",
        How::Run(&["all.*.json"]),
    ),
    ("NCCL_SCOREP_RECORD=recordings scorep-nccl run -- ./program", How::Run(&["recordings/*.jsonl.gz"])),
    ("scorep-nccl replay recordings", How::Run(&[])),
    ("scorep-nccl replay recordings --otf2 archive", How::Run(&["archive/traces.otf2"])),
    ("NCCL_SCOREP_RECORD=recordings srun ./program", How::Run(&["recordings/*.jsonl.gz"])),
    (
        "scorep-nccl replay --otlp http://localhost:4318 recordings",
        How::Needs("a receiver at that port; tests/otel has one at another"),
    ),
    ("export NCCL_SCOREP_OTEL=on OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318", How::Run(&[])),
    (
        "mkdir textfiles && NCCL_SCOREP_PROM_DIR=textfiles scorep-nccl replay recordings",
        How::Needs("a library that was built with OpenTelemetry; tests/otel has one"),
    ),
    ("export NCCL_SCOREP_PROM_DIR=/var/lib/prometheus/node-exporter", How::Run(&[])),
    ("docker build -f examples/kubernetes/Dockerfile -t $REGISTRY/scorep-nccl:0.1.0 .", CLUSTER),
    ("docker push $REGISTRY/scorep-nccl:0.1.0", CLUSTER),
    ("kubectl apply -f examples/kubernetes/job.yaml", CLUSTER),
    ("kubectl logs job/training", CLUSTER),
    ("docker build -f examples/kubernetes/Dockerfile --target tool -t $REGISTRY/scorep-nccl-tool:0.1.0 .", CLUSTER),
    ("kubectl apply -f examples/kubernetes/pod-watched.yaml", CLUSTER),
    ("kubectl logs -f training -c watch", CLUSTER),
    ("cp examples/grafana/scorep-nccl.json /var/lib/grafana/dashboards/scorep-nccl/", CLUSTER),
    ("cp examples/grafana/dashboards.yaml /etc/grafana/provisioning/dashboards/scorep-nccl.yaml", CLUSTER),
    ("srun scorep-nccl run -- ./program", How::Run(&["program.0.nccl_plugin.nccl"])),
    ("export NCCL_SCOREP_NVLINK=on", How::Run(&[])),
    ("srun scorep-nccl run --summary all.%h.%r.json -- ./program", How::Run(&["all.*.json"])),
    ("scorep-nccl gpus", How::Needs("a node with GPUs; tests/nvlink has stand-ins")),
    ("NCCL_SCOREP_CHAIN=inspector srun ./program", How::Run(&["inspector.heard"])),
    ("otf2-print -G scorep-*/traces.otf2 | grep 'Name: \"NCCL '", SCORE_P),
    ("otf2-print scorep-*/traces.otf2 | grep -A 1 'Region: \"ncclAllReduce\"' | head -20", SCORE_P),
    ("cube_calltree -i -m time scorep-*/profile.cubex", SCORE_P),
    ("cube_calltree -m visits scorep-*/profile.cubex", SCORE_P),
    ("cube_calltree -m nccl_op_bytes scorep-*/profile.cubex", SCORE_P),
    ("cube_stat -m visits,time,nccl_op_bytes scorep-*/profile.cubex", SCORE_P),
    ("python3 -m json.tool scorep-*/nccl/summary.json", SCORE_P),
];
