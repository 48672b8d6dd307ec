//! SOCKS5 (RFC 1928, RFC 1929): the proxy resolves names and connects for us.

use std::net::IpAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::proxy::{Ask, fault};
use crate::names::{Literal, literal};
use crate::{Error, Stream};

const VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;

/// Makes the proxy at the other end connect to the host in `ask`.
pub(super) async fn connect(stream: &mut Box<dyn Stream>, ask: &Ask<'_>) -> Result<(), Error> {
    let methods: &[u8] = match ask.login {
        Some(_) => &[VERSION, 2, NO_LOGIN, LOGIN],
        None => &[VERSION, 1, NO_LOGIN],
    };
    write(stream, methods).await?;
    match (read::<2>(stream).await?, &ask.login) {
        ([VERSION, NO_LOGIN], _) => {}
        ([VERSION, LOGIN], Some((user, password))) => log_in(stream, user, password).await?,
        ([VERSION, _], _) => return Err(fault("it requires another kind of sign-in")),
        _ => return Err(fault("it does not speak SOCKS5")),
    }
    write(stream, &request(ask)?).await?;
    let [version, code, _, kind] = read::<4>(stream).await?;
    if version != VERSION {
        return Err(fault("it does not speak SOCKS5"));
    }
    granted(code)?;
    // The address that the proxy connects from follows. Nobody needs it, but it must be read past.
    let length = match kind {
        1 => 4,
        4 => 16,
        3 => usize::from(read::<1>(stream).await?[0]),
        _ => return Err(fault("its answer is unreadable")),
    };
    let mut address = vec![0; length + 2];
    stream.read_exact(&mut address).await.map_err(cut)?;
    Ok(())
}

async fn log_in(stream: &mut Box<dyn Stream>, user: &[u8], password: &[u8]) -> Result<(), Error> {
    let mut message = vec![1];
    for text in [user, password] {
        let length = u8::try_from(text.len());
        message.push(length.map_err(|_| fault("the user name or password is too long"))?);
        message.extend_from_slice(text);
    }
    write(stream, &message).await?;
    match read::<2>(stream).await? {
        [_, 0] => Ok(()),
        _ => Err(fault("it rejected our user name and password")),
    }
}

fn request(ask: &Ask<'_>) -> Result<Vec<u8>, Error> {
    let mut request = vec![VERSION, 1, 0];
    match literal(ask.host)? {
        Literal::Address(IpAddr::V4(address)) => {
            request.push(1);
            request.extend_from_slice(&address.octets());
        }
        Literal::Address(IpAddr::V6(address)) => {
            request.push(4);
            request.extend_from_slice(&address.octets());
        }
        Literal::Name(name) => {
            let length = u8::try_from(name.len()).map_err(|_| Error::NoSuchHost)?;
            request.extend_from_slice(&[3, length]);
            request.extend_from_slice(name.as_bytes());
        }
    }
    request.extend_from_slice(&ask.port.to_be_bytes());
    Ok(request)
}

/// What the proxy says about the host. Only "refused" comes from the host itself; trouble in the proxy's network
/// must not count as trouble in ours.
fn granted(code: u8) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        5 => Err(Error::Refused),
        2 => Err(fault("it does not allow this host")),
        3 => Err(fault("it cannot reach the network")),
        4 => Err(fault("it cannot reach the host")),
        6 => Err(fault("the host did not answer it in time")),
        _ => Err(fault("it failed")),
    }
}

async fn write(stream: &mut Box<dyn Stream>, bytes: &[u8]) -> Result<(), Error> {
    stream.write_all(bytes).await.map_err(cut)?;
    stream.flush().await.map_err(cut)
}

async fn read<const N: usize>(stream: &mut Box<dyn Stream>) -> Result<[u8; N], Error> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await.map_err(cut)?;
    Ok(bytes)
}

fn cut(_: std::io::Error) -> Error {
    fault("it closed the connection")
}
