"""One torrent in one session of libtorrent: python3 libtorrent.py TORRENT DIRECTORY ADDRESS:PORT…"""

import signal
import sys
import time

import libtorrent

torrent, directory, *addresses = sys.argv[1:]
session = libtorrent.session(
    {
        "listen_interfaces": ",".join(addresses),
        "alert_mask": libtorrent.alert.category_t.tracker_notification
        | libtorrent.alert.category_t.status_notification
        | libtorrent.alert.category_t.connect_notification,
        "enable_dht": False,
        "enable_lsd": False,
        "enable_upnp": False,
        "enable_natpmp": False,
        "enable_incoming_utp": False,
        "enable_outgoing_utp": False,
    }
)
handle = session.add_torrent(
    {
        "ti": libtorrent.torrent_info(torrent),
        "save_path": directory,
        # Not the default, which is paused until the session's next look at its queue: that may be half a minute away.
        "flags": libtorrent.torrent_flags.update_subscribe,
    }
)
ending = []
signal.signal(signal.SIGTERM, lambda *_: ending.append(True))
deadline = None
while deadline is None or time.monotonic() < deadline:
    session.wait_for_alert(100)
    for alert in session.pop_alerts():
        print(alert, flush=True)
    if ending and deadline is None:
        # Tells the tracker, which takes a moment.
        session.pause()
        deadline = time.monotonic() + 3
