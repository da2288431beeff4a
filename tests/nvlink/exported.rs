//! The shipped library's figures in a textfile for Prometheus.

use crate::nvlink::machine::{Machine, await_zero};

#[test]
fn a_textfile_has_the_gpus_bytes_and_those_of_nccls_operations() {
    let machine = Machine::with("data 100 200");
    let directory = tempfile::tempdir().unwrap();
    let settings =
        [("NCCL_SCOREP_PROM_DIR", directory.path().to_str().unwrap()), ("OTEL_METRIC_EXPORT_INTERVAL", "20")];
    let mut job = machine.job(&settings);
    job.order("init ab 0 4 1");
    await_zero(&mut job);
    job.order("algorithm RING SIMPLE\nstart o0 ab AllGather 1024 ncclInt8\nstart o1 ab Broadcast 1024 ncclInt8");
    machine.set_own("data 107 209");
    job.end();
    let file = directory.path().read_dir().unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(file).unwrap();
    for (name, value) in [
        ("nccl_nvlink_sent_bytes_total", 7 << 10),
        ("nccl_nvlink_received_bytes_total", 9 << 10),
        ("nccl_nvlink_expected_sent_bytes_total", 3 << 10),
        ("nccl_nvlink_expected_received_bytes_total", 3 << 10),
        ("nccl_nvlink_unknown_ops_count_total", 1),
    ] {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(&format!("{name}{{"))).collect();
        assert_eq!(lines.len(), 1, "{name}: {text}");
        let gpu = r#"gpu_uuid="GPU-own",gpu_pci_bus_id="0000:0A:00.0""#;
        assert!(lines[0].contains(gpu) && lines[0].ends_with(&format!(" {value}")), "{}", lines[0]);
    }
}
