//! `scorep-nccl gpus`, the monitor: bytes over links.

use crate::nvlink::machine::{Machine, folder};
use crate::support::tool;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Two GPUs, of which the second has no NVLink. The first moves 3 and 4 KiB from one reading to the next.
const GPUS: &str = "gpu 0000:0B:00.0 GPU-b\ndata 1 1\nrefuse\npcie 9 9\n\
                    gpu 0000:0a:00.0 GPU-a\ndata 100 200\nstep 3 4\nlink 0 5 6\nlink 2 7 8\npcie 3000 5000\n";

/// Returns the monitor of a machine, with a network adapter whose counters stand still.
pub(crate) fn monitor(machine: &Machine, sysfs: &TempDir, arguments: &[&str]) -> Command {
    let device = sysfs.path().join("class/infiniband/mlx5_0/ports/1/counters");
    std::fs::create_dir_all(&device).unwrap();
    for name in ["port_xmit_data", "port_rcv_data"] {
        std::fs::write(device.join(name), "1000\n").unwrap();
    }
    let mut command = tool::tool();
    let interval = if arguments.contains(&"--interval") { &[][..] } else { &["--interval", "0.05", "--count", "2"] };
    command.arg("gpus").args(interval).arg("--sysfs").arg(sysfs.path()).args(arguments);
    command.env("NVML_STAND_IN_FILE", machine.file()).env("LD_LIBRARY_PATH", folder(env!("NVML_STAND_IN")));
    command
}

/// Runs a command that must succeed. Returns standard output and standard error.
pub(crate) fn said(command: &mut Command) -> [String; 2] {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(status.success(), "{status}\n{stderr}");
    [stdout, stderr]
}

#[test]
fn each_interval_has_a_line_for_each_device() {
    let (machine, sysfs) = (Machine::new(GPUS), tempfile::tempdir().unwrap());
    let [stdout, stderr] = said(&mut monitor(&machine, &sysfs, &[]));
    let lines: Vec<&str> = stdout.lines().collect();
    let names = ["0000:0A:00.0 NVLink", "0000:0A:00.0 PCIe", "0000:0B:00.0 PCIe", "mlx5_0:1"];
    assert_eq!(lines.len(), 2 * names.len(), "{stdout}");
    for (line, name) in lines.iter().zip(names.iter().cycle()) {
        assert!(line.contains(name) && line.contains(" sent ") && line.ends_with(" GB/s"), "{name}: {line}");
    }
    // 3000 and 5000 kB/s
    assert!(lines[1].contains("sent    0.003 GB/s  received    0.005 GB/s"), "{stdout}");
    let absent = "scorep-nccl: 0000:0B:00.0: no bytes over NVLink: NVML's field 138 answered Not Supported (3)\n";
    assert_eq!(stderr, absent);
}

#[test]
fn a_csv_file_has_the_bytes_of_each_interval() {
    let (machine, sysfs) = (Machine::new(GPUS), tempfile::tempdir().unwrap());
    let file = sysfs.path().join("out.csv");
    said(&mut monitor(&machine, &sysfs, &["--links", "--csv", file.to_str().unwrap()]));
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let header = "time,seconds,kind,device,link,sent_bytes,received_bytes,sent_gb_s,received_gb_s,";
    assert!(lines.next().is_some_and(|line| line.starts_with(header)), "{text}");
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let found: Vec<[&str; 5]> = rows.iter().map(|row| [row[2], row[3], row[4], row[5], row[6]]).collect();
    let expected = [
        ["nvlink", "0000:0A:00.0", "", "3072", "4096"],
        ["link", "0000:0A:00.0", "0", "0", "0"],
        ["link", "0000:0A:00.0", "2", "0", "0"],
        ["pcie", "0000:0A:00.0", "", "", ""],
        ["pcie", "0000:0B:00.0", "", "", ""],
        ["adapter", "mlx5_0:1", "", "0", "0"],
    ];
    assert_eq!(found, [expected, expected].concat(), "{text}");
    for row in rows.iter().filter(|row| row[2] == "nvlink") {
        let [seconds, rate] = [row[1], row[7]].map(|value| value.parse::<f64>().unwrap());
        assert!(seconds > 0.0 && (rate - 3072.0 / seconds / 1e9).abs() < 1e-6, "{row:?}");
    }
}

/// The first interval is as long as GPM needs, whatever else the machine does.
const OF_GPM: [&str; 5] = ["--interval", "0.15", "--count", "1", "--links"];

#[test]
fn links_without_counters_have_gpms_rates() {
    let gpus = "gpu 0000:0B:00.0 GPU-b\nrefuse\ngpm 0 9 9\n\
                gpu 0000:0A:00.0 GPU-a\ndata 100 200\ngpm 0 1000 2000\ngpm 17 0 4000\n";
    let (machine, sysfs) = (Machine::new(gpus), tempfile::tempdir().unwrap());
    let directory = tempfile::tempdir().unwrap();
    let arguments = [&OF_GPM[..], &["--prometheus", directory.path().to_str().unwrap()]].concat();
    let [stdout, _] = said(&mut monitor(&machine, &sysfs, &arguments));
    let links: Vec<&str> = stdout.lines().filter(|line| line.contains(" link ")).collect();
    assert_eq!(links.len(), 18, "of a GPU whose NVLinks NVML counts, and of no other: {stdout}");
    assert!(links.iter().all(|line| line.contains("0000:0A:00.0 link ")), "{stdout}");
    // 1000 and 2000 MiB/s
    assert!(links[0].ends_with("link 0   sent    1.049 GB/s  received    2.097 GB/s"), "{stdout}");
    assert!(links[17].ends_with("link 17  sent    0.000 GB/s  received    4.194 GB/s"), "{stdout}");
    let text = directory.path().read_dir().unwrap().map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap());
    let text: String = text.collect();
    let line = text.lines().find(|line| line.starts_with("scorep_nccl_nvlink_link_received_bytes_per_second{"));
    assert!(line.is_some_and(|line| line.ends_with(" 2097152000") && line.contains("link=\"0\"")), "{text}");
    assert!(!text.contains("nvlink_link_sent_bytes_total"), "{text}");
}

