//! `cargo xtask assets`: builds what people write in `crates/web/ui` into what the binary embeds.
//!
//! The recipe is the `build` script of the node project there; it writes into the directory
//! `assets` beside it. The built files are committed, so that building Weir needs no node. We run
//! the recipe on a copy and compare: `--check` changes nothing, and files that come out the same
//! keep their times, so that cargo does not build the crate again.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use flate2::{Compression, write::GzEncoder};

use crate::graph;
use crate::shell::{self, Project};

/// The node project that holds source and recipe.
pub(crate) const SOURCE: &str = "crates/web/ui";

const BUILT: &str = "crates/web/assets";

/// What all files of a kind may weigh together, in bytes as they are sent: by the end of their names.
const BUDGET: [(&str, usize); 2] = [(".js", 60_000), (".css", 12_000)];

/// Builds the assets, or with `check` only compares what a build gives with what is there.
pub(crate) fn run(project: &Project, check: bool) -> Result<()> {
    let wanted = build(project)?;
    weigh(&wanted)?;
    let present = contents(&project.path(BUILT))?;
    let differences = differences(&wanted, &present);
    for difference in &differences {
        println!("{BUILT}/{difference}");
    }
    if check {
        ensure!(
            differences.is_empty(),
            "assets are stale: run `cargo xtask assets`"
        );
    } else {
        write(&project.path(BUILT), &wanted, &present)?;
    }
    println!("{} assets are fresh", wanted.len());
    Ok(())
}

/// Runs the recipe on a copy of its project and gives back what came out.
fn build(project: &Project) -> Result<BTreeMap<String, Vec<u8>>> {
    let source = project.path(SOURCE);
    let place = graph::target_directory(project)?.join("assets");
    if place.exists() {
        fs::remove_dir_all(&place)?;
    }
    let (copy, built) = (place.join("ui"), place.join("assets"));
    fs::create_dir_all(&built)?;
    copy_files(&source, &copy)?;
    symlink(source.join("node_modules"), copy.join("node_modules"))?;
    let mut npm = project.command("npm");
    shell::run(npm.args(["run", "--silent", "build"]).current_dir(&copy))?;
    let wanted = contents(&built)?;
    ensure!(
        !wanted.is_empty(),
        "the build script in {SOURCE} made nothing"
    );
    Ok(wanted)
}

/// Copies a directory with all below it, except what npm fetched.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for path in entries(from)? {
        let target = to.join(name(&path));
        if path.is_file() {
            fs::copy(&path, &target)?;
        } else if name(&path) != "node_modules" {
            copy_files(&path, &target)?;
        }
    }
    Ok(())
}

/// The files in a directory, by name.
fn contents(directory: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut contents = BTreeMap::new();
    for path in entries(directory)?
        .into_iter()
        .filter(|path| path.is_file())
    {
        contents.insert(name(&path), fs::read(&path)?);
    }
    Ok(contents)
}

/// Refuses files that a first visit would have to wait for.
fn weigh(files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    for (end, most) in BUDGET {
        let of_kind = files.iter().filter(|(name, _)| name.ends_with(end));
        let mut weight = 0;
        for (_, bytes) in of_kind {
            weight += packed(bytes)?;
        }
        ensure!(
            weight <= most,
            "all {end} files together are {weight} bytes compressed, more than {most}"
        );
    }
    Ok(())
}

/// How many bytes are sent, compressed as the web part does it.
fn packed(bytes: &[u8]) -> Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}

/// How what is there differs from what a build gives, one line each: `name what`.
fn differences(
    wanted: &BTreeMap<String, Vec<u8>>,
    present: &BTreeMap<String, Vec<u8>>,
) -> Vec<String> {
    let mut differences = Vec::new();
    for (name, bytes) in wanted {
        match present.get(name) {
            None => differences.push(format!("{name} is missing")),
            Some(old) if old != bytes => differences.push(format!("{name} is stale")),
            Some(_) => {}
        }
    }
    let orphans = present.keys().filter(|name| !wanted.contains_key(*name));
    differences.extend(orphans.map(|name| format!("{name} has no source")));
    differences
}

/// Makes the directory hold exactly what is wanted, leaving alone what is the same.
fn write(
    directory: &Path,
    wanted: &BTreeMap<String, Vec<u8>>,
    present: &BTreeMap<String, Vec<u8>>,
) -> Result<()> {
    for name in present.keys().filter(|name| !wanted.contains_key(*name)) {
        fs::remove_file(directory.join(name))?;
    }
    for (name, bytes) in wanted {
        if present.get(name) != Some(bytes) {
            fs::write(directory.join(name), bytes)?;
        }
    }
    Ok(())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(directory)
        .with_context(|| format!("cannot look into {}", directory.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(files: &[(&str, &str)]) -> BTreeMap<String, Vec<u8>> {
        let files = files.iter();
        files
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect()
    }

    #[test]
    fn what_weighs_too_much_is_refused() {
        // Nothing that repeats, so that it does not become smaller.
        let mut state = 7u64;
        let mut noise = |bytes: usize| -> String {
            let mut letter = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                char::from(33 + (state >> 33) as u8 % 90)
            };
            (0..bytes).map(|_| letter()).collect()
        };
        let (half, style) = (noise(40_000), noise(9_000));
        assert!(weigh(&made(&[("app.js", &half), ("app.css", &style)])).is_ok());
        let both = made(&[("app.js", &half), ("charts.js", &half)]);
        let refused = weigh(&both).unwrap_err().to_string();
        assert!(refused.starts_with("all .js files together"), "{refused}");
        assert!(weigh(&made(&[("app.css", &half)])).is_err());
    }

    #[test]
    fn a_fresh_build_has_no_difference() {
        let files = made(&[("app.js", "1"), ("app.css", "2")]);
        assert_eq!(differences(&files, &files), [""; 0]);
    }

    #[test]
    fn stale_missing_and_orphaned_files_are_named() {
        let wanted = made(&[("app.css", "new"), ("app.js", "1")]);
        let present = made(&[("app.css", "old"), ("gone.js", "1")]);
        assert_eq!(
            differences(&wanted, &present),
            [
                "app.css is stale",
                "app.js is missing",
                "gone.js has no source"
            ]
        );
    }
}
