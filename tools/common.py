"""What the tools share: how they speak, how they fail, how they ask Debian for a package."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent


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
