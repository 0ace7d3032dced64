#!/usr/bin/env python3
"""Keepsake under a path of its host, behind real proxies: nginx and Caddy, each with the block of docs/install.md as it
stands there and as it says there how the path is removed or passed on. Programs and pages are used as at the root of a
host: by the clients and specs of end2end/, which are told the address alone.

    tools/with_postgres.py python3 end2end/subpath/run.py [--proxy NAME] [--all]

With --all the browser walks all specs behind each proxy, not those of WALKS. What Debian does not have is passed over, loudly.
"""
import argparse
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
REPO = HERE.parent.parent
sys.path.insert(0, str(REPO / "tools"))

import node_packages  # noqa: E402
from common import apt_install, can_apt, fail, say  # noqa: E402
from server import commands, wait_until_ready  # noqa: E402
from with_postgres import free_port, run, stop_on_signals  # noqa: E402

PATH = "/keepsake"
WALKS = ["journey.spec.mjs", "oauth.spec.mjs", "islands.spec.mjs"]
PROGRAMS = [["node", "end2end/subpath/first.mjs"], ["python3", "end2end/mcp/run.py"], ["python3", "end2end/connect/run.py"]]
START_TIMEOUT_SECONDS = 30


def block(language):
    """The example of the document, for this proxy."""
    [found] = re.findall(rf"```{language}\n(.*?)```", (REPO / "docs/install.md").read_text(), re.S)
    return found


def nginx(home, port, upstream, is_removed):
    locations = block("nginx")
    if is_removed:
        locations = locations.replace("proxy_pass http://127.0.0.1:3000;", "proxy_pass http://127.0.0.1:3000/;", 1)
    (home / "nginx.conf").write_text(f"""daemon off; pid {home}/pid; error_log stderr crit; events {{}}
http {{
    access_log off; client_body_temp_path {home}/a; proxy_temp_path {home}/b; fastcgi_temp_path {home}/c; uwsgi_temp_path {home}/d; scgi_temp_path {home}/e;
    server {{ listen 127.0.0.1:{port}; location = / {{ return 200 "another program"; }}
{locations.replace(":3000", f":{upstream}")} }}
}}""")
    return ["nginx", "-p", home, "-e", "stderr", "-c", home / "nginx.conf"]


def caddy(home, port, upstream, is_removed):
    site = block("caddy").replace("example.com {", f"http://127.0.0.1:{port} {{\nbind 127.0.0.1\nrespond / \"another program\"\n", 1)
    if is_removed:
        site = site.replace("handle /keepsake/*", "handle_path /keepsake/*", 1)
    (home / "Caddyfile").write_text(f"{{\nadmin off\nauto_https off\nlog {{\nlevel ERROR\n}}\n}}\n{site.replace(':3000', f':{upstream}')}")
    return ["caddy", "run", "--adapter", "caddyfile", "--config", home / "Caddyfile"]


PROXIES = {"nginx": (nginx, "nginx-light"), "caddy": (caddy, "caddy")}


def is_here(name, package):
    os.environ["PATH"] += os.pathsep + "/usr/sbin"
    return shutil.which(name) or (can_apt() and apt_install(package) and shutil.which(name))


