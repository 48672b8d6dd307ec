//! Forms: the token that proves that a form is ours, and reading one field of what was sent.

use axum::{
    body::Body,
    extract::Request,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};

use crate::Failure;

/// The field of a form that holds its token.
pub(crate) const TOKEN: &str = "csrf";

/// The answer to a form without the right token.
pub(crate) fn stale_form() -> Failure {
    Failure::new(
        StatusCode::FORBIDDEN,
        "This form does not belong to this session, so nothing was changed.",
        "Open the page again and repeat the step there.",
    )
}

/// The form token of a request, and the request unchanged.
pub(crate) async fn form_token(
    request: Request,
    limit: usize,
) -> Result<(Option<String>, Request), Box<Response>> {
    if let Some(given) = request
        .headers()
        .get("x-csrf-token")
        .and_then(|value| value.to_str().ok())
    {
        return Ok((Some(given.to_owned()), request));
    }
    let form = request
        .headers()
        .get(header::CONTENT_TYPE)
        .is_some_and(|kind| {
            kind.as_bytes()
                .starts_with(b"application/x-www-form-urlencoded")
        });
    if !form {
        return Ok((None, request));
    }
    let (parts, body) = request.into_parts();
    let Ok(bytes) = axum::body::to_bytes(body, limit).await else {
        return Err(Box::new(too_large(limit).into_response()));
    };
    let given = field(&bytes, TOKEN);
    Ok((given, Request::from_parts(parts, Body::from(bytes))))
}

/// The answer to a body beyond the limit.
pub(crate) fn too_large(limit: usize) -> Failure {
    Failure::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("The request is larger than {limit} bytes."),
        "Send less, or raise web.limits.body_bytes.",
    )
}

/// One field of a form or query string.
pub fn field(encoded: &[u8], name: &str) -> Option<String> {
    encoded.split(|byte| *byte == b'&').find_map(|pair| {
        let mut halves = pair.splitn(2, |byte| *byte == b'=');
        if halves.next()? != name.as_bytes() {
            return None;
        }
        let value: Vec<u8> = halves
            .next()
            .unwrap_or_default()
            .iter()
            .map(|byte| if *byte == b'+' { b' ' } else { *byte })
            .collect();
        Some(
            percent_encoding::percent_decode(&value)
                .decode_utf8_lossy()
                .into_owned(),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_decoded() {
        let form = b"a=1&key=a+b%2Bc%26&csrf=&key=second";
        assert_eq!(field(form, "key").as_deref(), Some("a b+c&"));
        assert_eq!(field(form, "csrf").as_deref(), Some(""));
        assert_eq!(field(form, "none"), None);
    }
}
