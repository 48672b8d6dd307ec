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

/// What is read after the installation, beside all of `docs`.
const TEXTS: [&str; 2] = ["CHANGELOG.md", "README.md"];

/// Examples and what belongs to them.
const EXAMPLES: [&str; 7] = [
    "contrib/caddy/Caddyfile",
    "contrib/nginx/weir.conf",
    "contrib/docker/Dockerfile",
    "contrib/docker/compose.yaml",
    "contrib/grafana/weir.json",
    "contrib/prometheus/weir.rules.yml",
    "contrib/prometheus/weir.tests.yml",
];

/// What systemd reads, and where Debian has it below `/usr/lib`.
const UNITS: [(&str, &str); 3] = [
    (
        "contrib/systemd/weir.service",
        "systemd/system/weir.service",
    ),
    ("contrib/systemd/weir.sysusers", "sysusers.d/weir.conf"),
    ("contrib/systemd/weir.tmpfiles", "tmpfiles.d/weir.conf"),
];

/// Where Debian has what people read.
const DOC: &str = "usr/share/doc/weir";

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
    for (from, to) in copied_into_archive(project)? {
        copy(&project.path(&from), &root.join(to))?;
    }
    write(&root.join("THIRD-PARTY.txt"), dist.notices.as_bytes())
}

/// Which files of the project the archive has, and where.
fn copied_into_archive(project: &Project) -> Result<Vec<(String, String)>> {
    let mut names = documents(project)?;
    names.extend(["LICENSE-APACHE", "LICENSE-MIT"].map(str::to_owned));
    names.extend(EXAMPLES.map(str::to_owned));
    names.extend(UNITS.map(|(name, _)| name.to_owned()));
    Ok(names.into_iter().map(|name| (name.clone(), name)).collect())
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
    for (from, to) in copied_into_debian(project)? {
        copy(&project.path(&from), &root.join(to))?;
    }
    let doc = root.join(DOC);
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

/// Which files of the project the Debian package has, and where.
fn copied_into_debian(project: &Project) -> Result<Vec<(String, String)>> {
    let mut files = Vec::new();
    for name in documents(project)? {
        let place = format!("{DOC}/{name}");
        files.push((name, place));
    }
    for name in EXAMPLES {
        let place = name.trim_start_matches("contrib/");
        files.push((name.to_owned(), format!("{DOC}/examples/{place}")));
    }
    for (name, place) in UNITS {
        files.push((name.to_owned(), format!("usr/lib/{place}")));
    }
    Ok(files)
}

/// All that people read, the picture and the sample included. Both packages keep these places, so that links between
/// them lead somewhere.
fn documents(project: &Project) -> Result<Vec<String>> {
    let mut names = TEXTS.map(str::to_owned).to_vec();
    for entry in fs::read_dir(project.path("docs"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let (_, kind) = name.rsplit_once('.').unwrap_or_default();
        if ["md", "png", "yaml"].contains(&kind) {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    Ok(names)
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
mod tests;
