# SPDX-License-Identifier: Apache-2.0
"""Times torch.compile of one small model: from the compiling call to its first result.

    inductor_compile.py MODEL [--training] [--device=cpu|cuda] [--dynamic]
    inductor_compile.py --check        exits with 0 if this Python has torch 2 or later, else prints what it has

Prints {"compile_s": ..., "eager_s": ..., "error": ...} on one line. The compiled model's result is checked against
the eager one's. Before the clock starts, torch is loaded and the model has run once eagerly.
"""
import argparse
import importlib.metadata
import json
import sys
import time


def check():
    try:
        version = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        version = "none"
    if not version[0].isdigit() or int(version.split(".")[0]) < 2:
        sys.exit(f"torch 2 or later in {sys.executable} (found: {version}); name another Python in HEADROOM_PYTHON")


def mlp(nn, torch):
    layers = []
    for _ in range(4):
        layers += [nn.LayerNorm(512), nn.Linear(512, 512), nn.GELU()]
    return nn.Sequential(*layers), torch.randn(64, 512)


def convnet(nn, torch):
    layers, channels = [], 3
    for width in (16, 32, 64):
        layers += [nn.Conv2d(channels, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(2)]
        channels = width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10)), torch.randn(8, 3, 32, 32)


def transformer(nn, torch):
    torch.backends.mha.set_fastpath_enabled(False)  # a fused operator would leave nothing to compile
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), torch.randn(4, 32, 128)


MODELS = {"mlp": mlp, "convnet": convnet, "transformer": transformer}


def timed(torch, run, device):
    start = time.perf_counter()
    result = run()
    if device == "cuda":
        torch.cuda.synchronize()
    return result, time.perf_counter() - start


def measure(options):
    import torch
    from torch import nn

    torch.manual_seed(1)
    model, inputs = MODELS[options.model](nn, torch)
    model, inputs = model.to(options.device).train(options.training), inputs.to(options.device)

    def step(module):
        if not options.training:
            with torch.no_grad():
                return module(inputs)
        model.zero_grad()
        result = module(inputs)
        result.square().mean().backward()
        return result.detach()

    expected, eager_s = timed(torch, lambda: step(model), options.device)
    compiled = torch.compile(model, dynamic=True if options.dynamic else None)
    result, compile_s = timed(torch, lambda: step(compiled), options.device)
    error = (result - expected).abs().max().item() / max(expected.abs().max().item(), 1e-30)
    if not error < 1e-2:
        sys.exit(f"the compiled {options.model} differs from the eager one by {error:.3g} of its largest value")
    print(json.dumps({"compile_s": compile_s, "eager_s": eager_s, "error": error}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model", nargs="?", choices=sorted(MODELS))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--training", action="store_true")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    check()
    if options.check:
        return
    if options.model is None:
        parser.error("name a model")
    measure(options)


if __name__ == "__main__":
    main()