#[test]
fn a_textfile_has_the_bytes_since_the_first_reading() {
    let (machine, sysfs) = (Machine::new(GPUS), tempfile::tempdir().unwrap());
    let directory = tempfile::tempdir().unwrap();
    said(&mut monitor(&machine, &sysfs, &["--prometheus", directory.path().to_str().unwrap()]));
    let files: Vec<_> = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("scorep-nccl-gpus_") && name.ends_with(".prom"), "{name}");
    let text = std::fs::read_to_string(&files[0]).unwrap();
    for (name, labels, value) in [
        ("scorep_nccl_nvlink_sent_bytes_total", r#"gpu_uuid="GPU-a",gpu_pci_bus_id="0000:0A:00.0""#, "6144"),
        ("scorep_nccl_nvlink_received_bytes_total", r#"gpu_uuid="GPU-a",gpu_pci_bus_id="0000:0A:00.0""#, "8192"),
        ("scorep_nccl_pcie_sent_bytes_per_second", r#"gpu_uuid="GPU-a",gpu_pci_bus_id="0000:0A:00.0""#, "3000000"),
        ("scorep_nccl_adapter_sent_bytes_total", r#"adapter="mlx5_0:1""#, "0"),
    ] {
        let line = text.lines().find(|line| line.starts_with(&format!("{name}{{")) && line.contains(labels));
        assert!(line.is_some_and(|line| line.ends_with(&format!(" {value}"))), "{name}: {text}");
        assert_eq!(text.matches(&format!("# TYPE {name} ")).count(), 1, "{text}");
    }
}

/// Waits for something that a process brings about.
pub(crate) fn wait_for(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_directory_that_goes_and_comes_back_has_its_textfile_again() {
    let (machine, sysfs) = (Machine::new(GPUS), tempfile::tempdir().unwrap());
    let (directory, stderr) = (sysfs.path().join("prom"), sysfs.path().join("stderr"));
    std::fs::create_dir(&directory).unwrap();
    let arguments = ["--interval", "0.05", "--prometheus", directory.to_str().unwrap()];
    let mut command = monitor(&machine, &sysfs, &arguments);
    command.stdout(std::process::Stdio::null()).stderr(std::fs::File::create(&stderr).unwrap());
    let mut child = command.spawn().unwrap();
    let is_there = || directory.read_dir().is_ok_and(|mut files| files.next().is_some());
    let failures = || std::fs::read_to_string(&stderr).unwrap().matches("the next reading tries again").count();
    wait_for("a textfile", is_there);
    std::fs::rename(&directory, sysfs.path().join("gone")).unwrap();
    wait_for("a failure", || failures() == 1);
    std::fs::create_dir(&directory).unwrap();
    wait_for("a textfile again", is_there);
    assert_eq!((failures(), child.try_wait().unwrap()), (1, None));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn without_nvml_adapters_are_shown_and_without_both_it_fails() {
    let (machine, sysfs) = (Machine::new(""), tempfile::tempdir().unwrap());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("libnvidia-ml.so.1"), "").unwrap();
    let [stdout, stderr] = said(monitor(&machine, &sysfs, &[]).env("LD_LIBRARY_PATH", folder.path()));
    assert!(stdout.lines().count() == 2 && stdout.lines().all(|line| line.contains("mlx5_0:1")), "{stdout}");
    let absent = "NVML (libnvidia-ml.so.1, of NVIDIA's driver) is not there: no figures of GPUs\n";
    assert_eq!(stderr, format!("scorep-nccl: {absent}"));
    let mut command = tool::tool();
    command.args(["gpus", "--count", "1", "--sysfs"]).arg(Path::new("/nonexistent"));
    let Output { status, stderr, .. } = command.env("LD_LIBRARY_PATH", folder.path()).output().unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(!status.success() && stderr.ends_with("neither a GPU nor a network adapter\n"), "{stderr}");
}

#[test]
fn a_directory_that_is_missing_is_named() {
    let (machine, sysfs) = (Machine::new(GPUS), tempfile::tempdir().unwrap());
    let output = monitor(&machine, &sysfs, &["--prometheus", "/nonexistent/prom"]).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && stderr.contains("/nonexistent/prom: there is no such directory"), "{stderr}");
}

/// The adapters' figures go on, and one line says so.
#[test]
fn a_driver_that_does_not_answer_or_counts_wildly_keeps_no_adapter_from_its_figures() {
    let sysfs = tempfile::tempdir().unwrap();
    let never = "NVML does not answer within 5 s: no figures of GPUs until it does";
    let wild = "nvmlDeviceGetCount says 2147483648 GPUs, more than any machine has: no figures of GPUs";
    for (machine, line) in
        [(format!("{GPUS}hang\n"), never), ("hang_in_init\n".into(), never), ("count 2147483648\n".into(), wild)]
    {
        let [stdout, stderr] = said(&mut monitor(&Machine::new(&machine), &sysfs, &[]));
        assert!(
            stdout.lines().count() == 2 && stdout.lines().all(|line| line.contains("mlx5_0:1")),
            "{machine}: {stdout}"
        );
        assert_eq!(stderr.matches(line).count(), 1, "{machine}: {stderr}");
    }
}
