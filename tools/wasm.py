#!/usr/bin/env python3
"""Makes what the browser gets: `target/site/`, with the stylesheet, the public
files and the islands as wasm (`pkg/keepsake.{css,js,wasm}`, each with its .gz).

    tools/wasm.py [--lint]        with clippy's lints as errors, in the same compile

Where wasm cannot be had, it says so, says what would help, and leaves the
pages to work as plain HTML.
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import dependencies
from common import LINTS_AS_ERRORS, REPO, apt_install, can_apt, fail, replace_dir, say

TARGET = "wasm32-unknown-unknown"
SITE = REPO / "target/site"
BINDGEN = REPO / "tools/wasm-bindgen"
PKG = SITE / "pkg"
STAMP = REPO / "target/site.stamp"
WASM_INPUTS = ("app", "Cargo.lock", "Cargo.toml", "tools/wasm.py", "tools/wasm-bindgen")
BUILD = ["build", "-p", "app", "--lib", "--profile", "wasm", "--target", TARGET, "--target-dir", "target/wasm"]
BUILD += ["--no-default-features", "--features", "hydrate"]
DEBIAN_PACKAGES = ("rustc-web", "cargo-web", "rust-web-src", "libstd-rust-web-dev", "rust-web-clippy", "lld-22")
DEBIAN_STD_SOURCE = Path("/usr/lib/rustlib/src/rust/library/std")
RUSTUP_FAILED = REPO / ".local/rustup-failed"
RUSTUP_TIMEOUT_SECONDS = 60
RUSTUP_AGAIN_AFTER_SECONDS = 3600


class NoWasm(Exception):
    """Wasm cannot be had here; the text says what would help."""


def main(lint):
    PKG.mkdir(parents=True, exist_ok=True)
    inputs = fingerprint()
    made = STAMP.read_text() if STAMP.is_file() and (PKG / "keepsake.wasm").is_file() else ""
    if made not in (f"{inputs} linted", inputs)[: 1 if lint else 2]:
        STAMP.unlink(missing_ok=True)
        try:
            islands(lint)
            STAMP.write_text(f"{inputs} linted" if lint else inputs)
        except NoWasm as reason:
            shutil.rmtree(PKG)
            PKG.mkdir()
            if lint:
                lint_for_this_machine()
            say(f"islands: left out; the pages work as plain HTML without them. {reason}")
    stylesheet_and_public_files()


def fingerprint():
    """A hash over everything that the islands are made of."""
    digest = hashlib.sha256()
    for name in WASM_INPUTS:
        root = REPO / name
        for path in sorted(p for p in (root.rglob("*") if root.is_dir() else [root]) if p.is_file()):
            digest.update(f"{path.relative_to(REPO)}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()


def islands(lint):
    cargo, env = toolchain()
    program = bindgen()
    say("islands: compiling to wasm (about 2 minutes the first time) …")
    rustc = env.get("RUSTC", "rustc")
    env = {**os.environ, **env}
    if lint:
        env["RUSTC_WORKSPACE_WRAPPER"] = "/usr/bin/clippy-driver" if "RUSTC_BOOTSTRAP" in env else "clippy-driver"
        env["CLIPPY_ARGS"] = LINTS_AS_ERRORS
    build, target = [*cargo, *BUILD], REPO / "target/wasm"
    dependencies.seed("wasm", target, rustc=rustc)
    if subprocess.run(build, cwd=REPO, env=env).returncode:
        fail("the islands do not compile: see cargo's words above.")
    dependencies.keep("wasm", target, build, env, rustc=rustc)
    with tempfile.TemporaryDirectory(prefix=".pkg-", dir=SITE) as staging:
        fresh = Path(staging) / "pkg"
        module = REPO / "target/wasm" / TARGET / "wasm/app.wasm"
        if subprocess.run([program, module, fresh]).returncode:
            fail("wasm-bindgen failed: see its words above.")
        # Leptos asks for keepsake.wasm, wasm-bindgen writes keepsake_bg.wasm.
        (fresh / "keepsake_bg.wasm").rename(fresh / "keepsake.wasm")
        script = fresh / "keepsake.js"
        script.write_text(script.read_text().replace("keepsake_bg.wasm", "keepsake.wasm"))
        for path in (script, fresh / "keepsake.wasm"):
            put(path, path.read_bytes())
        replace_dir(fresh, PKG)
    size, zipped = ((PKG / f"keepsake.wasm{end}").stat().st_size // 1024 for end in ("", ".gz"))
    say(f"islands: {size} kB of wasm, {zipped} kB over the wire")


def lint_for_this_machine():
    """The islands' lints, where they cannot be built."""
    command = ["cargo", "clippy", "-p", "app", "--lib", "--no-default-features", "--features", "hydrate", "--", "-D", "warnings"]
    if subprocess.run(command, cwd=REPO).returncode:
        fail("the islands do not pass the lints: see cargo's words above.")


