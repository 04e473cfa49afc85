#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decoding with models: tokens/s compared with the read limit and with ATen in the same rounds.

  bench/llm_decode.py build/release/bin [--layers 4] [--max-time 20s] [--models llama2_7b_bf16,...]
                      [--backends native,aten_out] [--json FILE]

--layers 0 takes the whole models, of which each backend has a copy in memory. Prints one line per case: the median with the
half-width of its 95 % interval and the number of samples, GB/s as in gpt-fast, the median share of the limit with interval and
quartiles over the rounds, and the ratio of times to the first backend with its interval.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

MODELS = "llama2_7b_bf16,llama2_7b_int8,mixtral_8x7b_int8"


def measure(arguments, model, file):
    command = [f"{arguments.folder}/headroom", "run", model, "--backend", arguments.backends, "--max-time", arguments.max_time,
               "--processes", "1", "--no-store", "--json", str(file)]
    if arguments.layers:
        command += ["--layers", str(arguments.layers)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode not in (0, 1) or not file.exists():
        sys.exit(f"{' '.join(command)}: ended with {finished.returncode}\n{finished.stderr}")
    return json.loads(file.read_text())["records"]


def spread(record):
    interval, value = record.get("interval"), record["metric"]["value"]
    return f"±{(interval['high'] - interval['low']) / 2 / value * 100:.1f} %" if interval else "±?"


def share(record):
    """Returns the median of time at the limit / time, its interval, and its quartiles over the rounds."""
    limit = record.get("limit")
    if not limit:
        return "no limit"
    text = f"{100 * limit['fraction']:.1f} %"
    if limit.get("interval"):
        text += f" [{100 * limit['interval']['low']:.1f}, {100 * limit['interval']['high']:.1f}]"
    if rounds := limit.get("rounds"):
        text += f" (quartiles {100 * rounds['lower_quartile']:.1f} .. {100 * rounds['upper_quartile']:.1f})"
    return f"{text} of {limit['name']}"


def ratio(record):
    if "ratio" not in record:
        return ""
    text = f"{record['ratio']['ratio']:.2f} x the time of {record['ratio']['to']}"
    if interval := record["ratio"].get("interval"):
        text += f" [{interval['low']:.2f}, {interval['high']:.2f}]"
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--max-time", default="20s")
    parser.add_argument("--models", default=MODELS)
    parser.add_argument("--backends", default="native,aten_out")
    parser.add_argument("--json", help="file for the records of all models")
    arguments = parser.parse_args()
    everything = []
    with tempfile.TemporaryDirectory() as scratch:
        for model in arguments.models.split(","):
            records = measure(arguments, model, pathlib.Path(scratch) / f"{model}.json")
            everything += records
            print(model, f"{arguments.layers} layers" if arguments.layers else "whole")
            by_backend = {}
            for record in records:
                by_backend.setdefault(record["model"]["backend"], {})[record["metric"]["name"]] = record
            for backend, of in by_backend.items():
                rate = of.get("token_per_sec")
                if not rate or rate["outcome"]["kind"] != "measured":
                    print(f"  {backend:9} {next(iter(of.values()))['outcome']['reason']}")
                    continue
                count = sum(len(process["values"]) - process["warmup"] for process in rate["samples"])
                print(f"  {backend:9} {rate['metric']['value']:8.3f} tokens/s {spread(rate)}, n={count}, "
                      f"{of['memory_bandwidth(GB/s)']['metric']['value']:.1f} GB/s, {share(rate)}")
                print(f"            loaded and first pass {of['compilation_time(s)']['metric']['value']:.1f} s, error "
                      f"{rate['max_error']:.3g} of the root mean square  {ratio(of['latency'])}")
            sys.stdout.flush()
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(everything))


if __name__ == "__main__":
    main()
