"""all-MiniLM-L6-v2 in numpy, for benchmarks that need real vectors without a server:
mean pooling, length 1, 256 tokens. Needs its files (`tools/fetch_model.py --english`), numpy, tokenizers and safetensors."""
import hashlib
import os
from math import sqrt
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

MODEL = Path(__file__).resolve().parent.parent / "data/runtime/model-all-minilm-l6-v2"


class MiniLM:
    def __init__(self, folder):
        """`folder` holds model.safetensors and tokenizer.json."""
        self.weights = {name.removeprefix("bert."): w for name, w in load_file(f"{folder}/model.safetensors").items()}
        self.tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.enable_truncation(256)
        self.tokenizer.no_padding()

    def embed(self, texts, batch_size=16):
        ids = [encoded.ids for encoded in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
        vectors = np.zeros((len(ids), 384), np.float32)
        for start in range(0, len(order), batch_size):
            batch = order[start:start + batch_size]
            vectors[batch] = self._batch([ids[i] for i in batch])
        return vectors

    def _linear(self, x, name):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        scaled = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return scaled * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def _batch(self, rows):
        count, width = len(rows), max(map(len, rows))
        ids, mask = np.zeros((count, width), int), np.zeros((count, width), np.float32)
        for i, row in enumerate(rows):
            ids[i, :len(row)], mask[i, :len(row)] = row, 1
        words, positions, types = (self.weights[f"embeddings.{kind}_embeddings.weight"]
                                   for kind in ("word", "position", "token_type"))
        hidden = self._norm(words[ids] + positions[:width] + types[0], "embeddings.LayerNorm")
        blocked = ((1 - mask) * -1e9)[:, None, None, :]
        for n in range(6):
            layer = f"encoder.layer.{n}"
            heads = [self._linear(hidden, f"{layer}.attention.self.{part}").reshape(count, width, 12, 32).transpose(0, 2, 1, 3)
                     for part in ("query", "key", "value")]
            weight = heads[0] @ heads[1].transpose(0, 1, 3, 2) / np.float32(sqrt(32)) + blocked
            weight = np.exp(weight - weight.max(-1, keepdims=True))
            weight /= weight.sum(-1, keepdims=True)
            mixed = (weight @ heads[2]).transpose(0, 2, 1, 3).reshape(count, width, 384)
            hidden = self._norm(hidden + self._linear(mixed, f"{layer}.attention.output.dense"), f"{layer}.attention.output.LayerNorm")
            wide = gelu(self._linear(hidden, f"{layer}.intermediate.dense"))
            hidden = self._norm(hidden + self._linear(wide, f"{layer}.output.dense"), f"{layer}.output.LayerNorm")
        pooled = (hidden * mask[:, :, None]).sum(1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def cached(model, texts):
    """Embedding takes two minutes: once a set of texts."""
    name = hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"keepsake-minilm-{name}.npy"
    if not path.is_file():
        np.save(path, model.embed(texts))
    return np.load(path)


def gelu(x):
    z = np.abs(x) / np.float32(sqrt(2))
    t = 1 / (1 + 0.3275911 * z)  # erf by Abramowitz and Stegun 7.1.26, to 1.5e-7
    erf = 1 - (((((1.061405429 * t - 1.453152027) * t) + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t * np.exp(-z * z)
    return (x * 0.5 * (1 + np.sign(x) * erf)).astype(np.float32)