@contextlib.contextmanager
def behind(proxy, is_removed):
    """A server whose public address is the proxy's. Yields what tools/server.py tells tests."""
    port, upstream = free_port(), free_port()
    url = f"http://127.0.0.1:{port}{PATH}"
    with tempfile.TemporaryDirectory(prefix="keepsake-subpath-") as home, own_database() as database, contextlib.ExitStack() as stack:
        os.chmod(home, 0o755)  # nginx works as nobody
        home = Path(home)
        (home / "data").mkdir()
        (home / "data/runtime").symlink_to(REPO / "data/runtime")
        of_server = {"KEEPSAKE_PUBLIC_URL": url, "KEEPSAKE_TRUSTED_PROXIES": "127.0.0.1", "KEEPSAKE_SITE_DIR": str(REPO / "target/site"),
                     "KEEPSAKE_BACKUP_DIR": str(home / "backups"), "KEEPSAKE_STOP_GRACE_SECONDS": "0", "KEEPSAKE_DATABASE_URL": database}
        server = commands(f"http://127.0.0.1:{upstream}", str(home / "data"), **of_server)
        running = started(stack, [server.binary, "serve"], server.variables)
        wait_until_ready(running, server.url)
        started(stack, proxy(home, port, upstream, is_removed), {**server.env, "HOME": str(home)})
        wait_for(url)
        yield {**os.environ, "KEEPSAKE_TEST_URL": url, "KEEPSAKE_TEST_DATA_DIR": str(home / "data"), "KEEPSAKE_TEST_DATABASE_URL": database}


def started(stack, command, env):
    process = subprocess.Popen(command, env=env)
    stack.callback(process.wait)
    stack.callback(process.terminate)
    return process


@contextlib.contextmanager
def own_database():
    server, name = os.environ["KEEPSAKE_TEST_DATABASE_URL"], f"subpath_{os.getpid()}"
    psql = [os.environ.get("KEEPSAKE_TEST_PSQL", "psql"), server, "-qc"]
    subprocess.run([*psql, f"CREATE DATABASE {name}"], check=True)
    try:
        yield f"{server.rsplit('/', 1)[0]}/{name}"
    finally:
        subprocess.run([*psql, f"DROP DATABASE {name} WITH (FORCE)"], check=True)


def wait_for(url):
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{url}/readyz", timeout=2)
            return
        time.sleep(0.1)
    fail("the proxy does not lead to the server")


def check_root(url):
    """The path without a slash leads to the pages; the root of the host is another's, but for what OAuth asks there."""
    host = url.removesuffix(PATH)
    for address, is_found in [(url, True), (f"{url}/", True), (f"{host}/.well-known/oauth-authorization-server{PATH}", True),
                              (f"{host}/.well-known/oauth-protected-resource{PATH}/mcp", True), (f"{host}/memory", False), (f"{host}{PATH}s", False)]:
        try:
            answer = urllib.request.urlopen(address)
            words = answer.read().decode()
        except urllib.error.HTTPError as error:
            answer, words = error, error.read().decode()
        # Caddy answers 200 without a word where it has nothing.
        if (answer.status == 200 and bool(words)) != is_found:
            fail(f"{address} answers {answer.status}: {words[:200]}")
        if is_found and "well-known" not in address and not answer.url.startswith(f"{url}/login"):
            fail(f"{address} leads to {answer.url}")
        if is_found and "well-known" in address and url not in words:
            fail(f"{address} does not name {url}: {words}")


def main():
    stop_on_signals()
    arguments = argparse.ArgumentParser(description="Keepsake under a path, behind real proxies.")
    arguments.add_argument("--proxy", choices=PROXIES)
    arguments.add_argument("--all", action="store_true")
    given = arguments.parse_args()
    node_packages.install(HERE.parent)
    if subprocess.run([sys.executable, REPO / "tools/wasm.py"]).returncode:
        fail("the islands cannot be made")
    for name in [given.proxy] if given.proxy else PROXIES:
        proxy, package = PROXIES[name]
        if not is_here(name, package):
            print(f"!! SKIPPED BEHIND {name}: run `apt-get install {package}` as root (or what your system has for it), then again.")
            continue
        for is_removed in (False, True):
            what = f"{name}, which {'removes the path' if is_removed else 'passes the path on'}"
            with behind(proxy, is_removed) as env:
                check_root(env["KEEPSAKE_TEST_URL"])
                specs = [] if given.all else WALKS
                for command in [*PROGRAMS, ["node", "end2end/run.mjs", *specs]]:
                    if run(command, env):
                        fail(f"behind {what}: {' '.join(command)}")
            say(f"{what}: all works")


if __name__ == "__main__":
    main()
