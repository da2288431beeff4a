//! A finding for each planted fallback, with its proof; none for an ordinary job.

use crate::nccl_log::made::Job;
use crate::nccl_log::{choices, kinds};
use serde_json::{Value, json};

/// Returns the one finding of a log.
fn one(log: &str) -> Value {
    let choices = choices(log);
    assert_eq!(kinds(&choices).len(), 1, "{choices:#}");
    choices["findings"][0].clone()
}

#[test]
fn ordinary_jobs_have_no_findings() {
    let shm: fn(usize) -> &'static str = |_| "SHM/direct";
    let ordinary = [
        ("one node, NVLink", Job::new(1, 8)),
        ("two GPUs", Job::new(1, 2)),
        ("two nodes, InfiniBand", Job::new(2, 8)),
        ("PCIe without peer-to-peer access", Job { inside: shm, channels: 2, ..Job::over_sockets(1, 4) }),
        ("sockets without other adapters", Job::over_sockets(2, 2)),
        ("PCIe and sockets", Job { inside: shm, ..Job::over_sockets(3, 2) }),
        (
            "a cloud's own network",
            Job { network: "AWS Libfabric", between: |_| "NET/AWS Libfabric/0/GDRDMA", ..Job::new(2, 4) },
        ),
        (
            "settings",
            Job::new(2, 2).set("NCCL_SOCKET_IFNAME set by environment to eth0").set("NCCL_IB_HCA set to mlx5_0"),
        ),
        (
            "settings that change nothing",
            Job::new(2, 2)
                .set("NCCL_P2P_DISABLE set by environment to 0")
                .set("NCCL_IB_DISABLE set by environment to 0.")
                .set("NCCL_MIN_NCHANNELS set by environment to 4."),
        ),
    ];
    for (name, job) in ordinary {
        let choices = choices(job.mixed());
        assert_eq!(kinds(&choices), Vec::<&str>::new(), "{name}: {choices}");
        assert_eq!(choices["unread"], 0, "{name}");
    }
    // a link to the machine's switch alone is ordinary between some GPUs of a PCIe machine
    let mut mixed = Job::new(1, 4).text();
    mixed = mixed.replace("1[1] -> 2[2] via P2P/CUMEM/read", "1[1] -> 2[2] via SHM/direct/direct");
    assert!(kinds(&choices(&mixed)).is_empty());
}

#[test]
fn sockets_are_found_where_settings_or_adapters_prove_it() {
    // by name: newer releases do not look for adapters then, older ones find them and do not take them
    let forced = one(&Job { by_name: true, ..Job::over_sockets(2, 2) }.text());
    assert_eq!(
        (&forced["kind"], &forced["cause"], &forced["adapters"]),
        (&json!("sockets"), &json!("by_name"), &Value::Null)
    );
    assert_eq!((&forced["connections"], &forced["hosts"]), (&json!(32), &json!(["made0", "made1"])));
    let old = one(&Job { minor: 26, by_name: true, has_adapters: |_| true, ..Job::over_sockets(2, 2) }.text());
    assert_eq!((&old["cause"], &old["adapters"]["same_host"]["host"]), (&json!("by_name"), &json!("made0")));
    let net = "Comm config netName reset to NCCL_NET=Socket";
    let named = one(&Job { by_name: true, ..Job::over_sockets(2, 2) }.set(net).text());
    assert_eq!(named["cause"]["setting"], json!({"name": "NCCL_NET", "value": "Socket"}));
    let disabled = one(&Job::over_sockets(2, 2).set("NCCL_IB_DISABLE set by environment to 1.").text());
    assert_eq!(disabled["cause"]["setting"]["name"], "NCCL_IB_DISABLE");

    let there = one(&Job { has_adapters: |node| node == 1, ..Job::over_sockets(2, 2) }.text());
    assert_eq!(there["adapters"]["same_host"]["host"], "made1");
    let another = Job { first: 4, id: 7, ..Job::new(1, 2) }.text() + &Job::over_sockets(2, 2).text();
    // process ids of the two are equal, their hosts are not
    assert_eq!(one(&another)["adapters"]["other_host"]["host"], "made4");

    let unused = Job { by_name: true, between: |_| "", ..Job::over_sockets(1, 2) };
    assert_eq!(one(&unused.text())["kind"], "unused_sockets");
}

