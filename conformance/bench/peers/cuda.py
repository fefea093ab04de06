#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Float16 networks through Vulkan, beside PyTorch on the same GPU: convolutions (cuDNN), a block of a language model.

usage: cuda.py WEBNN FOLDER [NAME...]

WEBNN is the program, FOLDER gets graphs, weights and results. Both sides compute the same inputs, and results are
compared. Then they take turns of `webnn bench --tensors`, of which the GPU's own time is taken, and replays of a CUDA
graph that has the network several times, of which the time of one is taken; the least of each side is shown.
"""
import json
import os
import subprocess
import sys

import numpy
import torch
import torch.nn.functional as F

ROUNDS, REPLAYS = 4, 10

# Batch, size, channels in and out, filter, stride: the bottlenecks of ResNet-50, and two of a diffusion model.
CONVOLUTIONS = [(32, 56, 64, 64, 1, 1), (32, 56, 64, 64, 3, 1), (32, 56, 64, 256, 1, 1), (32, 56, 128, 128, 3, 2),
                (32, 28, 128, 128, 3, 1), (32, 28, 512, 128, 1, 1), (32, 28, 256, 256, 3, 2), (32, 14, 256, 256, 3, 1),
                (32, 14, 256, 1024, 1, 1), (32, 14, 512, 512, 3, 2), (32, 7, 512, 512, 3, 1), (32, 7, 512, 2048, 1, 1),
                (32, 224, 3, 64, 7, 2), (1, 64, 320, 320, 3, 1), (1, 32, 640, 640, 3, 1)]

# The sizes of Llama 3 with 8 billion weights; keys that there are when a token comes.
HIDDEN, HEADS, PAIRS, HEAD, INNER, CONTEXT = 4096, 32, 8, 128, 14336, 512
EPSILON = 1e-5


class Graph:
    """A .webnn file in the making, with the tensors of its inputs and constants."""

    def __init__(self, name):
        self.name, self.inputs, self.constants, self.scalars, self.lines = name, {}, {}, [], []
        self.random = torch.Generator().manual_seed(1)

    def normal(self, *shape, scale=1.0):
        return (torch.randn(*shape, generator=self.random) * scale).half()

    def input(self, name, tensor):
        self.inputs[name] = tensor
        return tensor.cuda()

    def constant(self, name, tensor):
        self.constants[name] = tensor
        return tensor.cuda()

    def write(self, folder):
        def declared(tensors):
            return " ".join(f"{name}: f16{list(tensor.shape)};" for name, tensor in tensors.items())

        path, header, at = os.path.join(folder, self.name), {}, 0
        for name, tensor in self.constants.items():
            header[name] = {"dtype": "F16", "shape": list(tensor.shape), "data_offsets": [at, at + 2 * tensor.numel()]}
            at += 2 * tensor.numel()
        text = json.dumps(header).encode()
        with open(path + ".safetensors", "wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor in self.constants.values():
                file.write(tensor.numpy().tobytes())
        with open(path + ".webnn", "w", encoding="utf-8") as file:
            file.write(f'webnn_graph "{self.name}" v1 {{\n  inputs {{ {declared(self.inputs)} }}\n'
                       f"  consts {{ {' '.join(self.scalars)} {declared(self.constants)} }}\n  nodes {{\n    "
                       + "\n    ".join(self.lines) + "\n  }\n  outputs { y; }\n}\n")
        for name, tensor in self.inputs.items():
            numpy.save(f"{path}.{name}.npy", tensor.numpy())
        return path


def convolution(batch, size, channels, to, kernel, stride):
    graph = Graph(f"conv_{batch}x{size}x{size}x{channels}_{to}_{kernel}x{kernel}_{stride}")
    x = graph.input("x", graph.normal(batch, size, size, channels))
    w = graph.constant("w", graph.normal(to, kernel, kernel, channels, scale=(kernel * kernel * channels) ** -0.5))
    b = graph.constant("b", graph.normal(to, scale=0.1))
    pad = kernel // 2
    graph.lines.append(f"y = conv2d(x, w, b, padding=[{pad}, {pad}, {pad}, {pad}], strides=[{stride}, {stride}], "
                       'inputLayout="nhwc", filterLayout="ohwi");')
    x, w = x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)
    return graph, lambda: F.conv2d(x, w, b, stride, pad).permute(0, 2, 3, 1)


def block(tokens):
    """Attention of grouped queries and SwiGLU, behind an RMSNorm each; one token sees CONTEXT keys, more each other."""
    graph = Graph(f"block_{tokens}")
    earlier = CONTEXT - 1 if tokens == 1 else 0
    keys = earlier + tokens

    def matrix(name, rows, columns):
        return graph.constant(name, graph.normal(rows, columns, scale=rows ** -0.5))

    x = graph.input("x", graph.normal(tokens, HIDDEN))
    cosines, sines = (graph.input(name, graph.normal(tokens, HEAD // 2)) for name in ("cosines", "sines"))
    norms = [graph.constant(name, 1 + graph.normal(HIDDEN, scale=0.1)) for name in ("norm_1", "norm_2")]
    wq, wk, wv = matrix("wq", HIDDEN, HIDDEN), matrix("wk", HIDDEN, PAIRS * HEAD), matrix("wv", HIDDEN, PAIRS * HEAD)
    wo, gate, up = matrix("wo", HIDDEN, HIDDEN), matrix("wg", HIDDEN, INNER), matrix("wu", HIDDEN, INNER)
    down = matrix("wd", INNER, HIDDEN)
    if earlier:
        old_k, old_v = (graph.input(name, graph.normal(PAIRS, earlier, HEAD)) for name in ("old_k", "old_v"))
    else:
        causal = torch.full((tokens, tokens), -30000.0).triu(1).half()
        graph.constant("causal", causal)

    put = graph.lines.append

    def put_norm(to, source, weight):
        put(f"{to}_f = cast({source}, f32); {to}_m = reduceMean(mul({to}_f, {to}_f), axes=[1], keepDimensions=true); "
            f"{to}_r = cast(div({to}_f, sqrt(add({to}_m, epsilon))), f16); {to} = mul({to}_r, {weight});")

    def put_heads(to, source, heads):
        put(f"{to} = transpose(reshape({source}, [{tokens}, {heads}, {HEAD}]), permutation=[1, 0, 2]);")

    def put_rotary(to, source):
        put(f"[{to}_a, {to}_b] = split({source}, 2, axis=2); "
            f"{to} = concat([sub(mul({to}_a, cosines), mul({to}_b, sines)), "
            f"add(mul({to}_b, cosines), mul({to}_a, sines))], 2);")

    def put_shared(to, source):
        put(f"{to} = reshape(expand(reshape({source}, [{PAIRS}, 1, {keys}, {HEAD}]), "
            f"[{PAIRS}, {HEADS // PAIRS}, {keys}, {HEAD}]), [{HEADS}, {keys}, {HEAD}]);")

    put_norm("h", "x", "norm_1")
    for name, heads in ("q", HEADS), ("k", PAIRS), ("v", PAIRS):
        put_heads(name, f"matmul(h, w{name})", heads)
    put_rotary("rq", "q")
    put_rotary("rk", "k")
    put("ks = concat([old_k, rk], 1); vs = concat([old_v, v], 1);" if earlier else "ks = rk; vs = v;")
    put_shared("all_k", "ks")
    put_shared("all_v", "vs")
    put("scores = mul(matmul(rq, transpose(all_k, permutation=[0, 2, 1])), scale);")
    put("seen = scores;" if earlier else "seen = add(scores, causal);")
    put("mixed = matmul(softmax(seen, axis=2), all_v);")
    put(f"joined = reshape(transpose(mixed, permutation=[1, 0, 2]), [{tokens}, {HIDDEN}]);")
    put("r = add(x, matmul(joined, wo));")
    put_norm("g", "r", "norm_2")
    put("gates = matmul(g, wg); ups = matmul(g, wu);")
    put("y = add(r, matmul(mul(mul(gates, sigmoid(gates)), ups), wd));")
    graph.scalars += [f"epsilon: f32[1] @scalar({EPSILON});", f"scale: f16[1] @scalar({HEAD ** -0.5});"]

    wqkv, wgu = torch.cat([wq, wk, wv], 1), torch.cat([gate, up], 1)

    def rotated(t):
        a, b = t.chunk(2, -1)
        return torch.cat([a * cosines - b * sines, b * cosines + a * sines], -1)

    def run():
        h = F.rms_norm(x, (HIDDEN,), norms[0], EPSILON) @ wqkv
        q, k, v = (t.view(tokens, -1, HEAD).transpose(0, 1) for t in
                   h.split([HIDDEN, PAIRS * HEAD, PAIRS * HEAD], 1))
        q, k = rotated(q), rotated(k)
        if earlier:
            k, v = torch.cat([old_k, k], 1), torch.cat([old_v, v], 1)
        mixed = F.scaled_dot_product_attention(q[None], k[None], v[None], is_causal=not earlier, enable_gqa=True)[0]
        r = x + mixed.transpose(0, 1).reshape(tokens, HIDDEN) @ wo
        gates, ups = (F.rms_norm(r, (HIDDEN,), norms[1], EPSILON) @ wgu).chunk(2, 1)
        return r + (F.silu(gates) * ups) @ down

    return graph, run


def captured(run):
    """A CUDA graph of so many runs, and what they give."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            result = run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(REPLAYS):
            result = run()
    return graph, result


