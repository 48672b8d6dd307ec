//! What is kept of an announce across a restart, while a retry is on the agenda.

use std::num::{NonZeroU16, NonZeroU32};

use weir_tracker_proto::{Announce, Event, InfoHash, PeerId};

use crate::swarm::PeerEndpoint;

/// An event as it is kept.
pub(super) fn event_number(event: Event) -> u8 {
    match event {
        Event::None => 0,
        Event::Completed => 1,
        Event::Started => 2,
        Event::Stopped => 3,
        Event::Paused => 4,
    }
}

pub(super) fn write(announce: &Announce, at: &PeerEndpoint) -> Vec<u8> {
    let mut kept = vec![1];
    kept.extend_from_slice(&announce.info_hash.0);
    kept.extend_from_slice(&announce.peer_id.0);
    kept.extend_from_slice(&announce.port.get().to_be_bytes());
    for count in [announce.uploaded, announce.downloaded, announce.left] {
        kept.extend_from_slice(&count.to_be_bytes());
    }
    kept.extend_from_slice(&announce.key.map_or(0, NonZeroU32::get).to_be_bytes());
    kept.push(event_number(announce.event));
    kept.extend_from_slice(at.wire());
    kept
}

/// What was written, read back; `None` for what another version wrote.
pub(crate) fn read(kept: &[u8]) -> Option<(Announce, PeerEndpoint)> {
    let (&1, kept) = kept.split_first()? else {
        return None;
    };
    let (hash, kept) = kept.split_first_chunk::<20>()?;
    let (peer_id, kept) = kept.split_first_chunk::<20>()?;
    let (port, kept) = kept.split_first_chunk::<2>()?;
    let (uploaded, kept) = kept.split_first_chunk::<8>()?;
    let (downloaded, kept) = kept.split_first_chunk::<8>()?;
    let (left, kept) = kept.split_first_chunk::<8>()?;
    let (key, kept) = kept.split_first_chunk::<4>()?;
    let (event, at) = kept.split_first()?;
    let at = match at.len() {
        6 => PeerEndpoint::V4(at.try_into().ok()?),
        18 => PeerEndpoint::V6(at.try_into().ok()?),
        _ => return None,
    };
    let port = NonZeroU16::new(u16::from_be_bytes(*port))?;
    let announce = Announce {
        uploaded: u64::from_be_bytes(*uploaded),
        downloaded: u64::from_be_bytes(*downloaded),
        left: u64::from_be_bytes(*left),
        key: NonZeroU32::new(u32::from_be_bytes(*key)),
        event: match event {
            0 => Event::None,
            1 => Event::Completed,
            2 => Event::Started,
            3 => Event::Stopped,
            4 => Event::Paused,
            _ => return None,
        },
        ..Announce::new(InfoHash(*hash), PeerId(*peer_id), port)
    };
    Some((announce, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_of_an_announce_is_read_back() {
        let port = NonZeroU16::new(6881).expect("not 0");
        let announce = Announce {
            uploaded: 1,
            downloaded: 2,
            left: 3,
            key: NonZeroU32::new(4),
            event: Event::Completed,
            ..Announce::new(InfoHash([5; 20]), PeerId([6; 20]), port)
        };
        for at in [PeerEndpoint::V4([7; 6]), PeerEndpoint::V6([8; 18])] {
            let kept = write(&announce, &at);
            assert!(kept.len() <= weir_engine::KEPT_BYTES);
            assert_eq!(read(&kept), Some((announce, at)));
            assert_eq!(read(&kept[1..]), None);
            assert_eq!(read(&kept[..kept.len() - 1]), None);
        }
    }
}
