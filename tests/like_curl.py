"""In the place of curl, where a machine has none: as much of it as the pages of docs/ use."""

from __future__ import annotations

import argparse
import sys
import time
import urllib.error
import urllib.request

PASSING = (408, 429, 500, 502, 503, 504)
"""Answers after which curl tries again."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("url")
    parser.add_argument("-s", action="store_true")
    parser.add_argument("-H", action="append", default=[], dest="headers")
    parser.add_argument("-d", dest="data")
    parser.add_argument("--retry", type=int, default=0)
    parser.add_argument("--retry-delay", type=float, default=1.0)
    parser.add_argument("--retry-connrefused", action="store_true")
    asked = parser.parse_args()
    headers = dict(line.split(": ", 1) for line in asked.headers)
    data = None if asked.data is None else asked.data.encode()
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for left in range(asked.retry, -1, -1):
        try:
            with direct.open(urllib.request.Request(asked.url, data, headers), timeout=60) as answer:
                body = answer.read()
        except urllib.error.HTTPError as error:
            body = error.read()
            if left and error.code in PASSING:
                time.sleep(asked.retry_delay)
                continue
        except urllib.error.URLError as error:
            if left and asked.retry_connrefused and isinstance(error.reason, ConnectionRefusedError):
                time.sleep(asked.retry_delay)
                continue
            return 7
        sys.stdout.buffer.write(body)
        return 0
    return 7


if __name__ == "__main__":
    sys.exit(main())
