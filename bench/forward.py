#!/usr/bin/env python3
"""The builtin model beside onnxruntime, with the same weights, in one run: milliseconds of a pass by tokens and threads.

    pip install onnx onnxruntime numpy safetensors && python3 bench/forward.py
"""

import subprocess
import time
from pathlib import Path

import numpy as np
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

REPO = Path(__file__).resolve().parent.parent
FOLDER = REPO / "data/runtime/model-all-minilm-l6-v2"
PASSES = 40
ROUNDS = 3


class Graph:
    """A BERT encoder of the file's weights, as an ONNX graph."""

    def __init__(self, weights):
        self.weights = weights
        self.constants, self.nodes = [], []

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind, *inputs, **attributes):
        name = f"n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], **attributes))
        return name

    def linear(self, x, name):
        product = self.node("MatMul", x, self.constant(self.weights[f"{name}.weight"].T))
        return self.node("Add", product, self.constant(self.weights[f"{name}.bias"]))

    def norm(self, x, name):
        scale, shift = (self.constant(self.weights[f"{name}.{part}"]) for part in ("weight", "bias"))
        return self.node("LayerNormalization", x, scale, shift, epsilon=1e-12, axis=-1)

    def layer(self, x, name):
        shape = self.constant(np.array([0, 0, 12, 32], np.int64))

        def heads(part, order):
            return self.node("Transpose", self.node("Reshape", self.linear(x, f"{name}.attention.self.{part}"), shape), perm=order)

        scores = self.node("MatMul", heads("query", [0, 2, 1, 3]), heads("key", [0, 2, 3, 1]))
        scores = self.node("Mul", scores, self.constant(np.array(32**-0.5, np.float32)))
        taken = self.node("MatMul", self.node("Softmax", scores, axis=-1), heads("value", [0, 2, 1, 3]))
        taken = self.node("Transpose", taken, perm=[0, 2, 1, 3])
        taken = self.node("Reshape", taken, self.constant(np.array([0, 0, 384], np.int64)))
        taken = self.node("Add", self.linear(taken, f"{name}.attention.output.dense"), x)
        taken = self.norm(taken, f"{name}.attention.output.LayerNorm")
        wide = self.linear(taken, f"{name}.intermediate.dense")
        erf = self.node("Erf", self.node("Mul", wide, self.constant(np.array(0.5**0.5, np.float32))))
        erf = self.node("Add", erf, self.constant(np.array(1, np.float32)))
        wide = self.node("Mul", self.node("Mul", wide, erf), self.constant(np.array(0.5, np.float32)))
        return self.norm(self.node("Add", self.linear(wide, f"{name}.output.dense"), taken), f"{name}.output.LayerNorm")

    def whole(self):
        words = self.constant(self.weights["embeddings.word_embeddings.weight"])
        of_all = self.weights["embeddings.token_type_embeddings.weight"][0]
        places = self.constant(self.weights["embeddings.position_embeddings.weight"] + of_all)
        x = self.node("Add", self.node("Gather", words, "tokens"), self.node("Gather", places, "places"))
        x = self.norm(x, "embeddings.LayerNorm")
        for n in range(6):
            x = self.layer(x, f"encoder.layer.{n}")
        inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, [1, "n"]) for name in ("tokens", "places")]
        outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, [1, "n", 384])]
        graph = helper.make_graph(self.nodes, "minilm", inputs, outputs, self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
        model.ir_version = 9
        return model.SerializeToString()


def onnx(graph):
    told = {}
    for threads in (1, 2):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        for tokens in (8, 16, 64, 256):
            inputs = {"tokens": (2_000 + 7 * np.arange(tokens))[None], "places": np.arange(tokens)[None]}
            times = []
            for _ in range(PASSES):
                begun = time.perf_counter()
                session.run(None, inputs)
                times.append((time.perf_counter() - begun) * 1e3)
            times.sort()
            told[threads, tokens] = (times[0], times[PASSES // 2])
    return told


def ours(binary):
    lines = subprocess.run([binary, FOLDER], capture_output=True, text=True, check=True).stdout.splitlines()
    rows = (line.split() for line in lines)
    return {(int(threads), int(tokens)): (float(least), float(middle)) for threads, tokens, least, middle in rows}


def main():
    command = ["cargo", "build", "--quiet", "--release", "-p", "encoder", "--example", "forward"]
    subprocess.run(command, cwd=REPO, check=True)
    graph = Graph(load_file(FOLDER / "model.safetensors")).whole()
    rounds = [(ours(REPO / "target/release/examples/forward"), onnx(graph)) for _ in range(ROUNDS)]
    print("| threads | tokens | Keepsake: fastest, median | onnxruntime | fastest by fastest |\n|---|---|---|---|---|")
    for key in rounds[0][0]:
        one, other = ([min(of[side][key][n] for of in rounds) for n in (0, 1)] for side in (0, 1))
        print(f"| {key[0]} | {key[1]} | {one[0]:.1f}, {one[1]:.1f} ms | {other[0]:.1f}, {other[1]:.1f} ms | {one[0] / other[0]:.2f} |")


if __name__ == "__main__":
    main()
