# SPDX-License-Identifier: Apache-2.0
"""Small traces in PyTorch's format, shared by the tests of `headroom trace`."""
import gzip
import json
import pathlib

from command_line import headroom

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared" / "traces"


def kernel(name, ts, dur, correlation, device=0, stream=7, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": ts, "dur": dur,
            "args": {"device": device, "stream": stream, "correlation": correlation, **args}}


def launch(ts, dur, correlation, name="cudaLaunchKernel"):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 900, "tid": 900, "ts": ts, "dur": dur,
            "args": {"correlation": correlation}}


def op(name, ts, dur):
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 900, "tid": 900, "ts": ts, "dur": dur, "args": {}}


def step_events(start=0, slow=1):
    """One matrix product and one addition; the device works 30 of 100 us (times `slow` for the product)."""
    return [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 900, "tid": 900, "ts": start, "dur": 100},
        op("aten::mm", start + 1, 10), launch(start + 5, 2, 1),
        op("aten::add", start + 20, 10), launch(start + 25, 2, 2),
        kernel("sgemm_128x64", start + 10, 20 * slow, 1),
        kernel("void add<float>(float*)", start + 90, 10, 2),
    ]


def document(events, rank=None, **members):
    document = {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "Tesla V100", "numSms": 80}], **members,
                "traceEvents": events}
    if rank is not None:
        document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": 2}
    return document


def write_trace(path, events=None, **options):
    text = json.dumps(document(step_events() if events is None else events, **options))
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return path


def trace(*arguments, **options):
    """`headroom trace` without a history."""
    return headroom("trace", *arguments, "--no-store", **options)


def tables_of(result):
    return json.loads(result.stdout)["trace"]["tables"]
