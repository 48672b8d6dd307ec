//! The other side of TLS: our own certificate, for listeners that clients connect to.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::Stream;

/// Why a certificate cannot be used, as a clause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadCertificate {
    /// The file has no certificate in it.
    #[error("there is no certificate in it (PEM, BEGIN CERTIFICATE)")]
    NoCertificate,
    /// The file has no private key in it.
    #[error("there is no private key in it (PEM, BEGIN PRIVATE KEY)")]
    NoKey,
    /// Both are there, and do not fit or cannot be read.
    #[error("certificate and key cannot be used together: {0}")]
    Unusable(String),
}

/// Secures streams of clients with our certificate. A cheap handle.
#[derive(Clone)]
pub struct ServerTls {
    acceptor: TlsAcceptor,
}

impl ServerTls {
    /// With a certificate chain, our own certificate first, and its private key, both as PEM.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(chain: &[u8], key: &[u8]) -> Result<Self, BadCertificate> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(chain).collect();
        let chain = chain.unwrap_or_default();
        if chain.is_empty() {
            return Err(BadCertificate::NoCertificate);
        }
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| BadCertificate::NoKey)?;
        let unusable = |error: rustls::Error| BadCertificate::Unusable(error.to_string());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(unusable)?
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .map_err(unusable)?;
        Ok(Self {
            acceptor: TlsAcceptor::from(Arc::new(config)),
        })
    }

    /// Shakes hands with a client. Whoever calls bounds the time.
    ///
    /// # Errors
    /// When the client goes away or does not speak TLS.
    pub async fn accept(&self, stream: Box<dyn Stream>) -> io::Result<Box<dyn Stream>> {
        let secured = self.acceptor.accept(stream).await?;
        Ok(Box::new(secured))
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertifiedKey, generate_simple_self_signed};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;
    use crate::{Roots, Tls};

    fn made() -> (String, String) {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        (cert.pem(), signing_key.serialize_pem())
    }

    #[tokio::test]
    async fn a_client_that_trusts_the_certificate_is_understood() {
        let (certificate, key) = made();
        let server = ServerTls::new(certificate.as_bytes(), key.as_bytes()).unwrap();
        let client = Tls::new(&Roots::Pem(certificate.into_bytes()), None).unwrap();
        let (near, far) = tokio::io::duplex(64 << 10);
        let (served, asked) = tokio::join!(
            server.accept(Box::new(far)),
            client.secure(Box::new(near), "localhost")
        );
        let (mut served, mut asked) = (served.unwrap(), asked.unwrap());
        asked.write_all(b"DATE\r\n").await.unwrap();
        asked.flush().await.unwrap();
        let mut line = [0; 6];
        served.read_exact(&mut line).await.unwrap();
        assert_eq!(&line, b"DATE\r\n");
    }

    #[test]
    fn what_is_wrong_with_a_certificate_is_said() {
        let (certificate, key) = made();
        let (certificate, key) = (certificate.as_bytes(), key.as_bytes());
        let fault = |chain, key| ServerTls::new(chain, key).err();
        assert_eq!(fault(b"", key), Some(BadCertificate::NoCertificate));
        assert_eq!(fault(key, key), Some(BadCertificate::NoCertificate));
        assert_eq!(fault(certificate, b"no"), Some(BadCertificate::NoKey));
        let (_, other) = made();
        let mixed = fault(certificate, other.as_bytes());
        assert!(
            matches!(mixed, Some(BadCertificate::Unusable(_))),
            "{mixed:?}"
        );
    }
}
