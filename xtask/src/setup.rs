//! `cargo xtask setup`: installs what the tests need on a Debian machine.
//!
//! Everything needed stands in one table with its reason. What is there already is left alone, so
//! a second run costs a moment and never touches the network. Cargo itself brings the compiler,
//! rustfmt and clippy (`rust-toolchain.toml`).

use std::fs;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{self, Project};
use crate::{assets, browser};

/// Something a check needs from the system.
struct Need {
    /// Debian's package.
    package: &'static str,
    /// A program that satisfies the need wherever it came from; without one the package must be
    /// installed.
    program: Option<&'static str>,
    reason: &'static str,
}

const NEEDS: &[Need] = &[
    Need {
        package: "git",
        program: Some("git"),
        reason: "lists the project's files",
    },
    Need {
        package: "nodejs",
        program: Some("node"),
        reason: "runs the browser tests, a tracker to send announces on to and the builders of the assets",
    },
    Need {
        package: "npm",
        program: Some("npm"),
        reason: "fetches the builders of the assets, that tracker and what the browser tests import",
    },
    Need {
        package: "chromium",
        program: None,
        reason: "shows a page for as long as people leave it open",
    },
    Need {
        package: "chromium-headless-shell",
        program: None,
        reason: "shows the pages in the browser tests: the same browser without its windows",
    },
    Need {
        package: "fonts-liberation",
        program: None,
        reason: "the typeface the pages name, so that widths in tests are real ones",
    },
    Need {
        package: "iproute2",
        program: Some("ip"),
        reason: "makes the networks in which BitTorrent clients meet",
    },
    Need {
        package: "aria2",
        program: Some("aria2c"),
        reason: "a BitTorrent client to meet others through the tracker",
    },
    Need {
        package: "python3-libtorrent",
        program: None,
        reason: "a BitTorrent client to meet others through the tracker",
    },
    Need {
        package: "qbittorrent-nox",
        program: Some("qbittorrent-nox"),
        reason: "a BitTorrent client to meet others through the tracker",
    },
    Need {
        package: "rtorrent",
        program: Some("rtorrent"),
        reason: "a BitTorrent client to meet others through the tracker",
    },
    Need {
        package: TRANSMISSION,
        program: Some("transmission-daemon"),
        reason: "a BitTorrent client to meet others through the tracker",
    },
    Need {
        package: "python3-pip",
        program: Some("pip3"),
        reason: "fetches the programs that search through us",
    },
    Need {
        package: PROMETHEUS,
        program: Some("prometheus"),
        reason: "reads /metrics, and evaluates the alert rules and the dashboard",
    },
    Need {
        package: OPENTRACKER,
        program: Some("opentracker"),
        reason: "a tracker to send announces on to",
    },
    Need {
        package: CRON,
        // The same in all packages that are one.
        program: Some("crontab"),
        reason: "INN cannot be installed without it",
    },
    Need {
        package: "dma",
        // Whatever sends mail already stays; of those that could come with INN this one is no service.
        program: Some("/usr/sbin/sendmail"),
        reason: "INN cannot be installed without something that sends mail",
    },
    Need {
        package: INN,
        program: None,
        reason: "the news servers to read from",
    },
    Need {
        package: "tin",
        program: Some("tin"),
        reason: "a newsreader to read and post through us",
    },
    Need {
        package: "slrn",
        program: Some("slrn"),
        reason: "a newsreader to read and post through us",
    },
    Need {
        package: "tmux",
        program: Some("tmux"),
        reason: "the terminals that newsreaders run in",
    },
    Need {
        package: CADDY,
        program: Some("caddy"),
        reason: "a proxy before us, as in contrib/caddy",
    },
    Need {
        package: NGINX,
        program: Some("nginx"),
        reason: "a proxy before us, as in contrib/nginx",
    },
    Need {
        package: REDIS,
        program: Some("redis-server"),
        reason: "the store that several nodes share",
    },
    Need {
        package: "redis-tools",
        program: Some("redis-cli"),
        reason: "makes a cluster of such stores",
    },
    Need {
        package: "libfaketime",
        program: None,
        reason: "gives nodes clocks that are minutes apart",
    },
    Need {
        package: "debootstrap",
        program: Some("debootstrap"),
        reason: "makes the empty Debian that the package is tried in",
    },
    Need {
        package: "systemd-container",
        program: Some("systemd-nspawn"),
        reason: "boots that Debian",
    },
    Need {
        package: "wrk",
        program: Some("wrk"),
        reason: "asks for pages as fast as it can, to measure",
    },
];

/// Where programs from PyPI are listed and installed.
const PROGRAMS: &str = "tests/programs";

