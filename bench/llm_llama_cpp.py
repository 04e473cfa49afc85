#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole Llama 2 7B in headroom and llama.cpp: decoding and prompts on the same GGUF file, in turns.

  bench/llm_llama_cpp.py build/release/bin LLAMA_BENCH [--types Q4_0,Q8_0] [--layers 32] [--rounds 5] [--tokens 32]
                         [--context 512] [--prompt-len 512] [--threads 2] [--max-time 20s] [--scratch DIR] [--dim 4096]

LLAMA_BENCH: llama.cpp's llama-bench, built for this CPU. The file has random weights; it is written to DIR (3.8 GB of Q4_0,
7.2 GB of Q8_0, 13.5 GB of BF16) and removed afterwards. Both programs copy it, so twice its size of memory must be free. --dim
(a multiple of 256) scales all widths down, to try the command.

Each round runs, in alternating order, `headroom run llm.decode llm.prefill` (--tokens samples or --max-time each) and
llama-bench with its fastest settings (weights in memory, pinned threads), three times.

Prints tokens/s, GB/s of weights for decoding, and the shares of headroom's limit (llama.cpp's from the ratio of tokens/s),
median [quartiles] over the rounds; and the ratio of tokens/s by round.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import gguf_file

TYPES = {"BF16": gguf_file.BF16, "Q8_0": gguf_file.Q8_0, "Q4_0": gguf_file.Q4_0, "Q4_K": gguf_file.Q4_K,
         "Q5_K": gguf_file.Q5_K, "Q6_K": gguf_file.Q6_K}


def run(command):
    finished = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if finished.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))}: ended with {finished.returncode}\n{finished.stderr}")
    return finished.stdout


def shapes(arguments):
    """Returns the shapes of Llama 2 7B, scaled down by --dim."""
    config = dict(gguf_file.LLAMA2_7B)
    if arguments.dim != config["dim"]:
        times = arguments.dim / config["dim"]
        config.update(dim=arguments.dim, heads=int(32 * times), kv_heads=int(32 * times),
                      hidden=int(config["hidden"] * times) // 256 * 256)
    return config


def of_headroom(arguments, model, file):
    """Returns {experiment: (tokens/s, share of the limit)}."""
    output = run([f"{arguments.folder}/headroom", "run", "llm.decode", "llm.prefill", "--model", model, "--layers",
                  arguments.layers, "--context", arguments.context, "--prompt-len", arguments.prompt_len, "--max-time",
                  arguments.max_time, "--num-samples", arguments.tokens, "--processes", "1", "--threads", arguments.threads,
                  "--timeout", "30min", "--no-store", "--json", file])
    found = {}
    for record in json.loads(file.read_text())["records"]:
        if record["metric"]["name"] != "token_per_sec":
            continue
        if record["outcome"]["kind"] != "measured":
            sys.exit(f"{record['model']['name']}: {record['outcome']['reason']}\n{output}")
        found[record["model"]["name"]] = record["metric"]["value"], record["limit"]["fraction"]
    return found["llm.decode"], found["llm.prefill"]


def of_llama_cpp(arguments, model):
    """Returns tokens/s of decoding and of the prompt."""
    mask = hex((1 << arguments.threads) - 1)
    # Newer builds' option; older ones have -mmp.
    no_mapping = ["-lm", "none"] if "--load-mode" in run([arguments.llama_bench, "--help"]) else ["-mmp", "0"]

    def rate(*options):
        output = run([arguments.llama_bench, "-m", model, "-r", "3", *no_mapping, "-t", arguments.threads, "-C", mask,
                      "--cpu-strict", "1", *options, "-o", "json"])
        return json.loads(output)[0]["avg_ts"]

    return (rate("-p", "0", "-n", arguments.tokens, "-d", arguments.context),
            rate("-p", arguments.prompt_len, "-n", "0", "-ub", arguments.prompt_len))


def spread(values, unit=""):
    if len(values) < 3:
        return f"{statistics.median(values):.3g}{unit}"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3g}{unit} [{low:.3g}, {high:.3g}]"


def report(what, ours, theirs, activated):
    rates, shares = [rate for rate, _ in ours], [share for _, share in ours]

    def row(name, values, of_limit):
        bandwidth = f", {spread([value * activated / 1e9 for value in values])} GB/s of weights" if activated else ""
        print(f"  {name:9}  {spread(values)} tokens/s{bandwidth}, {spread([100 * one for one in of_limit])} % of the limit")

    print(f" {what}")
    row("headroom", rates, shares)
    row("llama.cpp", theirs, [b / a * share for a, b, share in zip(rates, theirs, shares)])
    print(f"  headroom / llama.cpp: {spread([a / b for a, b in zip(rates, theirs)])}, n = {len(rates)}", flush=True)


def compare(arguments, name, scratch):
    config, kind = shapes(arguments), TYPES[name]
    model = scratch / f"llama2_7b_{name}_{arguments.layers}.gguf"
    gguf_file.write_model(model, config, arguments.layers, kind)
    ours, theirs = [], []
    for index in range(arguments.rounds):
        halves = [lambda: ours.append(of_headroom(arguments, model, scratch / "records.json")),
                  lambda: theirs.append(of_llama_cpp(arguments, model))]
        for half in halves if index % 2 == 0 else reversed(halves):
            half()
        (decoded, _), (taken, _) = ours[-1]
        print(f"{name}, round {index + 1}: decode {decoded:.3g} and {theirs[-1][0]:.3g} tokens/s, prompt {taken:.3g} and {theirs[-1][1]:.3g}", file=sys.stderr, flush=True)
    size = model.stat().st_size
    model.unlink()
    print(f"{name}, {size / 1e9:.3g} GB, {arguments.layers} layers of {config['dim']}, {arguments.rounds} rounds, "
          f"{arguments.threads} threads")
    report(f"decode {arguments.tokens} tokens after {arguments.context}", [one[0] for one in ours],
           [one[0] for one in theirs], gguf_file.activated_bytes(config, arguments.layers, kind))
    report(f"a prompt of {arguments.prompt_len}", [one[1] for one in ours], [one[1] for one in theirs], 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="folder of headroom and headroom-native")
    parser.add_argument("llama_bench")
    parser.add_argument("--types", default="Q4_0,Q8_0")
    parser.add_argument("--layers", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--prompt-len", type=int, default=512)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--max-time", default="20s")
    parser.add_argument("--dim", type=int, default=gguf_file.LLAMA2_7B["dim"])
    parser.add_argument("--scratch", help="folder for the models; default: a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        for name in arguments.types.split(","):
            compare(arguments, name, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
