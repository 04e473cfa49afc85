#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""headroom run llm --model compared with ggml on the same GGUF files: logits of small models, tokens/s of a large one.

  bench/llm_beside_ggml.py build/release/bin LLAMA_PASSES [--layers 4] [--rounds 5] [--threads 2] [--context 64]
                           [--types BF16,Q8_0,Q4_0,Q4_K,Q5_K,Q6_K] [--scalings yarn,linear,llama3] [--prompt-len 128]
                           [--scratch DIR] [--large]

LLAMA_PASSES: built by `bench/peers/build.py OUT --llama DIR` from a llama.cpp in DIR.

Logits: for each type a small Llama, a Qwen2, a Mixtral and a Qwen2-MoE with random weights and a prompt of 12 tokens; for each
rotation scaling the Llama in BF16 with a prompt of 600. Prints the difference of headroom's eight largest logits from ggml's,
relative to the root mean square of ggml's logits, and for scalings that of ggml without it. The difference is mostly rounding:
ggml rounds the multiplicand of blocks to 8 bits, headroom to 16 or to bf16.

Tokens/s (--large): --layers layers of Llama 2 7B's shapes, written to DIR (1.6 GiB of BF16 for four layers; all 32 of Q8_0
take 7 GiB) and removed afterwards. Prints medians and quartiles over the rounds for decoding after --context tokens and for a
prompt of --prompt-len, and of the ratios. If other programs use the CPUs, pass --threads 1: ggml's threads busy-wait.
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import gguf_file

SMALL = {"dim": 256, "heads": 8, "kv_heads": 4, "hidden": 512, "vocab": 1000}
MIXTURES = {"llama": {"experts": 8, "chosen": 2}, "qwen2moe": {"experts": 8, "chosen": 3, "shared": 768}}
PROMPT = [1, 15, 27, 299, 7, 500, 77, 3, 640, 12, 901, 44]
LONG_PROMPT = [(i * 37) % 999 + 1 for i in range(600)]
TYPES = {"BF16": gguf_file.BF16, "Q8_0": gguf_file.Q8_0, "Q4_0": gguf_file.Q4_0, "Q4_K": gguf_file.Q4_K,
         "Q5_K": gguf_file.Q5_K, "Q6_K": gguf_file.Q6_K}


def of_headroom(arguments, experiment, model, *options):
    """Returns the records of one experiment by metric."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        command = [f"{arguments.folder}/headroom", "run", experiment, "--model", str(model), *map(str, options), "--no-store",
                   "--no-limits", "--processes", "1", "--threads", str(arguments.threads), "--timeout", "10min",
                   "--json", file.name]
        finished = subprocess.run(command, capture_output=True, text=True, check=False)
        if finished.returncode != 0:
            sys.exit(f"{' '.join(command)}: {finished.stdout}{finished.stderr}")
        return {record["metric"]["name"]: record for record in json.load(open(file.name, encoding="utf-8"))["records"]}


def of_ggml(arguments, model, *words):
    """Returns the numbers that llama_passes prints."""
    command = [arguments.llama_passes, str(model), str(arguments.threads), *map(str, words)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        sys.exit(f"{' '.join(command)}: ended with {finished.returncode}\n{finished.stderr}")
    return [float(line) for line in finished.stdout.split()]


def ids_of(tokens):
    return ",".join(map(str, tokens))


def off_by(found, right):
    """Returns the largest difference of (id, logit) from ggml's, relative to the rms of ggml's logits."""
    rms = math.sqrt(sum(value * value for value in right) / len(right))
    return max(abs(logit - right[token]) / rms for token, logit in found)


def compare_logits(arguments, name, folder, family, scaling=None, mixture=None):
    model, prompt = folder / "small.gguf", LONG_PROMPT if scaling else PROMPT
    gguf_file.write_model(model, {**SMALL, **(mixture or {})}, 3, TYPES[name], family, scaling)
    record = of_headroom(arguments, "llm.prefill", model, "--tokens", ids_of(prompt), "--num-samples", 2)["token_per_sec"]
    pairs = [pair.split(":") for pair in record["model"]["extra_info"]["likeliest"].split()]
    found = [(int(token), float(logit)) for token, logit in pairs]
    right = of_ggml(arguments, model, "logits", ids_of(prompt))
    order = sorted(range(len(right)), key=right.__getitem__, reverse=True)
    same = len({token for token, _ in found} & set(order[:len(found)]))
    line = (f"{family} {name}{f' {scaling}' if scaling else ' experts' if mixture else ''}: logits of the {len(found)} likeliest off by up to "
            f"{off_by(found, right):.4f} of the rms of ggml's, {same} of them ggml's likeliest; first {found[0][0]} and "
            f"{order[0]}; off float64 by {record['max_error']:.4f}")
    if scaling:
        gguf_file.forget_scaling(model, scaling)
        line += f"; ggml's without the scaling are off by {off_by(found, of_ggml(arguments, model, 'logits', ids_of(prompt))):.2f}"
    print(line, flush=True)


def spread(values):
    low, middle, high = statistics.quantiles(values, n=4) if len(values) > 1 else values * 3
    return f"{middle:.3g} [{low:.3g}, {high:.3g}]"


def compare_speed(arguments, name, folder):
    model = folder / "large.gguf"
    gguf_file.write_model(model, gguf_file.LLAMA2_7B, arguments.layers, TYPES[name])
    prompt = [(i * 11) % 31999 + 1 for i in range(arguments.prompt_len)]
    rates = {"decode": ([], []), "prefill": ([], [])}
    for _ in range(arguments.rounds):
        ours = of_headroom(arguments, "llm.decode", model, "--context", arguments.context, "--max-time", "3s")
        rates["decode"][0].append(ours["token_per_sec"]["metric"]["value"])
        ours = of_headroom(arguments, "llm.prefill", model, "--prompt-len", arguments.prompt_len, "--max-time", "3s")
        rates["prefill"][0].append(ours["token_per_sec"]["metric"]["value"])
        decode, prefill = of_ggml(arguments, model, "seconds", arguments.context, ids_of(prompt))
        rates["decode"][1].append(1 / decode)
        rates["prefill"][1].append(len(prompt) / prefill)
    model.unlink()
    for what, (ours, theirs) in rates.items():
        ratios = [a / b for a, b in zip(ours, theirs)]
        print(f"{name} {what}, {arguments.layers} layers: headroom {spread(ours)} tokens/s, ggml {spread(theirs)}, "
              f"ratio {spread(ratios)}, n = {len(ratios)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder of headroom and headroom-native")
    parser.add_argument("llama_passes", help="built by bench/peers/build.py --llama")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--types", default=",".join(TYPES))
    parser.add_argument("--scalings", default=",".join(gguf_file.SCALINGS))
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--context", type=int, default=64)
    parser.add_argument("--prompt-len", type=int, default=128)
    parser.add_argument("--scratch", default=None)
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as folder:
        for scaling in filter(None, arguments.scalings.split(",")):
            compare_logits(arguments, "BF16", pathlib.Path(folder), "llama", scaling)
        for name in filter(None, arguments.types.split(",")):
            for family in ("llama", "qwen2"):
                compare_logits(arguments, name, pathlib.Path(folder), family)
            for family, mixture in MIXTURES.items():
                compare_logits(arguments, name, pathlib.Path(folder), family, mixture=mixture)
            if arguments.large:
                compare_speed(arguments, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
