"""What the tools share: how they speak, how they fail, how they ask Debian for a package."""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
# As `cargo clippy -- -D warnings` tells its driver (CLIPPY_ARGS).
LINTS_AS_ERRORS = "-Dwarnings__CLIPPY_HACKERY__"
# Cargo's.
TARGET = Path(os.environ.get("CARGO_TARGET_DIR") or REPO / "target").absolute()
# The server's, where it looks for what is fetched; relative to the folder in which it is started.
DATA_DIR = Path(os.environ.get("KEEPSAKE_DATA_DIR") or REPO / "data").absolute()


def program(profile):
    """The server's program: the one that KEEPSAKE_BIN names (below the checkout), or cargo's of this profile."""
    return REPO / (os.environ.get("KEEPSAKE_BIN") or TARGET / profile / "keepsake")


def say(text):
    print(f"· {text}", file=sys.stderr, flush=True)


def fail(text):
    sys.exit(f"✗ {text}")


def is_root():
    return os.geteuid() == 0


def can_apt():
    """Whether this is Debian (or a child of it) and we may install packages."""
    return is_root() and shutil.which("apt-get") is not None


def apt_install(*packages):
    """Installs Debian packages as root; says whether that worked."""
    say(f"installing Debian's {' '.join(packages)} …")
    quiet = {"stdout": subprocess.DEVNULL, "stdin": subprocess.DEVNULL}
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], env=env, **quiet)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    return subprocess.run(install, env=env, **quiet).returncode == 0


def replace_dir(new, old):
    """Puts folder `new` where `old` is, whole or not at all."""
    new, old = Path(new), Path(old)
    aside = old.with_name(f".{old.name}.old-{os.getpid()}")
    if old.exists():
        old.rename(aside)
    new.rename(old)
    shutil.rmtree(aside, ignore_errors=True)


def download_wheel(requirement, digests, folder, platform=()):
    """Fetches one wheel with pip, pinned by its SHA-256 (one a platform), for this machine or for `platform`, a
    platform's tag and a version of Python. Returns its path and None, or None and why not."""
    python = python_with_pip()
    if python is None:
        return None, "python3 has no pip: run `apt-get install python3-pip` as root (or what your system has for it), then again"
    requirements = Path(folder) / "requirements.txt"
    hashes = " ".join(f"--hash=sha256:{digest}" for digest in digests)
    requirements.write_text(f"{requirement} {hashes}\n")
    before = set(Path(folder).glob("*.whl"))
    command = [python, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--require-hashes"]
    if platform:
        command += ["--platform", platform[0], "--python-version", platform[1]]
    command += ["-r", str(requirements), "-d", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    wheels = set(Path(folder).glob("*.whl")) - before
    if done.returncode or not wheels:
        return None, f"pip could not fetch {requirement}: {done.stderr.strip()}"
    return wheels.pop(), None


def python_with_pip():
    for python in (sys.executable, "/usr/bin/python3"):
        if has_pip(python):
            return python
    if can_apt() and apt_install("python3-pip") and has_pip("/usr/bin/python3"):
        return "/usr/bin/python3"
    return None


def has_pip(python):
    try:
        return subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0
    except OSError:
        return False


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
