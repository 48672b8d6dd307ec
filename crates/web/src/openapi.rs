//! The API and its description, made in one place: an [`Operation`] says method, path, parameters, body and answers, and
//! [`ApiRoutes::route`] makes the axum route of it together with its handler. So a route of the API without a description
//! does not compile, and what is described is what is checked: parameters and bodies before the handler runs, answers in
//! every test (and every debug build) after it. `/api/openapi.json` is the same table as OpenAPI 3.1.

mod check;
mod document;
mod operation;
mod routes;
pub mod schema;

pub(crate) use self::document::{ApiDocument, show};
pub use self::operation::Operation;
pub use self::routes::{ApiRoutes, Described};
pub use self::schema::Schema;
