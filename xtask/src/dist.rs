//! `cargo xtask dist`: what people install, as `tar.gz` and as `.deb`, in `target/dist`.
//!
//! Both hold the stripped binary, its completions, the manual page of every command, the units and examples of
//! `contrib` and the licences of everything that is linked in. All times are that of the last commit
//! (`SOURCE_DATE_EPOCH`), so the same binary gives the same packages, byte for byte.

mod deb;
mod layout;
pub(crate) mod measure;
mod notices;
pub(crate) mod trial;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::graph;
use crate::shell::{self, Project};

/// What has been made, and where.
pub(crate) struct Dist {
    /// `target/dist`.
    pub(crate) place: PathBuf,
    pub(crate) version: String,
    /// Seconds since 1970 that every packed file carries.
    epoch: String,
    /// The notices of all that is linked in.
    notices: String,
}

/// Builds the release and both packages.
pub(crate) fn run(project: &Project) -> Result<()> {
    let dist = make(project)?;
    dist.tell()?;
    for name in [dist.archive(), deb::file_name(&dist.version)?] {
        println!("{}", dist.place.join(name).display());
    }
    Ok(())
}

/// Builds everything and gives back where it is.
pub(crate) fn make(project: &Project) -> Result<Dist> {
    // First, because it fails where `setup` has not been run, and the build takes minutes.
    let notices = notices::write(project)?;
    let mut build = project.cargo(&["build", "--release", "--locked", "--package", "weir"]);
    shell::run(&mut build)?;
    let target = graph::target_directory(project)?;
    let dist = Dist {
        place: target.join("dist"),
        version: graph::version_of(project, "weir")?,
        epoch: epoch(project)?,
        notices,
    };
    if dist.place.exists() {
        fs::remove_dir_all(&dist.place).context("cannot remove the last packages")?;
    }
    fs::create_dir_all(&dist.place)?;
    let mut strip = Command::new("strip");
    strip.arg("--strip-all").arg("-o").arg(dist.binary());
    shell::run(strip.arg(target.join("release/weir")))?;
    dist.pack_archive(project)?;
    let deb = deb::pack(project, &dist, &dist.version)?;
    dist.sum(&[&dist.archive(), &deb])?;
    Ok(dist)
}

impl Dist {
    /// The stripped binary.
    pub(crate) fn binary(&self) -> PathBuf {
        self.place.join("weir")
    }

    /// Prints sizes and the time of a start.
    pub(crate) fn tell(&self) -> Result<()> {
        for name in ["weir", &self.archive(), &deb::file_name(&self.version)?] {
            println!(
                "{name}: {} bytes",
                fs::metadata(self.place.join(name))?.len()
            );
        }
        let start = measure::start(&self.binary())?;
        println!("start: {} ms until /readyz answers 200", start.as_millis());
        Ok(())
    }

    fn stem(&self) -> String {
        format!("weir-{}-{}-linux-gnu", self.version, env::consts::ARCH)
    }

    fn archive(&self) -> String {
        format!("{}.tar.gz", self.stem())
    }

    fn pack_archive(&self, project: &Project) -> Result<()> {
        let root = self.place.join(self.stem());
        layout::for_archive(project, self, &root)?;
        let plain = self.place.join("plain.tar");
        let mut tar = Command::new("tar");
        tar.args([
            "--create",
            "--sort=name",
            "--format=ustar",
            "--mode=u=rwX,go=rX",
        ]);
        tar.args(["--owner=0", "--group=0", "--numeric-owner"]);
        tar.arg(format!("--mtime=@{}", self.epoch));
        tar.arg("--directory").arg(&self.place);
        shell::run(tar.arg("--file").arg(&plain).arg(self.stem()))?;
        layout::write(
            &self.place.join(self.archive()),
            &layout::gzip(&fs::read(&plain)?)?,
        )?;
        fs::remove_file(&plain)?;
        fs::remove_dir_all(&root)?;
        Ok(())
    }

    /// Writes `SHA256SUMS`.
    fn sum(&self, names: &[&str]) -> Result<()> {
        let mut sum = Command::new("sha256sum");
        let text = shell::read(sum.current_dir(&self.place).args(names))?;
        layout::write(&self.place.join("SHA256SUMS"), text.as_bytes())
    }

    /// What the built binary prints.
    fn printed(&self, arguments: &[&str]) -> Result<String> {
        shell::read(Command::new(self.binary()).args(arguments))
    }

    /// The manual page of every command, by file name.
    fn manual(&self, scratch: &Path) -> Result<Vec<(String, Vec<u8>)>> {
        let place = scratch.join("manual");
        fs::create_dir_all(&place)?;
        shell::run(
            Command::new(self.binary())
                .args(["man", "--dir"])
                .arg(&place),
        )?;
        let mut pages = Vec::new();
        for entry in fs::read_dir(&place)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            pages.push((name, fs::read(entry.path())?));
        }
        fs::remove_dir_all(&place)?;
        pages.sort();
        ensure!(!pages.is_empty(), "the binary wrote no manual page");
        Ok(pages)
    }
}

/// The time that packed files carry: that of the last commit, unless the caller knows better.
fn epoch(project: &Project) -> Result<String> {
    if let Ok(given) = env::var("SOURCE_DATE_EPOCH") {
        return Ok(given);
    }
    let mut git = project.command("git");
    let told = shell::read(git.args(["log", "-1", "--format=%ct"]))?;
    Ok(told.trim().to_owned())
}
