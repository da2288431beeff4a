//! Knowledge of NCCL's releases applies to each NCCL of a process, and to the types that a second plugin asks for.

use crate::support::tool;

const KERNEL_CH: u32 = 1 << 6;
const KERNEL_LAUNCH: u32 = 1 << 11;

/// Returns the masks of NCCLs of these interface versions, one after the other in one process, and the messages.
fn masks(versions: &[u32], settings: &[(&str, &str)]) -> (Vec<u32>, String) {
    let (last, first) = versions.split_last().unwrap();
    let mut command = tool::host(env!("HOST_CONFORMANCE_HOST"));
    command.arg(tool::library()).args([&last.to_string(), "masks", &first.first().unwrap_or(&0).to_string()]);
    command.envs(settings.iter().copied());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    let text = String::from_utf8(output.stdout).unwrap();
    (text.lines().filter_map(|line| line.strip_prefix("mask ")).map(|mask| mask.parse().unwrap()).collect(), said)
}

fn kernel_events(versions: &[u32], settings: &[(&str, &str)]) -> Vec<bool> {
    masks(versions, settings).0.iter().map(|mask| mask & KERNEL_CH != 0).collect()
}

#[test]
fn each_nccl_of_a_process_is_asked_for_what_it_bears() {
    assert_eq!(kernel_events(&[5], &[]), [true]);
    assert_eq!(kernel_events(&[6], &[]), [false]);
    assert_eq!(kernel_events(&[5, 6], &[]), [true, false]);
    assert_eq!(kernel_events(&[6, 5], &[]), [false, true]);
    let (masks, said) = masks(&[5, 6], &[("NCCL_SCOREP_PRESET", "full"), ("NCCL_SCOREP_GPU_TIME", "stamps")]);
    assert_eq!(masks, [0xfff, 0x7fff & !KERNEL_CH]);
    assert_eq!(
        said.matches("GPU times are off: with NCCL of unknown release, profiler interface v6").count(),
        1,
        "{said}"
    );
}

#[test]
fn a_release_that_does_not_speak_the_callers_interface_is_another_nccls() {
    let linked = [("HOST_RELEASE", "22809")];
    assert_eq!(kernel_events(&[6], &linked), [false]);
    assert_eq!(kernel_events(&[5], &linked), [true]);
    let (_, said) = masks(&[6], &[("HOST_RELEASE", "22907"), ("NCCL_SCOREP_GPU_TIME", "stamps")]);
    assert!(said.contains("GPU times are off: with NCCL 2.29.7, profiler interface v6"), "{said}");
    let chained = [("NCCL_SCOREP_CHAIN", env!("SECOND_PLUGIN_V6")), ("SECOND_PLUGIN_MASK", "64"), linked[0]];
    assert_eq!(kernel_events(&[6], &chained), [false]);
    assert_eq!(kernel_events(&[5, 6], &chained), [true, false]);
}

#[test]
fn the_variable_that_cures_it_brings_kernel_events_back() {
    assert_eq!(kernel_events(&[5, 6], &[("NCCL_ALLGATHERV_ENABLE", "0")]), [true, true]);
    assert_eq!(kernel_events(&[6], &[("NCCL_SCOREP_TRUST_NCCL", "on")]), [true]);
}

/// AMD's GPUs have no CUDA events, so the library does not ask for launches.
#[test]
fn rccl_is_asked_for_stamps_alone() {
    let rccl = ("HOST_NCCL", env!("RCCL_STAND_IN"));
    let of = |version, gpu_time: &str| {
        let (masks, said) = masks(&[version], &[rccl, ("NCCL_SCOREP_GPU_TIME", gpu_time)]);
        (masks[0] & KERNEL_CH != 0, masks[0] & KERNEL_LAUNCH != 0, said)
    };
    assert_eq!(of(5, "auto"), (true, false, String::new()));
    let (stamps, launches, said) = of(6, "auto");
    assert!(!stamps && !launches && said.contains("GPU times are off: with NCCL of unknown release"), "{said}");
    let (stamps, launches, said) = of(5, "events");
    assert!(!stamps && !launches && said.contains("the caller is RCCL"), "{said}");
}
