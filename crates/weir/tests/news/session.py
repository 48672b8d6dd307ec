"""Reads and posts through Python's nntplib, and prints as JSON what it was told.

Arguments: host, port, newsgroup, Message-ID of an article, name, password; without a name it does not sign in and does not post.
"""

import datetime
import io
import json
import sys
import warnings

warnings.simplefilter("ignore")
import nntplib  # noqa: E402

host, port, group, known = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
user, password = (sys.argv[5:7] + [None, None])[:2]


def refused(call, *arguments):
    """What a call is refused with."""
    try:
        return repr(call(*arguments))
    except nntplib.NNTPError as error:
        return str(error).split()[0]


told = {}
with nntplib.NNTP(host, port, timeout=40, readermode=True) as server:
    told["welcome"] = server.getwelcome()[:3]
    told["capabilities"] = sorted(server.getcapabilities())
    told["early"] = [
        refused(server.stat),
        refused(server.next),
        refused(server.over, (1, 2)),
        refused(server.group, "no.such.newsgroup"),
    ]
    if user:
        server.login(user, password, usenetrc=False)
    _, groups = server.list()
    told["active"] = sorted([row.group, int(row.last), int(row.first), row.flag] for row in groups)
    _, some = server.list(group)
    told["pattern"] = [row.group for row in some]
    told["descriptions"] = sorted(server.descriptions("*")[1].items())
    told["description"] = server.description(group)
    told["newgroups"] = len(server.newgroups(datetime.date(2001, 1, 1))[1])
    response, count, first, last, name = server.group(group)
    told["group"] = [count, first, last, name]
    _, overviews = server.over((first, last))
    told["over"] = [[number, fields["subject"], fields["message-id"], fields["references"]] for number, fields in overviews]
    told["over_open"] = [number for number, _ in server.over((last - 1, None))[1]]
    told["over_none"] = refused(server.over, (last + 10, last + 20))
    told["xover"] = [number for number, _ in server.xover(first, last)[1]]
    told["subjects"] = [list(row) for row in server.xhdr("subject", f"{first}-{last}")[1]]
    told["by_id"] = server.xhdr("subject", known)[1][0][1]
    _, article = server.article(known)
    told["article"] = [article.message_id, [line.decode("utf-8", "replace") for line in article.lines]]
    _, head = server.head(first)
    told["head"] = sorted(line.decode("utf-8", "replace").split(":")[0].lower() for line in head.lines)
    _, body = server.body(first)
    told["body"] = [line.decode("utf-8", "replace") for line in body.lines]
    told["stat"] = list(server.stat(first)[1:])
    walk = []
    try:
        while True:
            walk.append(list(server.next()[1:]))
    except nntplib.NNTPError as error:
        told["end"] = str(error)[:3]
    told["walk"] = walk
    told["last"] = list(server.last()[1:])
    told["missing"] = [refused(server.article, "<nobody@example.invalid>"), refused(server.stat, last + 5)]
    told["date"] = abs((server.date()[1] - datetime.datetime.utcnow()).total_seconds()) < 120
    told["help"] = server.help()[0][:3]
    if user:
        lines = [
            f"From: A Poster <poster@example.test>",
            f"Newsgroups: {group}",
            "Subject: Posted with nntplib",
            "",
            "The first line.",
            ". a line with a dot before it",
            "..",
            "",
        ]
        told["post"] = server.post(io.BytesIO("\r\n".join(lines).encode()))[:3]
    told["bad_post"] = refused(server.post, io.BytesIO(b"Subject: No newsgroups\r\n\r\nNothing.\r\n"))

print(json.dumps(told))
