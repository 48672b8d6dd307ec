//! Articles: headers, text and attachments of one message, made readable.
