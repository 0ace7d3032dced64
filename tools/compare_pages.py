#!/usr/bin/env python3
"""Compares the pages of two programs, such as before and after a change of the pages' code that should change no page.

    tools/with_postgres.py tools/compare_pages.py BEFORE AFTER

BEFORE and AFTER are Keepsake programs. Both serve the same database, with the memories of `make demo`; every page that
a link leads to is read from both, as the demo's user, as an admin and by a stranger, and compared byte by byte. What
differs each time is left out: the nonce, and the marks that islands and empty places have in the document. Prints
each page that differs and exits with 1, and how long half of the requests took at most, of both in turn.
"""

import difflib
import http.cookiejar
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from common import REPO, say
from server import PASSWORD, started

DEMO, ADMIN = "demo@keepsake.local", "anna@example.com"
# Where no link leads.
MORE = ["/login", "/login?next=/used", "/docs", "/no-such-page", "/memory/0", "/memory/x", "/entities/0", "/documents/0", "/sessions/0",
        "/graph?around=0", "/invitation/x", "/reset/x", "/team/x", "/erased/x", "/oauth/authorize", "/memory?as_of=2026-03-03", "/memory?as_of=x",
        "/memory?q=coffee+or+tea&status=all", "/memory?q=%3Cb%3E%26", "/timeline?day=x", "/data/about?words=coffee", "/data?hold=1", "/agents?connect=1"]
PAGES_MAX = 250  # a user
SITE = {"KEEPSAKE_SITE_DIR": str(REPO / "target/site")}
# Pages of one kind that are read; the others differ in their rows alone.
OF_A_KIND_MAX = 6


class Visitor:
    """A browser without scripts, on one server."""

    def __init__(self, url):
        self.url = url
        self.took = []
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))

    def sign_in(self, email, password):
        form = urllib.parse.urlencode({"email": email, "password": password}).encode()
        request = urllib.request.Request(f"{self.url}/login", form, {"Origin": self.url})
        with self.opener.open(request) as answer:
            assert answer.url.endswith("/memory"), f"{email} cannot sign in: {answer.url}"

    def read(self, address):
        begun = time.perf_counter()
        try:
            return self._read(address)
        finally:
            self.took.append(time.perf_counter() - begun)

    def _read(self, address):
        try:
            with self.opener.open(self.url + address) as answer:
                return answer.status, told(answer, self.url)
        except urllib.error.HTTPError as answer:
            return answer.code, told(answer, self.url)


def told(answer, url):
    """The page without what differs each time."""
    page = answer.read().decode("utf-8", "replace").replace(url, "URL")
    page = re.sub(r'(?:nonce|crossorigin)="[^"]*"|nonce-[\w+/=-]+', "NONCE", page)
    page = re.sub(r"<!--.*?-->|<!>", "", page)
    return f"{urllib.parse.urlsplit(answer.url)._replace(scheme='', netloc='').geturl()}\n{page}"


def links(page):
    found = re.findall(r'href="(/[^"#]*)', page)
    return [link.replace("&amp;", "&") for link in found if not re.match(r"/(pkg|fonts|favicon|connect\.py|data/export|.*/raw|.*\.json)", link)]


def kind(address):
    """Pages with the same kind differ in their rows alone."""
    path, _, query = address.partition("?")
    names = [pair.split("=")[0] for pair in query.split("&") if pair]
    return re.sub(r"\d+", "N", path), tuple(sorted(set(names)))


def compare(before, after, who):
    due, seen, of_kind, different = [*MORE, "/memory", "/admin"], set(), {}, 0
    while due and len(seen) < PAGES_MAX:
        address = due.pop(0)
        if address in seen or of_kind.get(kind(address), 0) >= OF_A_KIND_MAX and address not in MORE:
            continue
        seen.add(address)
        of_kind[kind(address)] = of_kind.get(kind(address), 0) + 1
        for _ in range(3):  # a page tells how long ago something was
            old, new = before.read(address), after.read(address)
            if old == new:
                break
        else:
            different += 1
            print(f"\n== {who}: {address}: {old[0]} and {new[0]}")
            split = [re.sub(r"(<[a-z/])", r"\n\1", page[1]).split("\n") for page in (old, new)]
            print("\n".join(list(difflib.unified_diff(*split, lineterm="", n=1))[:40]))
        due += [link for link in links(old[1]) if link not in seen]
    half = [statistics.median(visitor.took) * 1e3 for visitor in (before, after)]
    say(f"{who}: {len(seen)} pages read, {different} differ; p50 {half[0]:.1f} and {half[1]:.1f} ms, {half[1] / half[0]:.2f}")
    return different


def data(home, name):
    """A data folder with the builtin model."""
    os.makedirs(f"{home}/{name}")
    os.symlink(REPO / "data/runtime", f"{home}/{name}/runtime")
    return f"{home}/{name}"


def main():
    binaries = [os.path.abspath(path) for path in sys.argv[1:3]]
    if len(binaries) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as home:
        os.environ["KEEPSAKE_BIN"] = binaries[0]
        with started(data(home, "before"), **SITE) as before:
            before.run("user", "create", "--email", ADMIN, "--admin", "--password-stdin", input=f"{PASSWORD}\n")
            filled = subprocess.run([sys.executable, str(REPO / "tools/demo.py")], env={**before.variables, "KEEPSAKE_BIN": binaries[0]}, text=True, stdout=subprocess.PIPE, check=True)
            password = re.search(r"password:? +(\S+)", filled.stdout).group(1)
            os.environ["KEEPSAKE_BIN"] = binaries[1]
            with started(data(home, "after"), **SITE) as after:
                different = 0
                for who, email, word in (("a stranger", None, None), ("the demo", DEMO, password), ("an admin", ADMIN, PASSWORD)):
                    visitors = [Visitor(before.url), Visitor(after.url)]
                    for visitor in visitors if email else ():
                        visitor.sign_in(email, word)
                    different += compare(*visitors, who)
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
