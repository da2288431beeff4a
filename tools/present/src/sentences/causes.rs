//! In which conditions a rank that stands out differs from its peers, in words.

use super::super::units::{count, share, time};
use report::answer::{CauseKind, SeenCause, Straggler};

/// Most causes of a rank in its sentence.
const NAMED: usize = 2;

/// Says in which conditions a rank differs from its peers. Empty where they are not known.
pub(super) fn causes(it: &Straggler) -> String {
    match it.causes.as_deref() {
        None => String::new(),
        Some([]) => "No cause is seen: none of its known conditions explains it.".into(),
        Some(causes) => causes.iter().take(NAMED).map(cause).collect::<Vec<_>>().join(" "),
    }
}

fn cause(it: &SeenCause) -> String {
    let [own, peers] = [share(it.own), share(it.peers)];
    match it.kind {
        CauseKind::Stopped => format!("Its process was stopped for {own} of the time, its peers for {peers}."),
        CauseKind::Throttled => {
            format!(
                "A limit of its control group held its threads up, for {own} of the time summed over processors, its \
                 peers' for {peers}."
            )
        }
        CauseKind::Memory => format!(
            "Its memory is short: it has {} page faults with input a second, its peers {}.",
            count(it.own.round() as u64),
            count(it.peers.round() as u64)
        ),
        CauseKind::Stolen => {
            format!("Its virtual machine had no processor for {own} of the time, its peers' for {peers}.")
        }
        CauseKind::Affinity => format!(
            "Its launching threads wait for the {:.0} of the processors that they may run on; its peers have {:.0}.",
            it.own, it.peers
        ),
        CauseKind::Processor => {
            format!("Its launching threads wait for a processor for {own} of the time, those of its peers for {peers}.")
        }
        CauseKind::HostClock => {
            format!("Its processor runs at {:.0} MHz, those of its peers at {:.0} MHz.", it.own, it.peers)
        }
        CauseKind::Blocked => format!(
            "Its launching threads sleep, or wait for a lock or input, for {own} of the time, those of its peers for \
             {peers}."
        ),
        CauseKind::GpuHot => clock(it, ": its temperature is at the limit"),
        CauseKind::GpuPower => clock(it, ": its power is at the limit"),
        CauseKind::GpuBrake => clock(it, ": the power supply asks for it"),
        CauseKind::GpuClock => clock(it, ""),
        CauseKind::GpuWork => format!(
            "Its GPU takes {} of a step longer than its clock explains: more work, another process, or slower memory.",
            time(it.effect_us)
        ),
    }
}

/// Says that a GPU's clock is slow.
fn clock(it: &SeenCause, reason: &str) -> String {
    format!("Its GPU runs at {:.0} MHz, those of its peers at {:.0} MHz{reason}.", it.own, it.peers)
}

/// Returns a cause in a few words, for tables.
pub(crate) fn name(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Stopped => "stopped",
        CauseKind::Throttled => "limit of its control group",
        CauseKind::Memory => "memory is short",
        CauseKind::Stolen => "virtual machine without a processor",
        CauseKind::Affinity => "few processors allowed",
        CauseKind::Processor => "waits for a processor",
        CauseKind::HostClock => "slow clock of its processor",
        CauseKind::Blocked => "sleeps or waits for a lock or input",
        CauseKind::GpuHot => "hot GPU",
        CauseKind::GpuPower => "power limit of its GPU",
        CauseKind::GpuBrake => "power brake of its GPU",
        CauseKind::GpuClock => "slow clock of its GPU",
        CauseKind::GpuWork => "longer work on its GPU",
    }
}

/// Returns the place to look at next.
pub(super) fn next(kind: CauseKind) -> &'static str {
    match kind {
        CauseKind::Stopped => "Look for who stops it: a debugger, a checkpoint of processes, the hypervisor.",
        CauseKind::Throttled => "Give it more processors (--cpus-per-task, cpu.max), or fewer threads.",
        CauseKind::Memory => "Look at the memory of its node and at the limit of its control group.",
        CauseKind::Stolen => "Look at the other virtual machines of its host.",
        CauseKind::Affinity => "Look at how its processes are bound (--cpu-bind, taskset).",
        CauseKind::Processor => "Look for other processes and threads on its processors.",
        CauseKind::HostClock => "Look at the frequency governor, power and temperature of its node.",
        CauseKind::Blocked => "Look at its program where it waits: data loading, locks, files.",
        CauseKind::GpuHot => "Look at the cooling of its node.",
        CauseKind::GpuPower => "Look at the power limit of its GPU (nvidia-smi -q -d POWER).",
        CauseKind::GpuBrake => "Look at the power supply of its node.",
        CauseKind::GpuClock => "Look at the clocks that are set for its GPU (nvidia-smi -q -d CLOCK).",
        CauseKind::GpuWork => "Look at its share of the data and of the model, and for other processes on its GPU.",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_both_shares_and_unknown_conditions_no_word() {
        let mut late = Straggler::default();
        assert_eq!(causes(&late), "");
        late.causes = Some(vec![]);
        assert!(causes(&late).contains("No cause is seen"));
        let waits = SeenCause { kind: CauseKind::Processor, own: 0.25, peers: 0.001, effect_us: 5.0 };
        late.causes = Some(vec![waits]);
        let text = causes(&late);
        assert!(text.contains("wait for a processor for 25 % of the time, those of its peers for 0.10 %."), "{text}");
    }
}