#[test]
fn ways_inside_a_node_are_found_where_a_setting_or_another_node_proves_it() {
    let shm: fn(usize) -> &'static str = |_| "SHM/direct";
    let disabled = Job { inside: shm, ..Job::new(1, 2) }.set("NCCL_P2P_DISABLE set by environment to 1");
    let found = one(&disabled.text());
    assert_eq!(
        (&found["kind"], &found["route"], &found["pairs"]),
        (&json!("inside_node"), &json!("SHM/direct"), &json!(2))
    );
    assert_eq!(found["settings"], json!([{"name": "NCCL_P2P_DISABLE", "value": "1"}]));

    let sockets: fn(usize) -> &'static str = |_| "NET/Socket/0";
    let all = Job { inside: sockets, ..Job::over_sockets(1, 2) }
        .set("NCCL_P2P_DISABLE set by environment to 1")
        .set("NCCL_SHM_DISABLE set by environment to 1.")
        .set("Comm config netName reset to NCCL_NET=Socket");
    let found = one(&all.text());
    let names: Vec<_> = found["settings"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_NET"]);
    // sockets inside a node are none of the network's between nodes
    assert_eq!(found["route"], "NET/Socket");
    assert_eq!(one(&Job { inside: sockets, ..Job::over_sockets(1, 2) }.text())["kind"], "inside_node");

    let alike =
        one(&Job { inside: |node| if node == 1 { "SHM/direct" } else { "P2P/CUMEM" }, ..Job::new(2, 4) }.text());
    assert_eq!((&alike["alike"], &alike["hosts"]), (&json!("made0"), &json!(["made1"])));
    assert_eq!(alike["pairs"], 3);

    // one host name, but NCCL counts two nodes: containers, NCCL_HOSTID
    let pretended = Job { inside: sockets, ..Job::over_sockets(1, 2) }.text().replace("nNodes 1", "nNodes 2");
    assert!(kinds(&choices(pretended)).is_empty());
}

#[test]
fn adapters_without_gpu_direct_are_found() {
    let none = Job { between: |_| "NET/IB/0", ..Job::new(2, 2) };
    let found = one(&none.text());
    assert_eq!(
        (&found["kind"], &found["connections"], &found["setting"]),
        (&json!("no_gpu_direct"), &json!(32), &Value::Null)
    );
    let module = one(&none.clone().set("NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'").text());
    assert_eq!(module["adapter"], "0 'mlx5_0'");
    let level = one(&none.set("NCCL_NET_GDR_LEVEL set by environment to LOC").text());
    assert_eq!(level["setting"]["value"], "LOC");
    let some =
        one(&Job { between: |node| if node == 2 { "NET/IB/0" } else { "NET/IB/0/GDRDMA" }, ..Job::new(4, 2) }.text());
    assert_eq!((&some["alike"], &some["hosts"]), (&json!("made0"), &json!(["made2"])));
    assert_eq!(some["connections"], 16);
    // the first GPU of all nodes is far from its adapter
    let job = Job::new(4, 2);
    let far = |rank: usize| {
        let to = (rank + 2) % 8;
        job.line(rank, 3, &format!("Channel 20/0 : {rank}[0] -> {to}[0] [send] via NET/IB/1")) + "\n"
    };
    assert!(kinds(&choices(job.text() + &[0, 2, 4, 6].map(far).concat())).is_empty());
}

#[test]
fn few_channels_are_found() {
    let limited = Job { channels: 1, ..Job::new(1, 2) }.set("NCCL_MAX_NCHANNELS set by environment to 1.");
    let found = one(&limited.text());
    let setting = json!({"name": "NCCL_MAX_NCHANNELS", "value": "1"});
    assert_eq!(
        (&found["kind"], &found["setting"], &found["communicators"]),
        (&json!("limited_channels"), &setting, &json!(1))
    );
    let ctas = Job { channels: 2, ..Job::new(1, 2) }.set("Comm config maxCTAs reset to NCCL_MAX_CTAS=2");
    assert_eq!(one(&ctas.text())["setting"]["name"], "NCCL_MAX_CTAS");
    // a limit that is not reached
    assert!(kinds(&choices(Job::new(1, 2).set("NCCL_MAX_NCHANNELS set by environment to 32.").text())).is_empty());

    let two = |channels, gpus| Job::new(1, 4).text() + &Job { first: 1, id: 7, channels, ..Job::new(1, gpus) }.text();
    let fewer = one(&two(8, 4));
    assert_eq!(
        (&fewer["kind"], &fewer["channels"], &fewer["other_channels"]),
        (&json!("fewer_channels"), &json!(8), &json!(16))
    );
    assert_eq!(fewer["hosts"], json!(["made1"]));
    // of another shape
    assert!(kinds(&choices(two(8, 2))).is_empty());
}

#[test]
fn ranks_that_differ_are_found() {
    let job = Job::new(2, 2);
    let version = job.line(3, 1, "NCCL version 2.27.5+cuda12.9");
    assert_eq!(one(&format!("{version}\n{}", job.text()))["kind"], "releases");
    let set = |rank, value| job.line(rank, 1, &format!("NCCL_ALGO set by environment to {value}"));
    let algorithms = one(&format!("{}\n{}\n{}", set(0, "Ring"), set(2, "Tree"), job.text()));
    assert_eq!(
        (&algorithms["setting"], &algorithms["values"]),
        (&json!("NCCL_ALGO"), &json!([["Ring", 0], ["Tree", 2]]))
    );
    // machines name their interfaces as they like
    let set = |rank, value| job.line(rank, 1, &format!("NCCL_SOCKET_IFNAME set by environment to {value}"));
    assert!(kinds(&choices(format!("{}\n{}\n{}", set(0, "eth0"), set(2, "ens5"), job.text()))).is_empty());
    let plugin = |network: &'static str| {
        let text = Job { network, ..Job::new(2, 2) }.text();
        text.replace("Could not find: libnccl-net.so.", "Could not find: fast libnccl-net-fast.so.")
    };
    assert_eq!(one(&plugin("IB"))["kind"], "plugin_missing");
    // another plugin of a list was found
    assert!(kinds(&choices(plugin("faster"))).is_empty());
}