def stylesheet_and_public_files():
    stylesheet = REPO / "style/main.css"
    if stylesheet.is_file():
        put(PKG / "keepsake.css", stylesheet.read_bytes())
    public = REPO / "public"
    for path in public.rglob("*"):
        if path.is_file():
            copy = SITE / path.relative_to(public)
            copy.parent.mkdir(parents=True, exist_ok=True)
            put(copy, path.read_bytes(), zipped=path.suffix in (".svg", ".js", ".txt", ".webmanifest"))


def put(path, content, zipped=True):
    """Writes a file, and its .gz, unless it stands there already; never half."""
    gz = path.with_name(path.name + ".gz")
    if path.is_file() and path.read_bytes() == content and gz.is_file() == zipped:
        return
    gz.unlink(missing_ok=True)  # rather none than a stale one
    for name, data in [(path, content)] + ([(gz, gzip.compress(content, 9, mtime=0))] if zipped else []):
        half = name.with_name(f".{name.name}.half")
        half.write_bytes(data)
        half.rename(name)


def toolchain():
    """(cargo's command, its environment) of a Rust that can build for wasm."""
    if has_wasm_std():
        return ["cargo"], {}
    if debian_is_ready():
        return debian_toolchain()
    if rustup_adds_target() and has_wasm_std():
        return ["cargo"], {}
    if can_apt() and apt_install(*DEBIAN_PACKAGES) and debian_is_ready():
        return debian_toolchain()
    raise NoWasm(
        f"For the islands, run `rustup target add {TARGET}`"
        + (f", or as root `apt-get install {' '.join(DEBIAN_PACKAGES)}`" if shutil.which("apt-get") else "")
        + ", then this again."
    )


def has_wasm_std():
    """Whether the toolchain in use, rustup's or a distribution's, has its wasm std."""
    done = subprocess.run(["rustc", "--print", "target-libdir", "--target", TARGET], cwd=REPO, capture_output=True, text=True)
    return done.returncode == 0 and any(Path(done.stdout.strip()).glob("libstd-*.rlib"))


def rustup_adds_target():
    if not shutil.which("rustup"):
        return False
    if RUSTUP_FAILED.is_file() and time.time() - RUSTUP_FAILED.stat().st_mtime < RUSTUP_AGAIN_AFTER_SECONDS:
        return False  # it was out of reach a moment ago: do not make people wait again
    say(f"rustup: adding {TARGET} (waiting at most {RUSTUP_TIMEOUT_SECONDS} s) …")
    try:
        subprocess.run(
            ["rustup", "target", "add", TARGET], cwd=REPO, check=True, capture_output=True, timeout=RUSTUP_TIMEOUT_SECONDS
        )
        return True
    except (subprocess.SubprocessError, OSError):
        say("rustup: could not fetch it")
        RUSTUP_FAILED.parent.mkdir(exist_ok=True)
        RUSTUP_FAILED.touch()
        return False


def debian_is_ready():
    programs = all(os.access(f"/usr/bin/{name}", os.X_OK) for name in ("cargo", "clippy-driver"))
    return DEBIAN_STD_SOURCE.exists() and wasm_ld() is not None and programs


def debian_toolchain():
    """Debian ships std as source: cargo builds it with the islands, which its
    stable version does only when told that it may (RUSTC_BOOTSTRAP)."""
    say("islands: with Debian's rustc-web")
    env = {
        "RUSTC": "/usr/bin/rustc",
        "RUSTC_BOOTSTRAP": "1",
        "CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER": str(wasm_ld()),
    }
    return ["/usr/bin/cargo", "-Zbuild-std=std,panic_abort"], env


def wasm_ld():
    return max(Path("/usr/lib").glob("llvm-*/bin/wasm-ld"), default=None)


def bindgen():
    """Our own few lines around wasm-bindgen's library, with a lock file (tools/wasm-bindgen)."""
    needed, pinned = (wasm_bindgen_version(lock) for lock in (REPO / "Cargo.lock", BINDGEN / "Cargo.lock"))
    if needed != pinned:
        fail(f"Cargo.lock has wasm-bindgen {needed} and tools/wasm-bindgen has {pinned}: set that version in tools/wasm-bindgen/Cargo.toml, and run `cargo update` there.")
    target = REPO / "target/wasm-bindgen"
    program = target / "release/bindgen"
    if not program.is_file():
        say(f"wasm-bindgen {pinned}: compiling it (2 minutes, once) …")
    inputs = [BINDGEN / "Cargo.toml", BINDGEN / "Cargo.lock"]
    dependencies.seed("bindgen", target, inputs)
    command = ["cargo", "build", "--quiet", "--locked", "--release", "--manifest-path", BINDGEN / "Cargo.toml", "--target-dir", target]
    if subprocess.run(command, cwd=REPO).returncode:
        raise NoWasm("wasm-bindgen does not compile: see cargo's words above.")
    dependencies.keep("bindgen", target, command, os.environ, inputs)
    return program


def wasm_bindgen_version(lock):
    return re.search(r'name = "wasm-bindgen(?:-shared)?"\nversion = "(.+)"', lock.read_text()).group(1)


if __name__ == "__main__":
    main("--lint" in sys.argv[1:])
