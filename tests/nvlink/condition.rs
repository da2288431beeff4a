//! `scorep-nccl gpus`, the monitor: clocks, power, temperature, use, throttle reasons and errors of GPUs.

use crate::nvlink::machine::{Machine, folder};
use crate::nvlink::monitor::{monitor, said, wait_for};
use crate::support::tool;
use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// An H100 at work, whose NVLinks have made no errors.
const AT_WORK: &str = "nvlinks 2 26562\nclocks 1980 1980 2619\npower 612345 700000\ntemperature 54\nuse 98 31\n\
                       reasons 0\npcie_link 5 16\nfield 74 1000\nfield 75 0\nfield 3 0\nfield 4 0\nfield 94 0\n\
                       link_field 161 0 0\nlink_field 162 0 0\nlink_field 163 0 0\n";

/// Returns the lines that the monitor shows of GPUs, without their times.
fn lines(own: &str) -> Vec<String> {
    let (machine, sysfs) = (Machine::new(&format!("gpu 0000:0A:00.0 GPU-a\n{own}")), tempfile::tempdir().unwrap());
    let [stdout, _] = said(&mut monitor(&machine, &sysfs, &["--lines"]));
    let of_gpu = stdout.lines().filter_map(|line| line.split_once("0000:0A:00.0 GPU"));
    of_gpu.map(|(_, line)| line.trim().to_owned()).collect()
}

/// Returns a GPU's lines with some of them for others.
fn with(own: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(own.to_owned(), |own, (from, to)| {
        assert!(own.contains(from), "{from}: {own}");
        own.replace(from, to)
    })
}

#[test]
fn a_gpu_has_a_line_in_each_interval() {
    let expected = "1980/1980 MHz  612/700 W  98 % used  54 C";
    assert_eq!(lines(AT_WORK), [expected; 2]);
}

/// The counters grow by more than any interval of the test, so that their share is all of it.
#[test]
fn reasons_for_low_clocks_are_said() {
    let of = |changes: &[(&str, &str)]| {
        let lines = lines(&with(AT_WORK, changes));
        lines.iter().map(|line| line.split_once("throttle: ").map(|(_, rest)| rest.to_owned())).collect::<Vec<_>>()
    };
    let all = |reasons: &str| vec![Some(reasons.to_owned()); 2];
    assert_eq!(of(&[]), [None, None]);
    let capped = ("field 74 1000", "field 74 1000 900000000000");
    assert_eq!(of(&[capped]), all("power cap 100 %"));
    assert_eq!(of(&[capped, ("reasons 0", "reasons 4")]), all("power cap 100 %"));
    // a thermal throttle of the hardware, which is not counted, and one which is
    assert_eq!(of(&[("reasons 0", "reasons 48"), ("1980 1980", "960 1980")]), all("HW slowdown, HW thermal"));
    assert_eq!(of(&[("field 75 0", "field 252 0 900000000000")]), all("HW thermal 100 %"));
    assert_eq!(of(&[("use 98 31", "use 0 0"), ("reasons 0", "reasons 1")]), all("idle"));
}

#[test]
fn errors_that_are_not_zero_are_said() {
    let wrong = "field 4 2\nfield 144 1\nfield 145 0\nfield 94 37 3\nlink_field 163 1 5\n";
    let lines = lines(&with(AT_WORK, &[("field 4 0\nfield 94 0\n", wrong)]));
    let of = |replays| {
        format!("ECC uncorrected: 2  row remapping pending: 1  PCIe replays: {replays} (+3)  NVLink CRC errors: 5")
    };
    assert!(lines[0].ends_with(&of(40)) && lines[1].ends_with(&of(43)), "{lines:?}");
}

#[test]
fn xids_are_counted_from_the_first_reading_on() {
    let shown = lines(&format!("{AT_WORK}xid 31\nxid 79\n"));
    assert!(shown[0].ends_with("54 C  Xid 79: 2 (+2)") && shown[1].ends_with("54 C  Xid 79: 2"), "{shown:?}");
    assert!(lines(&format!("{AT_WORK}xid 31\nno_events\n"))[0].ends_with("54 C"));
}

