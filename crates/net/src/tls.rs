//! TLS over any stream, and which certificates it trusts.

use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::Verifier;
use tokio_rustls::TlsConnector;

use crate::{Error, Stream};

mod server;

pub use server::{BadCertificate, ServerTls};

/// Which root certificates are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Roots {
    /// Those that the machine trusts.
    #[default]
    System,
    /// Those that the machine trusts, and these, as PEM.
    SystemAnd(Vec<u8>),
    /// Only these, as PEM.
    Pem(Vec<u8>),
}

/// Wraps streams in TLS.
#[derive(Clone)]
pub struct Tls {
    /// An error if this machine has no certificates; returned only when a call needs TLS, so plain upstreams work.
    config: Result<Arc<ClientConfig>, Error>,
}

impl Tls {
    /// TLS that trusts these certificates, and offers `protocol` by name if there is one (ALPN).
    ///
    /// # Errors
    /// If the given certificates are unusable.
    pub fn new(roots: &Roots, protocol: Option<&[u8]>) -> Result<Self, Error> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let config = match roots {
            Roots::System => system(provider, Vec::new()),
            Roots::SystemAnd(pem) => {
                let further = read(pem)?;
                store(further.clone())?;
                system(provider, further)
            }
            Roots::Pem(pem) => {
                let config = builder(provider)?.with_root_certificates(store(read(pem)?)?);
                Ok(config.with_no_client_auth())
            }
        };
        let config = config.map(|mut config| {
            config.alpn_protocols = protocol.map(<[u8]>::to_vec).into_iter().collect();
            Arc::new(config)
        });
        Ok(Self { config })
    }

    /// The same for those who make connections of their own.
    ///
    /// # Errors
    /// If this machine has no certificates.
    pub fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        self.config.clone()
    }

    /// Secures a stream to `host`, a name or an address as URLs write it.
    ///
    /// # Errors
    /// [`Error::Untrusted`] if the other side answers but cannot be trusted or does not speak TLS; else what the network
    /// says.
    pub async fn secure(
        &self,
        stream: Box<dyn Stream>,
        host: &str,
    ) -> Result<Box<dyn Stream>, Error> {
        let config = self.config.clone()?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned());
        let name =
            name.map_err(|_| Error::Untrusted("the host name cannot be used for TLS".to_owned()))?;
        let secured = TlsConnector::from(config).connect(name, stream).await;
        let secured = secured.map_err(|error| {
            match error
                .get_ref()
                .and_then(|inner| inner.downcast_ref::<rustls::Error>())
            {
                // Only what no TLS server would send; a certificate that is not trusted is something else.
                Some(rustls::Error::InvalidMessage(_)) => Error::NotTls,
                Some(inner) => Error::Untrusted(inner.to_string()),
                None => Error::of_system(&error),
            }
        })?;
        Ok(Box::new(secured))
    }
}

fn system(
    provider: Arc<CryptoProvider>,
    further: Vec<CertificateDer<'static>>,
) -> Result<ClientConfig, Error> {
    let verifier = Verifier::new_with_extra_roots(further, provider.clone());
    let verifier = verifier.map_err(|error| Error::Untrusted(error.to_string()))?;
    let config = builder(provider)?.dangerous();
    let config = config.with_custom_certificate_verifier(Arc::new(verifier));
    Ok(config.with_no_client_auth())
}

fn builder(
    provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, Error> {
    // Given explicitly instead of installed for the process, where another crate could install a different one.
    let builder = ClientConfig::builder_with_provider(provider);
    builder
        .with_safe_default_protocol_versions()
        .map_err(unusable)
}

fn read(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Error> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let certificates = certificates.map_err(unusable)?;
    if certificates.is_empty() {
        return Err(Error::Roots("no certificate in the PEM text".to_owned()));
    }
    Ok(certificates)
}

fn store(certificates: Vec<CertificateDer<'static>>) -> Result<RootCertStore, Error> {
    let mut store = RootCertStore::empty();
    for certificate in certificates {
        store.add(certificate).map_err(unusable)?;
    }
    Ok(store)
}

fn unusable(error: impl std::fmt::Display) -> Error {
    Error::Roots(error.to_string())
}
