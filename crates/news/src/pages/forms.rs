//! An article in forms other than a page: as text, as it was sent, its files, its HTML. None of it is trusted: nothing in
//! these answers runs, loads anything, or is taken for something else than it is.

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use percent_encoding::utf8_percent_encode;
use weir_config::ENCODED;
use weir_news_proto::article::{Part, safe_name};
use weir_web::Failure;

use super::message::{named, titled};
use crate::reading::ReadArticle;

/// Nothing may run, be loaded, or frame this.
const NOTHING: &str =
    "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// The same where links may be followed.
const LINKS: &str = "sandbox allow-popups allow-popups-to-escape-sandbox allow-top-navigation-by-user-activation; \
                     default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
/// An article never changes. It may be for signed-in people only.
const KEEP: &str = "private, max-age=3600";

/// The article as it was sent, to be read.
pub(crate) fn source(read: &ReadArticle) -> Response {
    // Sources are of any character set, or of several; most are UTF-8.
    answer("text/plain; charset=utf-8", NOTHING, read.raw.clone())
}

/// The article as it was sent, to be opened by a mail program.
pub(crate) fn eml(read: &ReadArticle) -> Response {
    let subject = safe_name(&titled(&read.article.head.subject));
    let name = match subject.as_str() {
        "" => "article",
        subject => subject,
    };
    let response = answer("message/rfc822", NOTHING, read.raw.clone());
    attached(response, &format!("{name}.eml"))
}

/// A file of the article.
pub(crate) fn part(read: &ReadArticle, index: &str) -> Result<Response, Failure> {
    let index = index.parse().ok();
    let found = index.and_then(|index| read.article.attachment(index, &read.raw));
    let Some((file, bytes)) = found else {
        return Err(Failure::unknown(
            "This article has no such part.",
            "Open the article to see its attachments.",
        ));
    };
    // Never by the type that the sender gave: a browser might show it.
    let response = answer("application/octet-stream", NOTHING, bytes.into_owned());
    Ok(attached(response, &file.name))
}

/// The article's HTML, made harmless, as a page by itself.
pub(crate) fn html(read: &ReadArticle) -> Result<Response, Failure> {
    let mut body = String::new();
    for part in &read.article.parts {
        if let Part::Html { html, .. } = part {
            body.push_str(html.as_str());
        }
    }
    if body.is_empty() {
        return Err(Failure::unknown(
            "This article has no HTML.",
            "Its text is on its own page.",
        ));
    }
    let head = &read.article.head;
    let title = escaped(&format!(
        "{} · {}",
        titled(&head.subject),
        named(head.from.shown())
    ));
    let page = format!(
        "<!doctype html><html><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title></head><body>{body}</body></html>"
    );
    Ok(answer("text/html; charset=utf-8", LINKS, page))
}

/// The text alone.
pub(crate) fn plain(read: &ReadArticle) -> Response {
    let head = &read.article.head;
    let texts = read.article.parts.iter().filter_map(Part::text);
    let texts: Vec<String> = texts.map(weir_news_proto::article::Text::plain).collect();
    let text = format!(
        "{}\nBy {}, {}\n{}\n\n{}\n",
        titled(&head.subject),
        named(head.from.shown()),
        head.date.raw,
        read.id,
        texts.join("\n\n")
    );
    answer("text/plain; charset=utf-8", NOTHING, text)
}

/// Says that an answer is a file of this name.
pub(crate) fn attached(mut response: Response, name: &str) -> Response {
    // The first form is for programs that know no other; what does not fit there is left out.
    let plain = |c: char| match c {
        '"' | '\\' => '_',
        c if c.is_ascii_graphic() || c == ' ' => c,
        _ => '_',
    };
    let ascii: String = name.chars().map(plain).collect();
    let all = utf8_percent_encode(name, ENCODED);
    let value = format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{all}");
    let value = HeaderValue::from_str(&value);
    let value = value.unwrap_or(HeaderValue::from_static("attachment"));
    response
        .headers_mut()
        .insert(header::CONTENT_DISPOSITION, value);
    response
}

/// An answer that a browser neither runs nor guesses about.
pub(crate) fn answer(
    kind: &'static str,
    policy: &'static str,
    body: impl IntoResponse,
) -> Response {
    let mut response = body.into_response();
    let set: [(HeaderName, &str); 4] = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, KEEP),
    ];
    for (name, value) in set {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
    response
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_breaks_out_of_no_header() {
        let response = attached(().into_response(), "a\"b\r\nX: é.txt");
        let value = response.headers()[header::CONTENT_DISPOSITION]
            .to_str()
            .unwrap();
        assert_eq!(
            value,
            "attachment; filename=\"a_b__X: _.txt\"; filename*=UTF-8''a%22b%0D%0AX%3A%20%C3%A9.txt"
        );
    }
}