/// A GPU that has fallen off the bus gives no figures any more.
#[test]
fn a_gpu_that_is_lost_stays() {
    let (machine, sysfs) = (Machine::new(""), tempfile::tempdir().unwrap());
    let set = |own: &str| machine.set(&format!("gpu 0000:0A:00.0 GPU-a\n{own}"));
    set(AT_WORK);
    let stdout = sysfs.path().join("stdout");
    let mut command = monitor(&machine, &sysfs, &["--interval", "0.05"]);
    command.stdout(std::fs::File::create(&stdout).unwrap()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    let text = || std::fs::read_to_string(&stdout).unwrap();
    wait_for("a line", || text().contains("1980/1980 MHz"));
    set("xid 79\n");
    wait_for("its loss", || text().lines().filter(|line| line.ends_with("GPU      Xid 79: 1")).count() >= 3);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Blackwell counts recoveries alone, under another number.
#[test]
fn recoveries_of_links_are_those_of_the_generation() {
    let of = |fields: &str| lines(&with(AT_WORK, &[("link_field 162 0 0\n", fields)]))[0].clone();
    let later = of("link_field 215 0 3\nlink_field 215 1 4\n");
    assert!(later.ends_with("54 C  NVLink recoveries: 7"), "{later}");
    let both = of("link_field 162 0 2\nlink_field 215 0 3\n");
    assert!(both.ends_with("54 C  NVLink recoveries: 2"), "{both}");
}

#[test]
fn a_refused_figure_is_absent() {
    assert_eq!(lines("clocks 1200 1980 2619"), ["1200/1980 MHz"; 2]);
    assert_eq!(lines("use 0 0"), ["0 % used"; 2]);
    assert_eq!(lines("data 1 1"), [""; 0]);
}

/// The reading beside a stand-in of driver 525: older names, and power by functions.
#[test]
fn an_old_driver_gives_the_same_figures() {
    let own = with(AT_WORK, &[("reasons 0", "reasons 4"), ("field 75 0", "field 252 0 900000000000")]);
    let (machine, sysfs) = (Machine::new(&format!("gpu 0000:0A:00.0 GPU-a\n{own}")), tempfile::tempdir().unwrap());
    let mut command = monitor(&machine, &sysfs, &["--lines"]);
    let [stdout, _] = said(command.env("LD_LIBRARY_PATH", folder(env!("OLD_NVML_STAND_IN"))));
    let expected = "  1980/1980 MHz  612/700 W  98 % used  54 C  throttle: power cap";
    assert!(stdout.lines().next().is_some_and(|line| line.ends_with(expected)), "{stdout}");
}

/// Runs the monitor of a GPU with some errors. Returns the directory of its files.
fn written(arguments: &[&str]) -> TempDir {
    let own = with(AT_WORK, &[("field 94 0", "field 94 7 3\nfield 83 5000 2500"), ("reasons 0", "xid 31\nreasons 24")]);
    let (machine, sysfs) = (Machine::new(&format!("gpu 0000:0A:00.0 GPU-a\n{own}")), tempfile::tempdir().unwrap());
    let directory = tempfile::tempdir().unwrap();
    said(monitor(&machine, &sysfs, arguments).current_dir(directory.path()));
    directory
}

#[test]
fn a_csv_file_has_the_figures_of_each_gpu() {
    let directory = written(&["--csv", "out.csv"]);
    let mut file = csv::Reader::from_path(directory.path().join("out.csv")).unwrap();
    let rows: Vec<BTreeMap<String, String>> = file.deserialize().map(Result::unwrap).collect();
    let rows: Vec<_> = rows.iter().filter(|row| row["kind"] == "gpu").collect();
    assert_eq!(rows.len(), 2, "{rows:#?}");
    for (column, value) in [
        ("device", "0000:0A:00.0"),
        ("sent_bytes", ""),
        ("sm_clock_mhz", "1980"),
        ("power_w", "612.345"),
        ("power_limit_w", "700"),
        ("energy_j", "2.5"),
        ("temperature_c", "54"),
        ("gpu_use_percent", "98"),
        ("throttle", "power cap; SW thermal"),
        ("power_cap_s", "0.000000"),
        ("hw_thermal_s", ""),
        ("ecc_uncorrected", "0"),
        ("remap_pending", ""),
        ("pcie_replays", "13"),
        ("pcie_lanes", "16"),
        ("nvlink_crc_errors", "0"),
        ("xids", "1"),
        ("last_xid", "31"),
    ] {
        assert_eq!(rows[1][column], value, "{column}: {rows:#?}");
    }
}

#[test]
fn a_textfile_has_the_figures_of_each_gpu() {
    let directory = written(&["--prometheus", "."]);
    let file = directory.path().read_dir().unwrap().next().unwrap().unwrap().path();
    let text = std::fs::read_to_string(file).unwrap();
    for (name, further, value) in [
        ("sm_clock_hertz", "", "1980000000"),
        ("power_watts", "", "612.345"),
        ("power_limit_watts", "", "700"),
        ("energy_joules_total", "", "10"),
        ("use_ratio", "", "0.98"),
        ("throttle", ",reason=\"power cap\"", "1"),
        ("throttle", ",reason=\"HW thermal\"", "0"),
        ("throttled_seconds_total", ",reason=\"power cap\"", "0.000001"),
        ("ecc_errors_total", ",kind=\"uncorrected\"", "0"),
        ("pcie_replays_total", "", "13"),
        ("xids_total", "", "1"),
        ("last_xid", "", "31"),
        ("nvlink_errors_total", ",kind=\"crc\"", "0"),
    ] {
        let labels = "gpu_uuid=\"GPU-a\",gpu_pci_bus_id=\"0000:0A:00.0\"";
        let end = format!("{labels}{further}}} {value}");
        let name = format!("scorep_nccl_gpu_{name}");
        let is_it = |line: &&str| line.starts_with(&format!("{name}{{hostname=")) && line.ends_with(&end);
        assert_eq!(text.lines().filter(is_it).count(), 1, "{name}{further}: {text}");
        assert_eq!(text.matches(&format!("# TYPE {name} ")).count(), 1, "{name}: {text}");
    }
    assert!(!text.contains("remapped_rows"), "NVML refuses these: {text}");
}

/// A reading calls NVML as rarely as it can: a job's own thread does so each second.
#[test]
fn a_reading_of_a_gpu_takes_nine_calls() {
    let calls = |count: &str| {
        let machine = Machine::new(&format!("gpu 0000:0A:00.0 GPU-a\n{AT_WORK}"));
        let sysfs = tempfile::tempdir().unwrap();
        let file = sysfs.path().join("calls");
        let arguments = ["--interval", "0.05", "--count", count];
        said(monitor(&machine, &sysfs, &arguments).env("NVML_STAND_IN_CALLS", &file));
        let mut calls: BTreeMap<String, usize> = BTreeMap::new();
        std::fs::read_to_string(file).unwrap().lines().for_each(|name| *calls.entry(name.into()).or_default() += 1);
        calls
    };
    let (fewer, more) = (calls("1"), calls("2"));
    let of_reading: BTreeMap<&str, usize> =
        more.iter().map(|(name, count)| (name.as_str(), count - fewer.get(name).unwrap_or(&0))).collect();
    // the fields once for the bytes, once for the GPU's condition and once for its links'; the rates over PCIe are two
    // calls of their own
    let expected = [
        ("nvmlDeviceGetClockInfo", 2),
        ("nvmlDeviceGetCurrPcieLinkGeneration", 1),
        ("nvmlDeviceGetCurrPcieLinkWidth", 1),
        ("nvmlDeviceGetCurrentClocksEventReasons", 1),
        ("nvmlDeviceGetFieldValues", 3),
        ("nvmlDeviceGetPcieThroughput", 2),
        ("nvmlDeviceGetTemperature", 1),
        ("nvmlDeviceGetUtilizationRates", 1),
    ];
    let of_reading: Vec<(&str, usize)> = of_reading.into_iter().filter(|(_, count)| *count > 0).collect();
    assert_eq!(of_reading, expected);
}

#[test]
fn the_cost_of_readings_is_said_by_part() {
    let (machine, sysfs) = (Machine::new(&format!("gpu 0000:0A:00.0 GPU-a\n{AT_WORK}")), tempfile::tempdir().unwrap());
    let [_, stderr] = said(&mut monitor(&machine, &sysfs, &["--cost"]));
    let part = |name: &str| stderr.lines().find(|line| line.starts_with(&format!("scorep-nccl: {name}: ")));
    let readings = |name: &str| part(name).and_then(|line| line.rsplit_once("; ")).map(|(_, readings)| readings);
    let each = ["bytes", "Xids", "conditions of GPUs"];
    assert_eq!(each.map(readings), [Some("3 readings"); 3], "{stderr}");
    assert_eq!((readings("rates over PCIe"), part("rates of single NVLinks")), (Some("2 readings"), None), "{stderr}");
}

/// The monitor's name before it showed more than links.
#[test]
fn the_former_name_works() {
    let machine = Machine::new(&format!("gpu 0000:0A:00.0 GPU-a\n{AT_WORK}"));
    let mut command: Command = tool::tool();
    command.args(["nvlink", "--interval", "0.05", "--count", "1", "--sysfs", "/nonexistent"]);
    command.env("NVML_STAND_IN_FILE", machine.file()).env("LD_LIBRARY_PATH", folder(env!("NVML_STAND_IN")));
    let [stdout, _] = said(&mut command);
    assert!(stdout.contains("  1980/1980 MHz  "), "{stdout}");
}
