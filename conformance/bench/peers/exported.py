#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Networks of timm and transformers as PyTorch exports them to ONNX, beside PyTorch on the same GPU and ONNX Runtime.

usage: exported.py WEBNN FOLDER [--half] [--threads=N[,N...]] NAME[@BATCH]...

WEBNN is the program, FOLDER gets models and results. A NAME is one that timm.create_model knows, transformers:KIND of
TRANSFORMERS below, or generators:KIND of generators.py; weights are random. Each is exported (transformers as
torch.export sees them), run with WEBNN, and compared with PyTorch. Then `webnn bench --tensors` has turns with replays
of a CUDA graph, channels last, TF32 off; and, of float32, with ONNX Runtime on so many threads. The least times are
shown; of what could not be run, the message.
"""
import json
import os
import subprocess
import sys
import time

import numpy
import torch

import cuda
import generators

ROUNDS, SECONDS = 3, 0.2
SMALL = {"num_hidden_layers": 6}
DECODER = {**SMALL, "hidden_size": 576, "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3,
           "vocab_size": 8000, "use_cache": False}
IMAGE, WORDS = (3, 224, 224), (128,)
# The class, its configuration, what differs from the usual, the input, and the result that counts.
TRANSFORMERS = {
    "bert": ("BertModel", "BertConfig", SMALL, WORDS, "last_hidden_state"),
    "distilbert": ("DistilBertModel", "DistilBertConfig", {}, WORDS, "last_hidden_state"),
    "albert": ("AlbertModel", "AlbertConfig", {**SMALL, "hidden_size": 768, "num_attention_heads": 12,
                                               "intermediate_size": 3072}, WORDS, "last_hidden_state"),
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", {"n_layer": 6, "use_cache": False}, WORDS, "logits"),
    "t5": ("T5EncoderModel", "T5Config", {}, WORDS, "last_hidden_state"),
    "llama": ("LlamaForCausalLM", "LlamaConfig", DECODER, WORDS, "logits"),
    "qwen3": ("Qwen3ForCausalLM", "Qwen3Config", {**DECODER, "head_dim": 64}, WORDS, "logits"),
    "gemma": ("GemmaForCausalLM", "GemmaConfig", {**DECODER, "head_dim": 64}, WORDS, "logits"),
    "dinov2": ("Dinov2Model", "Dinov2Config", {**SMALL, "image_size": 224}, IMAGE, "last_hidden_state"),
    "clip": ("CLIPVisionModel", "CLIPVisionConfig", SMALL, IMAGE, "last_hidden_state"),
    "segformer": ("SegformerForSemanticSegmentation", "SegformerConfig", {}, (3, 256, 256), "logits"),
    "dpt": ("DPTForDepthEstimation", "DPTConfig", {}, (3, 384, 384), "predicted_depth"),
    "wav2vec2": ("Wav2Vec2Model", "Wav2Vec2Config", SMALL, (16000,), "last_hidden_state"),
}


class Result(torch.nn.Module):
    """The result that counts, of a model that has several."""

    def __init__(self, model, name):
        super().__init__()
        self.model, self.name = model, name

    def forward(self, x):
        return getattr(self.model(x), self.name)


def create(name, batch):
    torch.manual_seed(0)
    if name.startswith("generators:"):
        model, shape = generators.NETWORKS[name.partition(":")[2]]()
        return model.eval(), torch.randn(batch, *shape)
    if not name.startswith("transformers:"):
        import timm
        model = timm.create_model(name, pretrained=False).eval()
        return model, torch.randn(batch, *model.default_cfg.get("input_size", IMAGE))
    import transformers
    kind, config, options, shape, result = TRANSFORMERS[name.partition(":")[2]]
    model = getattr(transformers, kind)(getattr(transformers, config)(**options)).eval()
    words = torch.randint(0, 1000, (batch, *shape))
    return Result(model, result), words if shape == WORDS else torch.randn(batch, *shape)


def webnn_bench(webnn, path, *options):
    command = [webnn, "bench", "--tensors", "--json", f"--time={SECONDS}", *options, path]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[-1])


def least_of_onnxruntime(session, feed):
    least, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < SECONDS:
        start = time.perf_counter()
        session.run(None, feed)
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def compare(webnn, folder, name, half, threads):
    name, _, batch = name.partition("@")
    model, x = create(name, int(batch or 1))
    path = os.path.join(folder, name.replace(":", "_") + batch)
    if half:
        model, x = model.half(), x.half() if x.is_floating_point() else x
    model, x = model.cuda(), x.cuda()
    torch.onnx.export(model, (x,), path + ".onnx", input_names=["x"], output_names=["y"], external_data=False,
                      dynamo=name.startswith("transformers:"), verbose=False)
    expected = model(x).float().cpu().numpy()
    numpy.save(path + ".npy", x.cpu().numpy())
    subprocess.run([webnn, "run", "--quiet", "--backend=gpu", f"--output=y={path}.y.npy", path + ".onnx",
                    f"x={path}.npy"], check=True, capture_output=True, text=True)
    got = numpy.load(path + ".y.npy").astype(numpy.float32).reshape(expected.shape)
    error = numpy.abs(got - expected).max() / numpy.abs(expected).max()
    if x.dim() == 4:
        model, x = model.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last)
    replay, _ = cuda.captured(lambda: model(x))
    own = peer = float("inf")
    for _ in range(ROUNDS):
        own = min(own, webnn_bench(webnn, path + ".onnx", "--backend=gpu")["device_min_ms"])
        peer = min(peer, cuda.replayed(replay))
    line = f"{name + ('@' + batch if batch else ''):40} GPU {own:8.3f} / {peer:8.3f} ms: {own / peer:.2f}"
    for count in threads if not half else []:
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = count, 1
        session = onnxruntime.InferenceSession(path + ".onnx", options, providers=["CPUExecutionProvider"])
        own = peer = float("inf")
        for _ in range(ROUNDS):
            own = min(own, webnn_bench(webnn, path + ".onnx", f"--threads={count}")["min_ms"])
            peer = min(peer, least_of_onnxruntime(session, {"x": x.cpu().numpy()}))
        line += f" | {count} threads {own:8.2f} / {peer:8.2f} ms: {own / peer:.2f}"
    print(f"{line} | apart {error:.1e}", flush=True)


def main():
    webnn, folder, *rest = sys.argv[1:]
    threads = [int(n) for option in rest if option.startswith("--threads=") for n in option[10:].split(",")]
    os.makedirs(folder, exist_ok=True)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.allow_tf32 = True, False
    with torch.no_grad():
        for name in (name for name in rest if not name.startswith("--")):
            try:
                compare(webnn, folder, name, "--half" in rest, threads)
            except subprocess.CalledProcessError as error:
                print(f"{name:40} {error.stderr.strip()}", flush=True)
            except Exception as error:  # pylint: disable=broad-except # of any library, which shall not end the others
                print(f"{name:40} {type(error).__name__}: {str(error).strip()[:200]}", flush=True)


if __name__ == "__main__":
    main()
