//! Which file goes where in the packages.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::{Compression, GzBuilder};

use super::Dist;
use crate::shell::Project;

/// Where the shells look for completions in Debian, and what the files are called.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "bash-completion/completions/weir"),
    ("zsh", "zsh/vendor-completions/_weir"),
    ("fish", "fish/vendor_completions.d/weir.fish"),
];

/// What is read after the installation.
const DOCS: [&str; 5] = [
    "README.md",
    "docs/operations.md",
    "docs/packages.md",
    "docs/metrics.md",
    "docs/migrating.md",
];

/// Examples and what belongs to them.
const EXAMPLES: [&str; 6] = [
    "contrib/caddy/Caddyfile",
    "contrib/nginx/weir.conf",
    "contrib/docker/Dockerfile",
    "contrib/docker/compose.yaml",
    "contrib/grafana/weir.json",
    "contrib/prometheus/weir.rules.yml",
];

/// What the first line of the sample becomes where the state has its own place.
const PACKAGED_DATA: &str = "\
# Directory that holds all state. The service passes the same with --data; this line tells it to the other
# commands (weir status, weir sign-in, weir backup). To move the state, change both.
data: /var/lib/weir";

/// The files of the archive.
pub(super) fn for_archive(project: &Project, dist: &Dist, root: &Path) -> Result<()> {
    program(&dist.binary(), &root.join("weir"))?;
    for (name, page) in dist.manual(root)? {
        write(&root.join("man").join(name), &page)?;
    }
    for (shell, place) in COMPLETIONS {
        let script = dist.printed(&["completions", shell])?;
        let (_, name) = place.rsplit_once('/').unwrap_or(("", place));
        let name = if shell == "bash" { "weir.bash" } else { name };
        write(&root.join("completions").join(name), script.as_bytes())?;
    }
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"]
        .into_iter()
        .chain(DOCS)
    {
        copy(&project.path(name), &root.join(name))?;
    }
    for name in EXAMPLES.into_iter().chain([
        "contrib/systemd/weir.service",
        "contrib/systemd/weir.sysusers",
        "contrib/systemd/weir.tmpfiles",
    ]) {
        copy(&project.path(name), &root.join(name))?;
    }
    write(&root.join("THIRD-PARTY.txt"), dist.notices.as_bytes())?;
    let sample = dist.printed(&["check", "--sample"])?;
    write(&root.join("weir.sample.yaml"), sample.as_bytes())
}

/// The files of the Debian package.
pub(super) fn for_debian(project: &Project, dist: &Dist, root: &Path) -> Result<()> {
    program(&dist.binary(), &root.join("usr/bin/weir"))?;
    let share = root.join("usr/share");
    for (name, page) in dist.manual(root)? {
        write(&share.join("man/man1").join(name + ".gz"), &gzip(&page)?)?;
    }
    for (shell, place) in COMPLETIONS {
        let script = dist.printed(&["completions", shell])?;
        write(&share.join(place), script.as_bytes())?;
    }
    let library = root.join("usr/lib");
    for (name, place) in [
        ("weir.service", "systemd/system/weir.service"),
        ("weir.sysusers", "sysusers.d/weir.conf"),
        ("weir.tmpfiles", "tmpfiles.d/weir.conf"),
    ] {
        copy(
            &project.path("contrib/systemd").join(name),
            &library.join(place),
        )?;
    }
    let doc = share.join("doc/weir");
    for name in DOCS {
        copy(&project.path(name), &doc.join(base(name)))?;
    }
    for name in EXAMPLES {
        let place = name.trim_start_matches("contrib/");
        copy(&project.path(name), &doc.join("examples").join(place))?;
    }
    let changes = fs::read(project.path("CHANGELOG.md"))?;
    write(&doc.join("changelog.gz"), &gzip(&changes)?)?;
    write(
        &doc.join("THIRD-PARTY.txt.gz"),
        &gzip(dist.notices.as_bytes())?,
    )?;
    write(&doc.join("copyright"), copyright(project)?.as_bytes())?;
    let sample = dist.printed(&["check", "--sample"])?;
    write(
        &root.join("etc/weir/weir.yaml"),
        packaged(&sample)?.as_bytes(),
    )
}

/// The sample, with the state where the service keeps it.
fn packaged(sample: &str) -> Result<String> {
    let line = "# Directory that holds all state. Read at start.\n#data: ./weir-data\n";
    ensure!(
        sample.matches(line).count() == 1,
        "the sample no longer says where the state is as `dist` expects"
    );
    Ok(sample.replace(line, &format!("{PACKAGED_DATA}\n")))
}

fn copyright(project: &Project) -> Result<String> {
    let mit = fs::read_to_string(project.path("LICENSE-MIT"))?;
    Ok(format!(
        "Weir may be used under either the MIT licence or the Apache licence 2.0.\n\
         The latter is in /usr/share/common-licenses/Apache-2.0. The licences of what is\n\
         linked in are in /usr/share/doc/weir/THIRD-PARTY.txt.gz.\n\n{mit}"
    ))
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn program(from: &Path, to: &Path) -> Result<()> {
    copy(from, to)?;
    fs::set_permissions(to, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write(to, &bytes)
}

/// Writes a file that everybody may read, whatever this process usually leaves.
pub(super) fn write(place: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(directory) = place.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(place, bytes).with_context(|| format!("cannot write {}", place.display()))?;
    fs::set_permissions(place, fs::Permissions::from_mode(0o644))?;
    Ok(())
}

/// Packs bytes without a time or a name, so that the same bytes stay the same.
pub(super) fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut packer = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    packer.write_all(bytes)?;
    Ok(packer.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_packaged_configuration_names_where_the_state_is() {
        let sample = include_str!("../../../docs/weir.sample.yaml");
        let packaged = packaged(sample).unwrap();
        assert!(packaged.contains("\ndata: /var/lib/weir\n"), "{packaged}");
        assert!(!packaged.contains("#data:"), "{packaged}");
        packaged_refuses("data: elsewhere\n");
    }

    fn packaged_refuses(sample: &str) {
        assert!(packaged(sample).is_err());
    }

    #[test]
    fn what_is_packed_twice_is_the_same() {
        assert_eq!(gzip(b"some text").unwrap(), gzip(b"some text").unwrap());
    }
}
