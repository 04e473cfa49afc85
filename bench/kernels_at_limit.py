#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Share of the limit that our kernels reach, and their lead over peers.

Runs `headroom run` case by case, all backends in the same rounds as the limit, and prints a Markdown table: share of the
limit (median over the rounds, quartiles), GB/s, rounds, and the time of other backends as a ratio to native with its 95 %
interval. Hot by default: the read limit is that of the working set.

  bench/kernels_at_limit.py build/release/bin                         all experiments and sizes, native alone
  bench/kernels_at_limit.py build/release/bin gemv -a dtype=bf16 -D 1024 --backend native,onednn_packed,openblas,aten_out
  bench/kernels_at_limit.py build/release/bin gemv -a dtype=bf16 --peer libmine.so:gemv_bf16      libraries (bench/peers/build.py)
  bench/kernels_at_limit.py build/release/bin gemv --python gpt_fast --backend native,aten,torch,torch_compile
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

EXPERIMENTS = {
    "gemv": ["dtype=bf16", "dtype=int8"],
    "gather_gemv": ["dtype=bf16", "dtype=int8"],
    "layer_norm": [""],
    "mlp_layer_norm_gelu": [""],
}


def measured(arguments, experiment, size, axis, path):
    command = [f"{arguments.folder}/headroom", "run", experiment, "-a", f"D={size}", "--threads", str(arguments.threads),
               "--no-store", "--processes", str(arguments.processes), "--max-time", arguments.time, "--min-time",
               arguments.time, "--precision", "0.1%", "--backend", arguments.backend, "--json", str(path)]
    command += ["-a", axis] if axis else []
    command += [word for peer in arguments.peer for word in ("--peer", peer)]
    command += ["--python", arguments.python] if arguments.python else []
    command += [] if arguments.cold else ["--hot"]
    command += ["--retune"] if arguments.retune else []
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if not path.exists():
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stderr}")
    return json.loads(path.read_text())["records"]


def row_of(record, bandwidth):
    limit, ratio = record.get("limit"), record.get("ratio")
    name = f"{record['model']['name']} {record['benchmark']['dtype']} D={dict_of(record['axes'])['D']}"
    cells = [name, record["model"]["backend"]]
    if record["outcome"]["kind"] != "measured":
        return cells + [f"{record['outcome']['kind']}: {record['outcome']['reason']}", "", "", "", ""]
    rounds, versus = limit["rounds"], ""
    low, high = 100 * rounds["lower_quartile"], 100 * rounds["upper_quartile"]
    if ratio:
        interval = f" ({ratio['interval']['low']:.2f} to {ratio['interval']['high']:.2f})" if "interval" in ratio else ""
        versus = f"{ratio['ratio']:.2f}{interval}"
    gbs = bandwidth["metric"]["value"] if bandwidth else 0
    return cells + [f"{100 * limit['fraction']:.0f} [{low:.0f}–{high:.0f}]", f"{gbs:.1f}", str(rounds["count"]), versus,
                    record["model"]["extra_info"].get("variant", "")]


def dict_of(axes):
    return axes if isinstance(axes, dict) else dict(axes)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("experiments", nargs="*", default=[])
    parser.add_argument("-D", "--sizes", default="1024,4096,8192,16384")
    parser.add_argument("-a", "--axis", help="only this axis value, as dtype=bf16")
    parser.add_argument("--backend", default="native")
    parser.add_argument("--peer", action="append", default=[], help="PATH:SYMBOL of a library, as for headroom run")
    parser.add_argument("--python", help="Python module with experiments, as gpt_fast (torch, torch_compile)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--time", default="3s", help="sampling time of a case")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--retune", action="store_true")
    arguments = parser.parse_args()
    print("| case | backend | % of limit [quartiles] | GB/s | rounds | time / native's (95 %) | variant |")
    print("|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for experiment in arguments.experiments or EXPERIMENTS:
            for size in arguments.sizes.split(","):
                for axis in [arguments.axis] if arguments.axis else EXPERIMENTS[experiment]:
                    path = pathlib.Path(scratch) / "records.json"
                    path.unlink(missing_ok=True)
                    records = measured(arguments, experiment, size, axis, path)
                    backends = dict.fromkeys(r["model"]["backend"] for r in records)
                    for backend in backends:
                        own = [r for r in records if r["model"]["backend"] == backend]
                        latency = next((r for r in own if r["metric"]["name"] == "latency"), own[0])
                        bandwidth = next((r for r in own if r["metric"]["name"] == "memory_bandwidth(GB/s)"), None)
                        print("| " + " | ".join(row_of(latency, bandwidth)) + " |", flush=True)


if __name__ == "__main__":
    main()
