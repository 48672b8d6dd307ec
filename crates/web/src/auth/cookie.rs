//! The three cookies: session, form (binds form tokens before there is a session) and theme.
//!
//! Written by hand rather than with a cookie crate, which would bring in a second date library.

use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

pub(crate) const SESSION: &str = "weir_session";
pub(crate) const FORM: &str = "weir_form";
pub(crate) const THEME: &str = "weir_theme";

/// The value of a cookie the client sent. Cookies are shared by everything that listens on a host: what another program
/// puts into its own must not hide ours.
pub(crate) fn read<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b';'))
        .filter_map(|pair| str::from_utf8(pair).ok()?.trim().split_once('='))
        .find_map(|(key, value)| (key == name && !value.is_empty()).then_some(value))
}

/// A cookie to set; its value is one of our tokens or words, so nothing needs quoting. A lifetime of zero removes it.
pub(crate) fn set(name: &str, value: &str, lifetime: Duration, https: bool) -> Option<HeaderValue> {
    let secure = if https { "; Secure" } else { "" };
    let age = lifetime.as_secs();
    HeaderValue::from_str(&format!(
        "{name}={value}; Path=/; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"
    ))
    .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_are_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(
            header::COOKIE,
            "a=1; weir_session=abc;weir_theme=dark".parse().unwrap(),
        );
        headers.append(
            header::COOKIE,
            HeaderValue::from_bytes(b"other=\xff\xfe; weir_form=f").unwrap(),
        );
        assert_eq!(read(&headers, SESSION), Some("abc"));
        assert_eq!(read(&headers, THEME), Some("dark"));
        assert_eq!(read(&headers, FORM), Some("f"));
        assert_eq!(read(&headers, "session"), None);
    }
}
