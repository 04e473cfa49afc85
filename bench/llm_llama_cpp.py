#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoding with Llama 2 7B in headroom's kernels beside llama.cpp's, in turns.

  bench/llm_llama_cpp.py build/release/bin LLAMA_BENCH [--layers 4] [--rounds 5] [--tokens 50] [--threads 2]
                         [--dtypes bf16,int8] [--scratch DIR]

LLAMA_BENCH is llama.cpp's program of that name, built for this CPU. It gets a model of the same shapes with random
weights (written to DIR, which needs room for it): BF16 beside headroom's bf16, Q8_0 (a scale for 32 weights, 6 % more
bytes) beside headroom's int8 (a scale for each row). Both decode --tokens tokens with a batch of 1; the prompt of
headroom's is part of its first token. llama.cpp runs as it does best: weights read into memory
of its own, threads pinned one to a CPU.

Prints for each round's halves, one after the other: tokens/s and GB/s of weights, median [quartiles] over the
rounds; and the ratio of tokens/s and of GB/s, round by round.
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

MODELS = {"bf16": ("llama2_7b_bf16", gguf_file.BF16), "int8": ("llama2_7b_int8", gguf_file.Q8_0)}


def run(command):
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode not in (0, 1):
        sys.exit(f"{' '.join(map(str, command))}: ended with {finished.returncode}\n{finished.stderr}")
    return finished.stdout


def of_headroom(arguments, model, file):
    """tokens/s, GB/s, and the share of the read limit in the same rounds."""
    run([f"{arguments.folder}/headroom", "run", model, "--layers", str(arguments.layers), "--max-new-tokens",
         str(arguments.tokens), "--num-samples", str(arguments.tokens), "--processes", "1", "--threads",
         str(arguments.threads), "--timeout", "10min", "--no-store", "--json", str(file)])
    records = {record["metric"]["name"]: record for record in json.loads(file.read_text())["records"]}
    rate = records["token_per_sec"]
    if rate["outcome"]["kind"] != "measured":
        sys.exit(f"{model}: {rate['outcome']['reason']}")
    return rate["metric"]["value"], records["memory_bandwidth(GB/s)"]["metric"]["value"], rate["limit"]["fraction"]


def of_llama_cpp(arguments, model, activated):
    mask = hex((1 << arguments.threads) - 1)
    # Newer builds name it so; older ones have -mmp.
    no_mapping = ["-lm", "none"] if "--load-mode" in run([arguments.llama_bench, "--help"]) else ["-mmp", "0"]
    output = run([arguments.llama_bench, "-m", str(model), "-p", "0", "-n", str(arguments.tokens), "-r", "1", *no_mapping,
                  "-t", str(arguments.threads), "-C", mask, "--cpu-strict", "1", "-o", "json"])
    rate = json.loads(output)[0]["avg_ts"]
    return rate, rate * activated / 1e9


def spread(values, unit):
    if len(values) < 3:
        return f"{statistics.median(values):.3g} {unit}"
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3g} {unit} [{low:.3g}, {high:.3g}]"


def compare(arguments, dtype, scratch):
    name, kind = MODELS[dtype]
    model = scratch / f"llama2_7b_{dtype}_{arguments.layers}.gguf"
    gguf_file.write_model(model, gguf_file.LLAMA2_7B, arguments.layers, kind)
    activated = gguf_file.activated_bytes(gguf_file.LLAMA2_7B, arguments.layers, kind)
    ours, theirs = [], []
    for index in range(arguments.rounds):
        halves = [lambda: ours.append(of_headroom(arguments, name, scratch / "records.json")),
                  lambda: theirs.append(of_llama_cpp(arguments, model, activated))]
        for half in halves if index % 2 == 0 else reversed(halves):
            half()
    model.unlink()
    print(f"{name}, {arguments.layers} layers, {arguments.rounds} rounds of {arguments.tokens} tokens, {arguments.threads} threads")
    print(f"  headroom   {spread([each[0] for each in ours], 'tokens/s')}, {spread([each[1] for each in ours], 'GB/s')}, "
          f"{spread([100 * each[2] for each in ours], '% of the read limit')}")
    print(f"  llama.cpp  {spread([each[0] for each in theirs], 'tokens/s')}, {spread([each[1] for each in theirs], 'GB/s')}")
    print(f"  headroom / llama.cpp: {spread([a[0] / b[0] for a, b in zip(ours, theirs)], 'in tokens/s')}, "
          f"{spread([a[1] / b[1] for a, b in zip(ours, theirs)], 'in GB/s')}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("llama_bench")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tokens", type=int, default=50)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--dtypes", default="bf16,int8")
    parser.add_argument("--scratch", help="folder for the models; default: a temporary one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.scratch) as scratch:
        for dtype in arguments.dtypes.split(","):
            compare(arguments, dtype, pathlib.Path(scratch))


if __name__ == "__main__":
    main()
