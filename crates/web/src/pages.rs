//! The pages of the shell itself. Fronts contribute their own.

pub(crate) mod failure;
pub(crate) mod first_run;
pub(crate) mod keys;
pub(crate) mod overview;
pub(crate) mod robots;
pub(crate) mod sign_in;
pub(crate) mod theme;
pub(crate) mod time;

use axum::{extract::State, response::Response};

use crate::{App, Visitor};

/// `GET /more`: what does not fit into the bar on a phone.
pub(crate) async fn more(State(app): State<App>, visitor: Visitor) -> Response {
    app.shell().more(&visitor)
}

/// A path on this site, or `None`: browsers read `//host` and `/\host` as another site.
pub(crate) fn local(path: &str) -> Option<&str> {
    let rest = path.strip_prefix('/')?;
    let elsewhere = rest.starts_with(['/', '\\']);
    let odd = path
        .bytes()
        .any(|byte| byte.is_ascii_control() || byte == b'\\' || !byte.is_ascii());
    (!elsewhere && !odd).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::local;

    #[test]
    fn only_paths_on_this_site_are_local() {
        for path in ["/", "/search?q=a%20b&x=/", "/news/a.b#c", "/x//y"] {
            assert_eq!(local(path), Some(path));
        }
        for path in [
            "",
            "//evil.example",
            "/\\evil.example",
            "/\t/evil",
            "https://evil.example",
            "evil",
            "/a\r\nb",
        ] {
            assert_eq!(local(path), None, "{path:?}");
        }
    }
}
