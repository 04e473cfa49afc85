#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/data/trace/key_averages.json: key_averages() of torch.profiler's own class on real traces.

    bench/key_averages_golden.py PROFILER_UTIL TRACE...  > tests/data/trace/key_averages.json

PROFILER_UTIL is torch/autograd/profiler_util.py of an unpacked torch wheel (2.5.1 made the figures in the repository).
Times are whole nanoseconds. GPU work is joined to its operator by external id, as torch does while recording, so the traces
must have it. A row is
[name, is annotation, has calls within calls of the same row, calls, self CPU, CPU total, self device, device total].
"""
import enum
import gzip
import importlib.util
import json
import os
import sys
import types
from decimal import Decimal

CALLS = {"cpu_op", "Operator", "user_annotation", "cuda_runtime", "cuda_driver", "Runtime"}
WITH_ID = {"cpu_op", "Operator", "user_annotation"}
DEVICE_WORK = {"kernel", "Kernel", "gpu_memcpy", "gpu_memset", "Memcpy", "Memset"}


def load_profiler_util(path):
    """Imports the module with stubs for the two names of torch that it uses."""
    torch, autograd = types.ModuleType("torch"), types.ModuleType("torch.autograd")
    autograd.DeviceType = enum.IntEnum("DeviceType", ["CPU", "CUDA", "PrivateUse1", "MTIA", "HPU"], start=0)
    torch.autograd = autograd
    torch._C = types.SimpleNamespace(_demangle=lambda name: name)
    sys.modules.update({"torch": torch, "torch.autograd": autograd})
    spec = importlib.util.spec_from_file_location("profiler_util", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def nanoseconds(microseconds):
    return int(round(Decimal(str(microseconds)) * 1000))


def external_id(event):
    arguments = event.get("args", {})
    return arguments.get("External id", arguments.get("external id", 0)) or 0


def rows(util, path):
    with (gzip.open(path) if path.endswith(".gz") else open(path, "rb")) as file:
        trace = json.load(file, parse_float=Decimal)
    complete = [event for event in trace["traceEvents"] if event.get("ph") == "X"]
    calls, by_id = [], {}
    for event in complete:
        if event.get("cat") not in CALLS or util._filter_name(event["name"]):
            continue
        start = nanoseconds(event["ts"])
        call = util.FunctionEvent(
            id=external_id(event), name=util._rewrite_name(event["name"], True), thread=str((event["pid"], event["tid"])),
            start_us=start, end_us=start + nanoseconds(event["dur"]), use_device="cuda", stack=[], input_shapes="",
            is_user_annotation=event["cat"] == "user_annotation")
        calls.append(call)
        if event["cat"] in WITH_ID and call.id > 0:
            by_id.setdefault(call.id, call)
    for event in complete:
        if event.get("cat") in DEVICE_WORK and external_id(event) in by_id:
            by_id[external_id(event)].append_kernel(event["name"], 0, nanoseconds(event["dur"]))
    tree = util.EventList(calls, use_device="cuda")
    tree._build_tree()
    nested = set()
    for call in tree:
        above = call.cpu_parent
        while above is not None:
            if (above.name, above.is_user_annotation) == (call.name, call.is_user_annotation):
                nested.add((call.name, call.is_user_annotation))
            above = above.cpu_parent
    return [[row.key, row.is_user_annotation, (row.key, row.is_user_annotation) in nested, row.count,
             row.self_cpu_time_total, row.cpu_time_total, row.self_device_time_total, row.device_time_total]
            for row in tree.key_averages()]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    util = load_profiler_util(sys.argv[1])
    files = {os.path.basename(path): rows(util, path) for path in sys.argv[2:]}
    texts = ['"%s": [\n%s]' % (name, ",\n".join(json.dumps(row) for row in found)) for name, found in files.items()]
    print("{%s}" % ",\n".join(texts))


if __name__ == "__main__":
    main()
