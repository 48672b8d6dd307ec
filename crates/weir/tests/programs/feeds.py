"""Reads feeds as a stranger does: python3 feeds.py URL… prints one JSON object per feed."""

import json
import sys

import feedparser

for url in sys.argv[1:]:
    feed = feedparser.parse(url)
    print(
        json.dumps(
            {
                "status": feed.get("status"),
                "broken": str(feed.bozo_exception) if feed.bozo else None,
                "title": feed.feed.get("title"),
                "entries": [
                    {
                        "title": entry.get("title"),
                        "id": entry.get("id"),
                        "link": entry.get("link"),
                        "date": entry.get("published_parsed") is not None,
                        "categories": [tag.term for tag in entry.get("tags", [])],
                        "enclosures": [
                            {"href": part.href, "type": part.type, "length": part.length}
                            for part in entry.get("enclosures", [])
                        ],
                    }
                    for entry in feed.entries
                ],
            }
        ),
        flush=True,
    )
