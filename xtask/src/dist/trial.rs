//! `cargo xtask dist-test`: both packages in an empty Debian, under a systemd of its own.
//!
//! The root is made by `debootstrap` once and kept as an archive; each run unpacks it anew. `systemd-nspawn` boots
//! it with a network that has only a loopback. What is tried there, `tests/packages/inside.sh` says.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::{deb, layout};
use crate::graph;
use crate::shell::{self, Project};

/// What is run inside, and what it needs.
const TESTS: &str = "tests/packages";

/// What an empty root has beside the essential packages.
const INCLUDED: &str = "systemd,systemd-sysv";

/// Seconds after which a trial has hung.
const PATIENCE: &str = "300";

const UNIT: &str = "\
[Unit]
Description=Trial of the package
SuccessAction=poweroff-force
FailureAction=poweroff-force
[Service]
Type=oneshot
ExecStart=/trial/inside.sh
[Install]
WantedBy=multi-user.target
";

/// Builds the packages and tries them.
pub(crate) fn run(project: &Project) -> Result<()> {
    ensure!(
        shell::read(project.command("id").arg("-u"))?.trim() == "0",
        "this needs root, because it boots a system in a container"
    );
    for program in ["debootstrap", "systemd-nspawn"] {
        ensure!(
            shell::on_path(program),
            "there is no {program}: `cargo xtask setup` installs it"
        );
    }
    let dist = super::make(project)?;
    dist.tell()?;
    let older = deb::pack(project, &dist, &format!("{}~earlier", dist.version))?;
    let place = graph::target_directory(project)?.join("dist-test");
    let root = unpack(&place)?;
    let trial = root.join("trial");
    fs::create_dir_all(&trial)?;
    let newer = deb::file_name(&dist.version)?;
    for name in [&older, &newer, &dist.archive()] {
        fs::copy(dist.place.join(name), trial.join(name))?;
    }
    fs::remove_file(dist.place.join(older))?;
    for name in ["inside.sh", "older-data.tar.gz"] {
        fs::copy(project.path(TESTS).join(name), trial.join(name))?;
    }
    install_unit(&root)?;
    let booted = boot(&root);
    let log = fs::read_to_string(trial.join("log")).unwrap_or_default();
    println!("{log}");
    booted?;
    if !log.trim_end().ends_with("== all passed") {
        bail!("the trial of the package failed");
    }
    fs::remove_dir_all(&root).context("cannot remove the root")
}

/// An empty Debian of the release that the binary was built on.
fn unpack(place: &Path) -> Result<PathBuf> {
    let (root, base) = (place.join("root"), place.join("base.tar"));
    if root.exists() {
        fs::remove_dir_all(&root).context("cannot remove the last root")?;
    }
    fs::create_dir_all(&root)?;
    if !base.exists() {
        let mut debootstrap = Command::new("debootstrap");
        debootstrap.args(["--variant=minbase", &format!("--include={INCLUDED}")]);
        shell::run(debootstrap.arg(codename()?).arg(&root))?;
        let part = place.join("base.tar.part");
        let mut tar = Command::new("tar");
        tar.arg("--create").arg("--file").arg(&part);
        shell::run(tar.arg("--directory").arg(&root).arg("."))?;
        fs::rename(part, base)?;
        return Ok(root);
    }
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--file").arg(base);
    shell::run(tar.arg("--directory").arg(&root))?;
    Ok(root)
}

fn codename() -> Result<String> {
    let release = fs::read_to_string("/etc/os-release").context("this is no Debian machine")?;
    let mut lines = release.lines();
    let name = lines.find_map(|line| line.strip_prefix("VERSION_CODENAME="));
    Ok(name.context("this is no Debian machine")?.to_owned())
}

fn install_unit(root: &Path) -> Result<()> {
    let units = root.join("etc/systemd/system");
    layout::write(&units.join("trial.service"), UNIT.as_bytes())?;
    let wanted = units.join("multi-user.target.wants");
    fs::create_dir_all(&wanted)?;
    symlink("../trial.service", wanted.join("trial.service"))?;
    Ok(())
}

fn boot(root: &Path) -> Result<()> {
    let mut nspawn = Command::new("timeout");
    nspawn.args(["--kill-after=10", PATIENCE, "systemd-nspawn", "--quiet"]);
    nspawn.args(["--boot", "--private-network", "--console=passive"]);
    // There may be no systemd outside to tell.
    nspawn.args(["--register=no", "--keep-unit"]);
    nspawn.arg("--directory").arg(root);
    nspawn.stdin(Stdio::null()).stdout(Stdio::null());
    shell::run(&mut nspawn)
}
