//! Pages that somebody has read before, as many as can be served.

use std::net::SocketAddr;
use std::process::Command;

use weir_testkit::inn::Inn;

use crate::bars::{Bars, Side, median};
use crate::corpus::{Corpus, LIST, THREADS};
use crate::rig::Rig;

/// Serves the same pages again and again to 32 connections, to strangers and to whoever is signed in.
pub(crate) fn pages(bars: &mut Bars, inn: &Inn, corpus: &Corpus) {
    let rig = Rig::start(inn.address());
    let root = corpus.roots[0].replace('$', "%24");
    let pages: [(&str, String, f64); 3] = [
        ("thread list", format!("/news/{LIST}"), 5_000.0),
        ("thread of 20", format!("/news/{THREADS}/{root}"), 10_000.0),
        ("article", format!("/news/article/{root}"), 30_000.0),
    ];
    rig.fetch("/news");
    for (what, path, _) in &pages {
        let (_, page) = rig.fetch(path);
        println!("{what}: {} bytes", page.len());
    }
    let cookie = rig.sign_in();
    for (who, cookie) in [("strangers", None), ("signed in", Some(&*cookie))] {
        let (mut health, mut rates) = (Vec::new(), vec![Vec::new(); pages.len()]);
        for _ in 0..bars.runs {
            health.push(rate(rig.web, "/healthz", None));
            for ((_, path, _), rates) in pages.iter().zip(&mut rates) {
                rates.push(rate(rig.web, path, cookie));
            }
        }
        bars.tell(&format!("warm, {who}: /healthz, 1/s"), &health);
        for ((what, _, bar), rates) in pages.iter().zip(rates) {
            let bars_here = health.iter().map(|health| bar.min(health * 0.5));
            let shares: Vec<f64> = rates
                .iter()
                .zip(bars_here.clone())
                .map(|(rate, bar)| rate / bar)
                .collect();
            let bar = median(&bars_here.collect::<Vec<f64>>());
            bars.tell(&format!("warm, {who}: {what}, 1/s"), &rates);
            let what = format!("  {what}, {who}: share of {bar:.0}/s");
            bars.hold(&what, Side::AtLeast, 1.0, &shares);
        }
    }
}

/// Answers per second to one thread with 32 connections.
fn rate(web: SocketAddr, path: &str, cookie: Option<&str>) -> f64 {
    let mut wrk = Command::new("wrk");
    wrk.args(["-t1", "-c32", "-d2s"]);
    wrk.arg(format!("http://{web}{path}"));
    if let Some(cookie) = cookie {
        wrk.args(["-H", &format!("Cookie: {cookie}")]);
    }
    let output = wrk
        .output()
        .expect("wrk is installed by `cargo xtask setup`");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains("Non-2xx"), "{path}: {text}");
    let rate = text
        .lines()
        .find_map(|line| line.strip_prefix("Requests/sec:"));
    rate.and_then(|rate| rate.trim().parse().ok()).expect(&text)
}
