//! Flags override the environment, the environment the file, and the file the defaults, value by value.

use crate::Setup;

const AGE: &str = "tracker.age";
const QUEUE: &str = "tracker.forwarder_queue_size";

#[test]
fn nothing_written_is_the_default() {
    assert_eq!(Setup::new().explain(AGE), "3h from default");
}

#[test]
fn the_file_wins_over_the_default() {
    let setup = Setup::yaml("tracker:\n  age: 10m\n");
    assert_eq!(setup.explain(AGE), "10m from weir.yaml:2:8");
    assert_eq!(setup.explain(QUEUE), "10000 from default");
}

#[test]
fn the_environment_wins_over_the_file() {
    let setup = Setup::yaml("tracker: { age: 10m }\n").env("WEIR_TRACKER__AGE", "20m");
    assert_eq!(setup.explain(AGE), "20m from environment WEIR_TRACKER__AGE");
}

#[test]
fn a_flag_wins_over_the_environment() {
    let setup = Setup::yaml("tracker: { forwarder_queue_size: 1 }\n")
        .env("WEIR_TRACKER__FORWARDER_QUEUE_SIZE", "2")
        .env("FORWARDER_QUEUE_SIZE", "3")
        .flag("-Q", "4");
    assert_eq!(setup.explain(QUEUE), "4 from flag -Q");
    assert_eq!(setup.load().config.tracker.forwarder_queue_size.get(), 4);
}

#[test]
fn the_weir_name_wins_over_the_old_one() {
    let old = Setup::new().env("FORWARDER_QUEUE_SIZE", "3");
    assert_eq!(
        old.explain(QUEUE),
        "3 from environment FORWARDER_QUEUE_SIZE"
    );
    let both = old.env("WEIR_TRACKER__FORWARDER_QUEUE_SIZE", "2");
    assert_eq!(
        both.explain(QUEUE),
        "2 from environment WEIR_TRACKER__FORWARDER_QUEUE_SIZE"
    );
}

#[test]
fn every_old_name_and_flag_sets_its_key() {
    let names = [
        ("FORWARDER_QUEUE_SIZE", "-Q", "forwarder_queue_size"),
        ("FORWARDER_WORKERS", "-w", "forwarder_workers"),
        ("MAX_FORWARDER_WORKERS", "-W", "max_forwarder_workers"),
        (
            "QUEUE_SCALE_THRESHOLD",
            "--queue-scale-threshold",
            "queue_scale_threshold_pct",
        ),
        (
            "QUEUE_THROTTLE_THRESHOLD",
            "--queue-throttle-threshold",
            "queue_throttle_threshold",
        ),
        (
            "QUEUE_THROTTLE_TOP",
            "--queue-throttle-top",
            "queue_throttle_top_n",
        ),
        (
            "QUEUE_RATE_LIMIT_THRESHOLD",
            "--queue-rate-limit-threshold",
            "queue_rate_limit_threshold",
        ),
        (
            "RATE_LIMIT_INITIAL_PER_SEC",
            "--rate-limit-initial-ps",
            "rate_limit_initial_per_sec",
        ),
        (
            "RATE_LIMIT_INITIAL_BURST",
            "--rate-limit-initial-burst",
            "rate_limit_initial_burst",
        ),
        (
            "FORWARDER_SUSPEND_SECONDS",
            "--forwarder-suspend",
            "forwarder_suspend_seconds",
        ),
    ];
    for (variable, flag, key) in names {
        let value = if key == "forwarder_suspend_seconds" {
            "17s"
        } else {
            "17"
        };
        let path = format!("tracker.{key}");
        let by_variable = Setup::new().env(variable, value).explain(&path);
        assert_eq!(by_variable, format!("{value} from environment {variable}"));
        let by_flag = Setup::new().flag(flag, value).explain(&path);
        assert_eq!(by_flag, format!("{value} from flag {flag}"));
    }
}

#[test]
fn other_flags_set_their_keys() {
    let address = "\"[::1]:0\"";
    for (flag, value, path, shown) in [
        ("-l", "[::1]:0", "tracker.http_listen", address),
        ("-u", "[::1]:0", "tracker.udp_listen", address),
        ("--web", "[::1]:0", "web.listen", address),
        ("--data", "/srv/weir", "data", "/srv/weir"),
        ("--log-level", "debug", "log.level", "debug"),
        ("--log-format", "json", "log.format", "json"),
    ] {
        let setup = Setup::new().flag(flag, value);
        assert_eq!(setup.explain(path), format!("{shown} from flag {flag}"));
    }
}

#[test]
fn lists_null_and_empty_variables() {
    let setup = Setup::yaml("tracker: { age: 10m }\n")
        .env("WEIR_WEB__TRUSTED", "10.0.0.0/8, ::1")
        .env("WEIR_TRACKER__UDP_LISTEN", "null")
        .env("WEIR_TRACKER__AGE", "")
        .env("WEIR_WEB__LIMITS__BODY_BYTES", "2MiB")
        .env("WEIR_LOG", "debug");
    assert_eq!(
        setup.explain("web.trusted"),
        "[10.0.0.0/8, \"::1/128\"] from environment WEIR_WEB__TRUSTED"
    );
    assert_eq!(setup.load().config.web.limits.body_bytes.len(), 2 << 20);
    assert_eq!(setup.load().config.tracker.udp_listen, None);
    assert_eq!(setup.explain(AGE), "10m from weir.yaml:1:17");
    assert_eq!(
        setup.explain("log.level"),
        "debug from environment WEIR_LOG"
    );
}

#[test]
fn the_file_is_found_in_the_directory_or_named() {
    let mut setup = Setup::yaml("tracker: { age: 10m }\n");
    setup.file = None;
    assert_eq!(setup.explain(AGE), "10m from weir.yaml:1:17");
    let named = Setup::new()
        .file("other.toml", "tracker.age = '11m'\n")
        .env("WEIR_CONFIG", "{dir}/other.toml");
    let mut named = named.file("weir.yaml", "tracker: { age: 10m }\n");
    named.file = None;
    assert_eq!(named.explain(AGE), "11m from other.toml:1:15");
}

#[test]
fn unset_maximum_follows_the_base() {
    let max = "tracker.max_forwarder_workers";
    assert_eq!(Setup::new().explain(max), "20 from default");
    assert_eq!(
        Setup::new().flag("-w", "30").explain(max),
        "60 from default"
    );
    assert_eq!(
        Setup::new()
            .flag("-w", "30")
            .load()
            .config
            .tracker
            .max_workers()
            .get(),
        60
    );
    assert_eq!(
        Setup::new().flag("-W", "12").explain(max),
        "12 from flag -W"
    );
}

#[test]
fn a_forwarders_file_by_flag_replaces_the_list_in_the_file() {
    let setup = Setup::new()
        .file(
            "list.yaml",
            "- uri: http://a.example/announce\n- { uri: udp://b.example:80, name: b }\n",
        )
        .file(
            "weir.yaml",
            "tracker:\n  forwarders:\n    - uri: http://c.example/announce\n",
        )
        .flag("-f", "{dir}/list.yaml");
    let names: Vec<String> = setup
        .load()
        .config
        .tracker
        .forwarders
        .into_iter()
        .map(|f| f.name)
        .collect();
    assert_eq!(names, ["a.example", "b"]);
    assert_eq!(
        setup.explain("tracker.forwarders[1].name"),
        "b from list.yaml:2:36"
    );
}
