//! The routes of backups, as the API describes them.

use axum::http::StatusCode;
use weir_web::openapi::Operation;
use weir_web::openapi::schema::{Schema, choice, count, flag, list, object, text, time};

fn backup() -> Schema {
    let file = object([
        ("name", text()),
        ("size", count()),
        ("sha256", text().about("In hexadecimal.")),
    ]);
    let manifest = object([("version", text()), ("made", time()), ("files", list(file))]);
    object([
        ("id", text()),
        ("state", choice(["making", "ready", "failed", "done"])),
        ("manifest", manifest.optional()),
        ("error", text().optional()),
    ])
    .named("Backup")
}

/// `POST /api/v1/backups`.
pub(super) fn begin() -> Operation {
    Operation::post("/api/v1/backups", "Begin a backup")
        .about("Weir copies its state below its own data directory. `weir backup` fetches the copies from there.")
        .optional_body(object([(
            "text_index",
            flag()
                .optional()
                .about("Whether the full-text index of news is copied too."),
        )]))
        .answers_as(StatusCode::ACCEPTED, "It is being made.", backup())
        .fails(StatusCode::CONFLICT, "Another backup is being made.")
        .fails(StatusCode::INSUFFICIENT_STORAGE, "The disk has no room for the copies.")
}

/// `GET /api/v1/backups/{id}`.
pub(super) fn look() -> Operation {
    Operation::get("/api/v1/backups/{id}", "How far a backup is")
        .path("id", text())
        .answers(
            "The backup; once it is ready, with all its files.",
            backup(),
        )
}

/// `GET /api/v1/backups/{id}/file`.
pub(super) fn piece() -> Operation {
    Operation::get("/api/v1/backups/{id}/file", "A piece of a file of a backup")
        .path("id", text())
        .query("name", text().about("As the manifest has it."))
        .query("from", count().about("Where the piece begins, in bytes."))
        .answers_bytes("At most 4 MiB; nothing at the end of the file.")
        .fails(StatusCode::CONFLICT, "The copies are not made yet.")
}

/// `POST /api/v1/backups/{id}/done`.
pub(super) fn done() -> Operation {
    Operation::post("/api/v1/backups/{id}/done", "Let the copies of a backup go")
        .path("id", text())
        .answers("They are gone.", backup())
}