def replayed(graph):
    least = float("inf")
    for _ in range(30):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        least = min(least, begin.elapsed_time(end) / REPLAYS)
    return least


def compare(webnn, folder, graph, run):
    path = graph.write(folder)
    replay, result = captured(run)
    replay.replay()
    torch.cuda.synchronize()
    subprocess.run([webnn, "run", "--quiet", "--backend=gpu", f"--output=y={path}.y.npy", path + ".webnn"]
                   + [f"{name}={path}.{name}.npy" for name in graph.inputs], check=True)
    expected, got = result.float().cpu().numpy(), numpy.load(path + ".y.npy").astype(numpy.float32)
    error = numpy.abs(got.reshape(expected.shape) - expected).max() / numpy.abs(expected).max()
    if not error < 1e-2:
        sys.exit(f"{graph.name}: results are {error} apart")
    own = peer = whole = float("inf")
    for _ in range(ROUNDS):
        bench = [webnn, "bench", "--backend=gpu", "--tensors", "--time=0.3", "--json", path + ".webnn"]
        shown = json.loads(subprocess.run(bench, check=True, capture_output=True).stdout)
        own, whole = min(own, shown["device_min_ms"]), min(whole, shown["min_ms"])
        peer = min(peer, replayed(replay))
    print(f"{graph.name:32} {own * 1e3:9.1f} us ({whole * 1e3:.1f} with its dispatch), PyTorch {peer * 1e3:9.1f} us: "
          f"{own / peer:.2f}, apart {error:.1e}", flush=True)


def main():
    webnn, folder, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    torch.backends.cudnn.benchmark = True
    makers = [lambda sizes=sizes: convolution(*sizes) for sizes in CONVOLUTIONS]
    makers += [lambda: block(1), lambda: block(512)]
    with torch.inference_mode():
        for make in makers:
            graph, run = make()
            if not names or any(graph.name.startswith(name) for name in names):
                compare(webnn, folder, graph, run)


if __name__ == "__main__":
    main()
