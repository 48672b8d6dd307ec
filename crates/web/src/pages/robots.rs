//! `/robots.txt`: what programs that read the web by themselves may open.

use std::fmt::Write;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use crate::{App, Pace};

/// `GET /robots.txt`: pages that everybody may read, and nothing else.
pub(crate) async fn show(State(app): State<App>) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/plain; charset=utf-8"),
        (header::CACHE_CONTROL, "public, max-age=3600"),
    ];
    let pace = app.keeper().settings().rules.readers;
    (headers, text(&app.shell().public, pace)).into_response()
}

/// The rules. The ones that allow come first, because some robots take the first that fits.
fn text(public: &[&str], pace: Pace) -> String {
    let mut text = "User-agent: *\n".to_owned();
    for path in public {
        let _ = writeln!(text, "Allow: {path}");
    }
    if !public.is_empty() {
        // Half of what a household may read, so that a robot that keeps to it is never turned away.
        let delay = (pace.window.as_secs() * 2).div_ceil(u64::from(pace.times));
        let _ = writeln!(text, "Crawl-delay: {delay}");
    }
    text + "Disallow: /\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn robots_read_what_is_public_and_nothing_else() {
        let pace = Pace::per_minute(240);
        assert_eq!(text(&[], pace), "User-agent: *\nDisallow: /\n");
        assert_eq!(
            text(&["/news"], pace),
            "User-agent: *\nAllow: /news\nCrawl-delay: 1\nDisallow: /\n"
        );
        let slow = text(&["/news"], Pace::per_minute(10));
        assert!(slow.contains("Crawl-delay: 12\n"), "{slow}");
    }
}