#[test]
fn slow_inits_are_found_with_their_phase() {
    let found = one(&Job { topo: |rank| if rank == 5 { 9.0 } else { 0.3 }, ..Job::new(2, 4) }.text());
    assert_eq!((&found["kind"], &found["rank"], &found["phase"]), (&json!("slow_init"), &json!(5), &json!("topo")));
    assert_eq!((&found["seconds"], &found["median_s"], &found["ranks"]), (&json!(9.0), &json!(0.3), &json!(1)));
    // all alike, or a little more
    assert!(kinds(&choices(Job { topo: |_| 9.0, ..Job::new(2, 4) }.text())).is_empty());
    assert!(kinds(&choices(Job { topo: |rank| 0.3 + rank as f64 / 10.0, ..Job::new(2, 4) }.text())).is_empty());
}

#[test]
fn warnings_are_counted_without_their_numbers() {
    for minor in [23, 30] {
        let job = Job { minor, ..Job::new(1, 4) };
        let warnings: String = (0..4)
            .map(|rank| job.warning(rank, &format!("Call to connect failed after {rank} tries")) + "\n")
            .collect();
        let found = one(&(warnings + &job.text()));
        assert_eq!((&found["kind"], &found["count"], &found["host"]), (&json!("warning"), &json!(4), &json!("made0")));
        assert_eq!(
            (&found["text"], &found["is_of_several"]),
            (&json!("Call to connect failed after 0 tries"), &json!(true))
        );
    }
}

#[test]
fn what_costs_most_comes_first() {
    let job = Job {
        between: |_| "NET/Socket/0",
        network: "Socket",
        topo: |rank| if rank == 1 { 8.0 } else { 0.1 },
        inside: |_| "SHM/direct",
        channels: 1,
        ..Job::new(2, 2)
    }
    .set("NCCL_MAX_NCHANNELS set by environment to 1.")
    .set("NCCL_P2P_DISABLE set by environment to 1");
    let log = job.text() + &job.warning(2, "something is odd") + "\n";
    assert_eq!(kinds(&choices(log)), ["sockets", "inside_node", "limited_channels", "warning", "slow_init"]);
}
