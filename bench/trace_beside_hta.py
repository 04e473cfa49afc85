#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Critical paths and stragglers by HTA and headroom, and the reasons for differences.

Needs an environment with HTA (see hta_golden.py):

  /tmp/hta/bin/python bench/trace_beside_hta.py --headroom build/release/bin/headroom TRACE…
  /tmp/hta/bin/python bench/trace_beside_hta.py --headroom build/release/bin/headroom --planted FOLDER…

Prints the critical paths of the first three ProfilerSteps of each trace, in us: HTA's; ours, which fills the step; the parts of ours
on the host (operators, allocations, data loading), on devices, and in launches; `rest`: Python, gaps and waits, which have no weight
in HTA's path; `from`: start of HTA's path after that of the step; `launched`: kernels and copies with an edge from a launch in HTA's
graph, of all (launches into a busy queue and CUDA graphs have none); `back`: edges from device to host (from cuda_sync events).
FOLDER: written by ../shared/planted/plant.py; prints HTA's candidates for the straggler, ours, and the late rank.
"""
import argparse
import contextlib
import io
import json
import logging
import os
import pathlib
import subprocess

from hta.trace_analysis import TraceAnalysis


@contextlib.contextmanager
def quiet():
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield


def ours(headroom, *words):
    done = subprocess.run([headroom, "trace", *map(str, words), "--no-store", "--top", "0", "--json", "-"], capture_output=True, text=True,
                          check=True)
    return json.loads(done.stdout)


def our_path(headroom, step, trace):
    found = ours(headroom, "critical-path", "--step", step, trace)
    values = {record["metric"]["name"].removeprefix("critical_path").removeprefix("_") or "all": record["metric"]["value"] / 1e3
              for record in found["records"]}
    return values


def their_path(analysis, index, step):
    """Returns (length, start after the step's, GPU work with a launch edge, all GPU work, edges back); times in us."""
    with quiet():
        graph, _ = analysis.critical_path_analysis(rank=0, annotation="ProfilerStep", instance_id=index)
    nodes = [graph.node_list[node] for node in graph.critical_path_nodes]
    length = sum(edge.weight for edge in graph.critical_path_edges_set)
    events, symbols = analysis.t.get_trace(0), analysis.t.symbol_table.sym_table
    row = events[[symbols[name] == f"ProfilerStep#{step}" for name in events["name"]]].iloc[0]
    streams = events["stream"]
    ends = [(graph.node_list[one].ev_idx, graph.node_list[other].ev_idx) for one, other in graph.edges()]
    work = {end for _, end in ends if streams.loc[end] >= 0}
    launched = {end for start, end in ends if streams.loc[start] < 0 <= streams.loc[end]}
    back = sum(streams.loc[end] < 0 <= streams.loc[start] for start, end in ends)
    return length, nodes[0].ts - row["ts"], len(launched), len(work), back


def paths(headroom, trace):
    with quiet():
        analysis = TraceAnalysis(trace_files={0: os.path.abspath(trace)}, include_last_profiler_step=True)
        try:
            steps = [int(step) for step in analysis.get_profiler_steps()]
        except Exception as error:  # a failure of HTA is a result, whatever it throws
            steps = []
    if not steps:
        values = our_path(headroom, "all", trace)
        print(f"{'':6} {'no steps':>12} {values['all']:12.1f}")
    for index, step in enumerate(steps[:3]):
        values = our_path(headroom, step, trace)
        try:
            length, begin, launched, work, back = their_path(analysis, index, step)
            theirs, rest = f"{length:12.0f}", f"{begin:9.0f} {launched:5} of {work:5} {back:5}"
        except Exception as error:
            theirs, rest = f"{type(error).__name__:>12}", ""
        host = values.get("operators", 0) + values.get("allocation", 0) + values.get("data_loading", 0)
        device = sum(value for name, value in values.items() if name.startswith("gpu_"))
        launches = values.get("launch", 0)
        print(f"{step:6} {theirs} {values['all']:12.1f} {host:10.1f} {device:10.1f} {launches:9.1f} "
              f"{values['all'] - host - device - launches:9.1f} {rest}")


def stragglers(headroom, folder):
    ranks = sorted((folder / "late_rank").glob("*.json*"))
    late = json.loads((folder / "expected.json").read_text())["late_rank"]["rank"]
    try:
        with quiet():
            analysis = TraceAnalysis(trace_files={rank: str(path.resolve()) for rank, path in enumerate(ranks)}, include_last_profiler_step=True)
            theirs = analysis.get_potential_stragglers()
    except Exception as error:
        theirs = f"{type(error).__name__}: {error}"
    first = ours(headroom, "stragglers", *ranks)["trace"]["tables"]["ranks"][0]
    print(f"{folder}: late is {late}; HTA {theirs}; ours {first['rank']}, imposed {first['imposed_ns'] / 1e3:.0f} us")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headroom", required=True)
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("paths", metavar="TRACE", type=pathlib.Path, nargs="+")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if not arguments.planted:
        print(f"{'step':>6} {'HTA us':>12} {'ours us':>12} {'host':>10} {'device':>10} {'launch':>9} {'rest':>9} {'from':>9} {'launched':>14} {'back':>5}")
    for path in arguments.paths:
        if arguments.planted:
            stragglers(arguments.headroom, path)
        else:
            print(path.name)
            paths(arguments.headroom, path)


if __name__ == "__main__":
    main()
