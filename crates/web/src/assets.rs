//! Script, style and pictures: in the binary, under names that contain the hash of their content, so that browsers
//! can keep them forever and never show an old one.

use std::{collections::HashMap, io::Write};

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use rust_embed::RustEmbed;

use crate::{App, Failure};

#[derive(RustEmbed)]
#[folder = "assets"]
struct EmbeddedFiles;

/// All assets, ready to be sent.
pub(crate) struct Assets {
    by_name: HashMap<String, Asset>,
    /// From the name in the source to the path with the hash.
    paths: HashMap<String, String>,
}

struct Asset {
    plain: Bytes,
    packed: Option<Bytes>,
    kind: &'static str,
    tag: HeaderValue,
}

impl Assets {
    pub(crate) fn load() -> Self {
        let mut assets = Self {
            by_name: HashMap::new(),
            paths: HashMap::new(),
        };
        for name in EmbeddedFiles::iter() {
            if let Some(file) = EmbeddedFiles::get(&name) {
                assets.add(&name, file.data.into_owned());
            }
        }
        assets
    }

    fn add(&mut self, name: &str, content: Vec<u8>) {
        let hash = blake3::hash(&content).to_hex();
        let hash = &hash[..12];
        let (stem, extension) = name.rsplit_once('.').unwrap_or((name, ""));
        let hashed = format!("{stem}-{hash}.{extension}");
        let Ok(tag) = HeaderValue::from_str(&format!("\"{hash}\"")) else {
            return;
        };
        let packed = pack(&content).filter(|packed| packed.len() < content.len());
        let asset = Asset {
            plain: content.into(),
            packed: packed.map(Into::into),
            kind: kind(extension),
            tag,
        };
        self.paths
            .insert(name.to_owned(), format!("/assets/{hashed}"));
        self.by_name.insert(hashed, asset);
    }

    /// The path of an asset, by the name it has in the source.
    pub(crate) fn path(&self, name: &str) -> &str {
        self.paths
            .get(name)
            .map_or("/assets/missing", String::as_str)
    }

    fn serve(&self, name: &str, headers: &HeaderMap) -> Response {
        let Some(asset) = self.by_name.get(name) else {
            return Failure::not_found().into_response();
        };
        let has = |header, wanted: &str| {
            headers
                .get_all(header)
                .iter()
                .filter_map(|value| value.to_str().ok())
                .any(|value| value.contains(wanted))
        };
        let known = has(
            header::IF_NONE_MATCH,
            asset.tag.to_str().unwrap_or_default(),
        );
        let packed = asset
            .packed
            .as_ref()
            .filter(|_| has(header::ACCEPT_ENCODING, "gzip"));
        let mut response = match (known, packed) {
            (true, _) => StatusCode::NOT_MODIFIED.into_response(),
            (false, Some(packed)) => {
                ([(header::CONTENT_ENCODING, "gzip")], packed.clone()).into_response()
            }
            (false, None) => asset.plain.clone().into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(asset.kind));
        headers.insert(header::ETAG, asset.tag.clone());
        headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(
            header::CACHE_CONTROL,
            HeaderValue::from_static("public, max-age=31536000, immutable"),
        );
        response
    }
}

/// `GET /assets/{name}`.
pub(crate) async fn asset(
    State(app): State<App>,
    Path(name): Path<String>,
    headers: HeaderMap,
) -> Response {
    app.shell().assets.serve(&name, &headers)
}

/// `GET /favicon.ico`, which browsers request for answers that are not pages.
pub(crate) async fn favicon(State(app): State<App>, headers: HeaderMap) -> Response {
    let shell = app.shell();
    let name = shell
        .assets
        .path("favicon.svg")
        .trim_start_matches("/assets/")
        .to_owned();
    let mut response = shell.assets.serve(&name, &headers);
    response.headers_mut().insert(
        header::CACHE_CONTROL,
        HeaderValue::from_static("public, max-age=86400"),
    );
    response
}

fn pack(content: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).ok()?;
    encoder.finish().ok()
}

fn kind(extension: &str) -> &'static str {
    match extension {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => "application/octet-stream",
    }
}