/// The node project with the tracker that comes from npm.
const TRACKERS: &str = "tests/trackers";

const TRANSMISSION: &str = "transmission-daemon";
const OPENTRACKER: &str = "opentracker";
const PROMETHEUS: &str = "prometheus";
const CADDY: &str = "caddy";
const NGINX: &str = "nginx-light";
const CRON: &str = "cron";
const INN: &str = "inn2";
const REDIS: &str = "redis-server";

/// The packages that bring a service, which would run from now on, and what keeps it from starting with the machine.
const SERVICES: &[(&str, &str)] = &[
    (TRANSMISSION, "update-rc.d transmission-daemon disable"),
    (PROMETHEUS, "update-rc.d prometheus disable"),
    (CRON, "update-rc.d cron disable"),
    // Its nightly work on a server that nobody runs would only write letters about it.
    (INN, "update-rc.d inn2 disable && rm -f /etc/cron.d/inn2"),
    (NGINX, "update-rc.d nginx disable"),
    (REDIS, "update-rc.d redis-server disable"),
    // These are known to systemd alone.
    (
        CADDY,
        "if command -v systemctl > /dev/null; then systemctl disable caddy; fi",
    ),
    (
        OPENTRACKER,
        "if command -v systemctl > /dev/null; then systemctl disable opentracker; fi",
    ),
];

/// Gives INN a domain, without which its installation fails where the machine has no qualified name. The file comes
/// with a package that has to be there before; if an earlier attempt failed, it is there already.
const NAME_INN: &str = "conf=/etc/news/inn.conf && { test ! -e $conf || grep -q ^domain: $conf || \
                        echo domain: example.test >> $conf; }";

/// The oldest Node.js whose test runner has all we use (`--test-timeout`).
const NODE: (u32, u32) = (20, 11);

/// Installs what is missing and says what that was.
pub(crate) fn run(project: &Project) -> Result<()> {
    install_packages(project)?;
    ensure_node(&shell::read(project.command("node").arg("--version"))?)?;
    for place in [assets::SOURCE, browser::TESTS, TRACKERS] {
        install_node_modules(project, place)?;
    }
    install_python_programs(project)
}

fn install_packages(project: &Project) -> Result<()> {
    let mut missing = Vec::new();
    for need in NEEDS {
        if !is_met(need)? {
            println!("missing: {} ({})", need.package, need.reason);
            missing.push(need.package);
        }
    }
    if missing.is_empty() {
        println!("system packages: all there");
        return Ok(());
    }
    ensure!(
        shell::on_path("apt-get"),
        "this is no Debian machine: install {} (or what it is called here) and try again",
        missing.join(", ")
    );
    if shell::read(project.command("id").arg("-u"))?.trim() != "0" {
        bail!("not root; run this first:\n  {}", command_for(&missing));
    }
    let mut install = project.command("sh");
    install.env("DEBIAN_FRONTEND", "noninteractive");
    let apt = "apt-get --quiet --option Dpkg::Use-Pty=0 --option DPkg::Lock::Timeout=120";
    shell::run(install.args(["-c", &script(apt, &missing)]))
}

fn is_met(need: &Need) -> Result<bool> {
    if need.program.is_some_and(shell::on_path) {
        return Ok(true);
    }
    if !shell::on_path("dpkg-query") {
        return Ok(false);
    }
    let answer = Command::new("dpkg-query")
        .args(["--show", "--showformat=${db:Status-Status}", need.package])
        .stderr(Stdio::null())
        .output()
        .context("cannot start `dpkg-query`")?;
    Ok(answer.stdout == b"installed")
}

/// The commands that install packages; no service of theirs is started, neither now nor with the machine.
fn script(apt: &str, missing: &[&str]) -> String {
    let fetch = |packages: &str| format!("{apt} install --yes --no-install-recommends {packages}");
    let mut install = fetch(&missing.join(" "));
    if missing.contains(&INN) {
        let before = fetch("inn2-inews");
        install = format!("{NAME_INN} && {before} && {NAME_INN} && {install}");
    }
    let install = format!("{apt} update && {install}");
    let services = SERVICES
        .iter()
        .filter(|(package, _)| missing.contains(package));
    let disable: String = services
        .map(|(_, disable)| format!(" && {disable}"))
        .collect();
    if disable.is_empty() {
        return install;
    }
    // What Debian asks before it starts a service; one that is there already knows better.
    let refuse = "policy=/usr/sbin/policy-rc.d; test -e $policy || { trap \"rm $policy\" EXIT; \
                  printf \"#!/bin/sh\\nexit 101\\n\" > $policy; chmod 755 $policy; }";
    format!("{refuse}; {install}{disable}")
}

