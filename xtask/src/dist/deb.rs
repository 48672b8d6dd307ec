//! The Debian package, built by Debian's own `dpkg-deb`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::{Dist, layout};
use crate::shell::{self, Project};

/// Where what runs at installation and removal is kept.
const SCRIPTS: &str = "contrib/debian";

/// What the package is called in this version.
pub(super) fn file_name(version: &str) -> Result<String> {
    Ok(format!("weir_{version}_{}.deb", architecture()?))
}

/// Debian's name for this machine.
fn architecture() -> Result<String> {
    let mut dpkg = Command::new("dpkg");
    let told = shell::read(dpkg.arg("--print-architecture"))?;
    Ok(told.trim().to_owned())
}

/// Packs the package as this version; gives back its name.
pub(super) fn pack(project: &Project, dist: &Dist, version: &str) -> Result<String> {
    let root = dist.place.join("root");
    layout::for_debian(project, dist, &root)?;
    let control = root.join("DEBIAN");
    let text = control_file(&fs::read(dist.binary())?, version, size_of(&root)?)?;
    layout::write(&control.join("control"), text.as_bytes())?;
    layout::write(&control.join("conffiles"), b"/etc/weir/weir.yaml\n")?;
    for name in ["postinst", "prerm", "postrm"] {
        let script = fs::read(project.path(SCRIPTS).join(name))?;
        layout::write(&control.join(name), &script)?;
        fs::set_permissions(control.join(name), fs::Permissions::from_mode(0o755))?;
    }
    let sums = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum > DEBIAN/md5sums";
    shell::run(Command::new("sh").args(["-ec", sums]).current_dir(&root))?;
    // Umasks differ, packages must not.
    let modes = "find . -type d -exec chmod 755 {} + && chmod 644 DEBIAN/md5sums";
    shell::run(Command::new("sh").args(["-ec", modes]).current_dir(&root))?;
    let name = file_name(version)?;
    let mut build = Command::new("dpkg-deb");
    build.env("SOURCE_DATE_EPOCH", &dist.epoch);
    build.args(["--root-owner-group", "-Zxz", "--build"]);
    shell::run(build.arg(&root).arg(dist.place.join(&name)))?;
    fs::remove_dir_all(&root)?;
    Ok(name)
}

fn control_file(binary: &[u8], version: &str, kilobytes: u64) -> Result<String> {
    let libc = libc_version(binary).context("the binary needs no version of the C library")?;
    Ok(format!(
        "Package: weir\n\
         Version: {version}\n\
         Architecture: {}\n\
         Maintainer: The Weir project <noreply@weir.invalid>\n\
         Installed-Size: {kilobytes}\n\
         Depends: libc6 (>= {}.{}), libgcc-s1, init-system-helpers, systemd | systemd-standalone-sysusers | \
         systemd-sysusers, systemd | systemd-standalone-tmpfiles | systemd-tmpfiles\n\
         Recommends: ca-certificates, systemd\n\
         Section: net\n\
         Priority: optional\n\
         Description: between your programs and the servers they depend on\n \
         One daemon in front of BitTorrent trackers, Torznab and Newznab indexers and news\n \
         servers. Clients are answered at once or within a set time; upstreams are never called\n \
         more often than they allow; whatever is skipped or put off is explained.\n",
        architecture()?,
        libc.0,
        libc.1
    ))
}

/// The newest version of the C library whose functions a binary names; its table of versions holds them as text.
fn libc_version(binary: &[u8]) -> Option<(u32, u32)> {
    const MARK: &[u8] = b"GLIBC_";
    let places = binary.windows(MARK.len()).enumerate();
    let versions = places
        .filter(|(_, window)| *window == MARK)
        .filter_map(|(at, _)| {
            let rest = &binary[at + MARK.len()..];
            let end = rest.iter().position(|byte| *byte == 0)?;
            let text = str::from_utf8(rest.get(..end)?).ok()?;
            let mut parts = text.split('.').map(str::parse);
            Some((parts.next()?.ok()?, parts.next()?.ok()?))
        });
    versions.max()
}

/// What the files take on a disk, in kilobytes as Debian counts.
fn size_of(root: &Path) -> Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        sum += if kind.is_dir() {
            size_of(&entry.path())?
        } else {
            entry.metadata()?.len().div_ceil(1024)
        };
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_named_is_the_one_needed() {
        let binary = b"\0GLIBC_2.4\0x\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0GLIBC_2.2.5\0GLIBC_3";
        assert_eq!(libc_version(binary), Some((2, 34)));
        assert_eq!(libc_version(b"nothing of the kind"), None);
    }
}