/// What a person who is not root has to run.
fn command_for(missing: &[&str]) -> String {
    format!("sudo sh -c '{}'", script("apt-get", missing))
}

/// Refuses a Node.js that is too old; `version` is as it prints it, `v20.11.1`.
fn ensure_node(version: &str) -> Result<()> {
    let mut parts = version.trim().trim_start_matches('v').split('.');
    let mut part = || parts.next().and_then(|digits| digits.parse::<u32>().ok());
    let found = (part().unwrap_or(0), part().unwrap_or(0));
    ensure!(
        found >= NODE,
        "Node.js {} is too old for the browser tests: {}.{} or later is needed",
        version.trim(),
        NODE.0,
        NODE.1
    );
    Ok(())
}

/// Fetches the modules named in the lock file unless they came from this very lock file before.
fn install_node_modules(project: &Project, place: &str) -> Result<()> {
    let directory = project.path(place);
    let stamp = directory.join("node_modules/.installed-lock.json");
    let lock = fs::read(directory.join("package-lock.json"))
        .with_context(|| format!("no lock file in {place}"))?;
    if fs::read(&stamp).is_ok_and(|installed| installed == lock) {
        println!("node modules of {place}: all there");
        return Ok(());
    }
    shell::run(project.command("npm").arg("ci").current_dir(&directory))?;
    fs::write(&stamp, lock).context("cannot note which node modules are installed")
}

/// Fetches what the list names into an environment of its own, unless it came from this very list before.
fn install_python_programs(project: &Project) -> Result<()> {
    let directory = project.path(PROGRAMS);
    let (list, home) = (directory.join("requirements.txt"), directory.join(".venv"));
    let stamp = home.join("installed.txt");
    let wanted = fs::read(&list).context("no list of programs from PyPI")?;
    // The Python that they were installed for may be gone since.
    let runs = || {
        let mut python = Command::new(home.join("bin/python"));
        let told = python.arg("--version").stdout(Stdio::null()).status();
        told.is_ok_and(|status| status.success())
    };
    if fs::read(&stamp).is_ok_and(|installed| installed == wanted) && runs() {
        println!("programs from PyPI: all there");
        return Ok(());
    }
    let mut python = project.command("python3");
    python.args(["-m", "venv", "--clear", "--without-pip"]);
    shell::run(python.arg(&home))?;
    let mut pip = project.command("python3");
    pip.args(["-m", "pip", "--quiet", "--disable-pip-version-check"]);
    pip.arg("--python").arg(home.join("bin/python"));
    // The list is whole, and what is run once need not be compiled.
    pip.args(["install", "--no-deps", "--no-compile", "--requirement"]);
    shell::run(pip.arg(&list))?;
    fs::write(&stamp, wanted).context("cannot note which programs are installed")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_others_than_root_is_one_line() {
        assert_eq!(
            command_for(&["chromium", "npm"]),
            "sudo sh -c 'apt-get update && apt-get install --yes --no-install-recommends chromium npm'"
        );
    }

    #[test]
    fn a_package_with_a_service_is_installed_without_starting_it() {
        for (package, disable) in SERVICES {
            let line = command_for(&["rtorrent", package]);
            assert!(line.contains("exit 101"), "{line}");
            assert!(line.ends_with(&format!(" && {disable}'")), "{line}");
            assert_eq!(line.matches('\'').count(), 2, "{line}");
        }
    }

    #[test]
    fn inn_has_a_domain_before_it_is_installed() {
        let line = command_for(&["git", INN]);
        let named = line.rfind(NAME_INN).unwrap();
        let installed = line.rfind(&format!("git {INN}")).unwrap();
        assert!(named < installed, "{line}");
        assert!(line.find(NAME_INN) < line.find("inn2-inews"), "{line}");
        assert!(!command_for(&["git"]).contains(NAME_INN));
    }

    #[test]
    fn old_node_is_refused_by_number() {
        ensure_node("v20.11.0\n").unwrap();
        ensure_node("v22.1.0").unwrap();
        ensure_node("v9.99.0").unwrap_err();
        let error = ensure_node("v18.20.4\n").unwrap_err().to_string();
        assert!(error.starts_with("Node.js v18.20.4 is too old"), "{error}");
        ensure_node("nonsense").unwrap_err();
    }

    #[test]
    fn what_is_not_installed_is_missing() {
        let need = Need {
            package: "no-such-package-here",
            program: None,
            reason: "a test",
        };
        assert!(!is_met(&need).unwrap());
    }

    #[test]
    fn a_program_from_elsewhere_will_do() {
        let need = Need {
            package: "no-such-package-here",
            program: Some("sh"),
            reason: "a test",
        };
        assert!(is_met(&need).unwrap());
    }
}
