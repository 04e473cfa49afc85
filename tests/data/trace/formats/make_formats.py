#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes this folder's traces for which no tool was available, from the published schemas (see README.md).

    python3 make_formats.py [FOLDER]

The same small run in every format: a step that launches a kernel and a copy.
"""
import json
import os
import pickle
import sqlite3
import struct
import sys
import zlib

# protobuf.dev/programming-guides/encoding


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 0x7F:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def data(field, value):
    value = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(value)) + value


def fixed64(field, value):
    return varint(field << 3 | 1) + struct.pack("<Q", value)


# Perfetto: Trace.packet of TracePacket; fields by number.
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def packet(*fields, sequence=7):
    return data(1, b"".join(fields) + number(10, sequence))


def track(uuid, *fields):
    return packet(data(60, number(1, uuid) + b"".join(fields)))


def process(pid, name):
    return data(3, number(1, pid) + data(6, name))


def thread(pid, tid, name):
    return data(4, number(1, pid) + number(2, tid) + data(5, name))


def kineto_slice(uuid, parent, at, length, name, metadata, correlation=0):
    """A slice as PerfettoTraceBuilder writes it: each event on a separate track below its thread's."""
    event = number(9, BEGIN) + data(23, name) + number(11, uuid)
    if metadata:
        event += data(4, data(10, "metadata") + data(6, metadata))
    if correlation:
        event += data(4, data(10, "correlation_id") + number(4, correlation))
    return (data(1, data(60, number(1, uuid) + number(5, parent))) + packet(number(8, at), data(11, event)) +
            packet(number(8, at + length), data(11, number(9, END) + number(11, uuid))))


def kineto_perfetto():
    base = 1_700_000_000_000_000_000
    out = track(1, data(2, "Kineto Trace"), process(0, "Kineto Trace"))
    out += track(2, data(2, "python [CPU]"), process(4242, "python"))
    out += track(3, data(2, "python [GPU 0]"), process(0, "python"))
    out += track(4, data(2, "thread 4242 (python)"), number(5, 2), thread(4242, 4242, "thread 4242 (python)"))
    out += track(5, data(2, "stream 7 "), number(5, 3), thread(0, 7, "stream 7 "))
    out += packet(data(11, number(9, INSTANT) + data(23, "trace_metadata") + number(11, 1) + data(
        4, data(10, "distributedInfo") + data(6, '{"backend": "nccl", "rank": 3, "world_size": 8}'))))
    out += packet(data(11, number(9, INSTANT) + data(23, "device_properties") + number(11, 1) + data(
        4, data(10, "properties") + data(6, '{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85017493504, '
                                            '"numSms": 132, "maxThreadsPerMultiprocessor": 2048, "warpSize": 32}'))))
    out += kineto_slice(100, 4, base, 900_000, "ProfilerStep#5", '"Record function id": 0, "Ev Idx": 0', 1)
    out += kineto_slice(101, 4, base + 1000, 20_500, "aten::mm",
                        '"Sequence number": 12, "Fwd thread id": 0, "Record function id": 0, "Ev Idx": 1, '
                        '"Input Dims": [[64, 64], [64, 64]], "Input type": ["float", "float"]', 2)
    # An annotation as older profilers write it.
    out += kineto_slice(108, 4, base + 40_000, 9000, "Optimizer.step#SGD.step", "", 4)
    out += kineto_slice(107, 4, base + 25_000, 3000, "record_param_comms",
                        '"Collective name": "allreduce", "Group size": 8, "Record function id": 0, "Ev Idx": 2', 3)
    out += kineto_slice(102, 4, base + 5000, 6000, "cudaLaunchKernel", '"cbid": 211, "correlation": 77', 77)
    out += kineto_slice(103, 4, base + 30_000, 4000, "cudaMemcpyAsync", '"cbid": 41, "correlation": 78', 78)
    out += kineto_slice(104, 5, base + 20_000, 100_250, "sgemm_128x64_nn",
                        '"queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": 77, '
                        '"registers per thread": 122, "shared memory": 16384, "blocks per SM": 0.5, '
                        '"warps per SM": 4, "grid": [66, 1, 1], "block": [256, 1, 1], "est. achieved occupancy %": 6', 77)
    out += kineto_slice(105, 5, base + 130_000, 50_000, "Memcpy DtoH (Device -> Pageable)",
                        '"device": 0, "context": 1, "stream": 7, "correlation": 78, "bytes": 1048576, '
                        '"memory bandwidth (GB/s)": 20.97152', 78)
    out += kineto_slice(106, 4, base + 40_000, 0, "[memory]",
                        '"Total Reserved": 2097152, "Total Allocated": 1048576, "Bytes": 1048576, "Addr": 4096, '
                        '"Device Id": 0, "Device Type": 1')
    return out


def sdk_perfetto():
    """As the tracing SDK and rocprofv3 write it: interned names, a sequence clock, compressed packets, counters."""
    clock = data(6, data(1, number(1, 6) + number(2, 5_000_000)) + data(1, number(1, 3) + number(2, 1_000_000)))
    own = data(6, data(1, number(1, 64) + number(2, 1000) + number(3, 1) + number(4, 1000)) +
               data(1, number(1, 3) + number(2, 1_000_000)))
    names = data(12, data(1, number(1, 1) + data(2, "hip_api")) + data(1, number(1, 2) + data(2, "kernel_dispatch")) +
                 data(2, number(1, 1) + data(2, "hipLaunchKernel")) + data(2, number(1, 2) + data(2, "axpy(float*)")) +
                 data(3, number(1, 1) + data(2, "corr_id")))
    defaults = data(59, number(58, 64) + data(11, number(11, 10)))
    correlation = data(4, number(1, 1) + number(3, 41))
    # A list of numbers, and a dictionary in the older form.
    nested = data(4, data(10, "grid") + b"".join(data(12, number(4, size)) for size in (66, 2, 1)))
    nested += data(4, data(10, "of") + data(8, number(1, 1) + data(2, "a") + data(3, data(8, "b"))))
    out = packet(clock, sequence=1)
    out += track(9, process(321, "axpy"))
    out += track(10, data(2, "THREAD 0 (321)"), number(5, 9), thread(321, 322, "axpy"))
    out += track(11, data(2, "COMPUTE AGENT [1] STREAM [2] (GPU)"))
    out += track(12, data(2, "power"), data(8, b""))
    out += packet(own, number(13, 1), number(41, 1), names, defaults)
    # Timestamps are deltas in microseconds of the sequence's clock.
    out += packet(number(8, 5), number(13, 2), data(11, number(9, BEGIN) + number(3, 1) + number(10, 1) + correlation))
    out += packet(number(8, 3), number(13, 2), data(11, number(9, END)))
    inner = packet(number(8, 2), number(13, 2), data(11, number(9, BEGIN) + number(11, 11) + number(3, 2) +
                                                     number(10, 2) + correlation + nested + fixed64(47, 41)))
    inner += packet(number(8, 40), number(13, 2), data(11, number(9, END) + number(11, 11)))
    out += packet(data(50, zlib.compress(inner)))
    out += packet(number(8, 1), number(13, 2), data(11, number(9, COUNTER) + number(11, 12) + number(30, 250)))
    return out


# XLA: XSpace with a GPU plane.


def entry(field, key, name):
    return data(field, number(1, key) + data(2, number(1, key) + data(2, name)))


def stat(kind, value):
    return data(4, number(1, kind) + (data(5, value) if isinstance(value, str) else number(4, value)))


def event(kind, offset_ps, length_ps, *stats):
    return data(4, number(1, kind) + number(2, offset_ps) + number(3, length_ps) + b"".join(stats))


def xplane_gpu():
    base = 1_700_000_000_000_000_000
    stream = (number(1, 13) + data(2, "Stream #13(Compute)") + number(3, base) +
              event(1, 20_000_000, 100_250_500, stat(1, 77),
                    stat(2, "regs:122 static_shared:0 dynamic_shared:16384 grid:66,1,1 block:256,1,1 occ_pct:6")) +
              event(2, 130_000_000, 50_000_000, stat(1, 78), stat(3, "kind_src:device kind_dst:pageable size:1048576 dest:0 async:1")))
    modules = number(1, 99) + data(2, "XLA Modules") + number(3, base) + event(3, 20_000_000, 160_000_000)
    device = (number(1, 1) + data(2, "/device:GPU:0") + data(3, stream) + data(3, modules) +
              entry(4, 1, "gemm_fusion_dot") + entry(4, 2, "MemcpyD2H") + entry(4, 3, "jit_step") +
              entry(5, 1, "correlation_id") + entry(5, 2, "kernel_details") + entry(5, 3, "memcpy_details") +
              entry(5, 4, "core_count") + entry(5, 5, "memory_size") +
              data(6, number(1, 4) + number(3, 132)) + data(6, number(1, 5) + number(3, 85017493504)))
    calls = (number(1, 55) + data(2, "python") + number(3, base) + event(4, 0, 900_000_000, stat(2, 5)) +
             event(1, 5_000_000, 6_000_000, stat(1, 77)) + event(2, 30_000_000, 4_000_000, stat(1, 78)) +
             event(3, 1_000_000, 20_500_000))
    host = (number(1, 2) + data(2, "/host:CPU") + data(3, calls) + entry(4, 1, "cudaLaunchKernel") +
            entry(4, 2, "cuMemcpyDtoHAsync_v2") + entry(4, 3, "PjitFunction(step)") + entry(4, 4, "train") +
            entry(5, 1, "correlation_id") + entry(5, 2, "step_num"))
    return data(1, device) + data(1, host) + data(4, "host0")


# Nsight Systems: "SQLite Export Schema Reference" of its User Guide.


def nsight(path):
    database = sqlite3.connect(path)
    database.execute("PRAGMA page_size=512")
    database.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
        CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, maxWarpsPerSm INTEGER,
                                      threadsPerWarp INTEGER);
        CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, shortName INTEGER, registersPerThread INTEGER,
            gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, bytes INTEGER, copyKind INTEGER, srcKind INTEGER, dstKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMSET (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, bytes INTEGER, memKind INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER,
            nameId INTEGER, returnValue INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER, end INTEGER, deviceId INTEGER, streamId INTEGER,
            correlationId INTEGER, syncType INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, textId INTEGER,
            globalTid INTEGER);
    """)
    host = 4242 << 24 | 4243
    texts = ["sgemm_128x64_nn(float*, float*)", "sgemm_128x64_nn", "cudaLaunchKernel_v7000", "cudaMemcpyAsync_v3020",
             "cudaStreamSynchronize_v3020", "cuMemsetD8Async", "aten::mm, seq = 12"]
    database.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(texts, 1))
    rows = {"TARGET_INFO_GPU": [(1, "NVIDIA H100", 85017493504, 132, 64, 32)], "TARGET_INFO_CUDA_DEVICE": [(1, 0, 4242)],
            "CUPTI_ACTIVITY_KIND_KERNEL": [(20_000, 120_250, 0, 7, 77, 4242 << 24, 1, 2, 122, 66, 1, 1, 256, 1, 1)],
            "CUPTI_ACTIVITY_KIND_MEMCPY": [(130_000, 180_000, 0, 7, 78, 1048576, 2, 2, 0)],
            "CUPTI_ACTIVITY_KIND_MEMSET": [(185_000, 186_000, 0, 7, 79, 4096, 2)],
            "CUPTI_ACTIVITY_KIND_RUNTIME": [(5000, 11_000, host, 77, 3, 0), (30_000, 34_000, host, 78, 4, 0),
                                            (35_000, 36_000, host, 79, 6, 0), (40_000, 190_000, host, 80, 5, 0)],
            "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": [(40_000, 189_000, 0, 7, 80, 3)],
            "NVTX_EVENTS": [(0, 900_000, 59, "ProfilerStep#5", None, host), (1000, 21_500, 59, None, 7, host),
                            (2000, None, 34, "a mark", None, host), (0, None, 75, "a domain", None, host)]}
    for table, values in rows.items():
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
    database.commit()
    database.execute("VACUUM")
    database.close()


# PyTorch: class Snapshot in torch/cuda/memory.py.
MIB = 1 << 20


def snapshot():
    def stack(*lines):
        return [{"filename": file, "line": line, "name": name} for file, line, name in lines]

    cpp = ("/build/c10/cuda/CUDACachingAllocator.cpp", 1234, "c10::cuda::CUDACachingAllocator::malloc")
    linear = ("/venv/site-packages/torch/nn/modules/linear.py", 114, "forward")
    weights = stack(cpp, linear, ("model.py", 3, "__init__"), ("train.py", 30, "main"))
    forward = stack(cpp, linear, ("train.py", 12, "forward"), ("train.py", 41, "main"))
    loss = stack(("train.py", 20, "loss"), ("train.py", 41, "main"))

    def entry(action, address, size, time_us, frames=forward):
        return {"action": action, "addr": address, "size": size, "stream": 0, "time_us": time_us, "frames": frames}

    def block(address, size, requested, state, frames=forward):
        return {"address": address, "size": size, "requested_size": requested, "state": state, "frames": frames}

    def segment(device, address, size, blocks):
        return {"device": device, "address": address, "total_size": size, "allocated_size": 0, "active_size": 0,
                "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0), "is_expandable": False,
                "frames": [], "blocks": blocks}

    at, first = 0x7F0000000000, 1_700_000_000_000_000
    history = [entry("alloc", at + 2 * MIB, 6 * MIB, first), entry("segment_alloc", at + 32 * MIB, 8 * MIB, first + 1),
               entry("alloc", at + 32 * MIB, 8 * MIB, first + 2), entry("free_requested", at + 2 * MIB, 6 * MIB, first + 3),
               entry("free_completed", at + 2 * MIB, 6 * MIB, first + 4), entry("alloc", at + 8 * MIB, 4 * MIB, first + 5, loss),
               entry("free_requested", at + 32 * MIB, 8 * MIB, first + 6), entry("snapshot", 0, 0, first + 7)]
    # The last request failed: "oom" entries have the free bytes instead of an address.
    history.insert(-1, {"action": "oom", "device_free": 5 * MIB, "size": 14 * MIB, "stream": 0, "time_us": first + 7,
                        "frames": loss})
    blocks = [block(at, 2 * MIB, 2 * MIB, "active_allocated", weights), block(at + 2 * MIB, 6 * MIB, 0, "inactive"),
              block(at + 8 * MIB, 4 * MIB, 4 * MIB, "active_allocated", loss),
              block(at + 12 * MIB, 4 * MIB, 0, "inactive")]
    return {"segments": [segment(0, at, 16 * MIB, blocks),
                         segment(0, at + 32 * MIB, 8 * MIB, [block(at + 32 * MIB, 8 * MIB, 8 * MIB, "active_awaiting_free")]),
                         segment(1, at, 20 * MIB, [block(at, 4 * MIB, 3 * MIB, "active_allocated"),
                                                   block(at + 4 * MIB, 16 * MIB, 0, "inactive")])],
            "device_traces": [history, []], "allocator_settings": {"expandable_segments": False}}


# rocprofv3: source/lib/output/generateJSON.cpp of the ROCprofiler SDK.


def rocprofv3():
    def record(kind, operation, correlation, start, end, **more):
        return {"size": 0, "kind": kind, "operation": operation, "thread_id": 322,
                "correlation_id": {"internal": correlation, "external": 0},
                "start_timestamp": start, "end_timestamp": end, **more}

    gpu, cpu = {"handle": 9001}, {"handle": 9000}
    process = {
        "metadata": {"pid": 321, "init_time": 1, "fini_time": 2},
        "agents": [{"id": cpu, "type": 1, "name": "AMD EPYC", "product_name": "AMD EPYC"},
                   {"id": gpu, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X", "cu_count": 304,
                    "wave_front_size": 64, "max_waves_per_cu": 32}],
        "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
                                       {"kind": "HIP_RUNTIME_API", "operations": ["hipMalloc", "hipLaunchKernel"]},
                                       {"kind": "KERNEL_DISPATCH", "operations": ["KERNEL_DISPATCH_COMPLETE"]},
                                       {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_DEVICE_TO_HOST"]},
                                       {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA"]}],
                    "marker_api": [{"key": 40, "value": "ProfilerStep#5"}]},
        "kernel_symbols": [{"kernel_id": 0}, {"kernel_id": 3, "kernel_name": "_Z4axpyPf.kd",
                                              "formatted_kernel_name": "axpy(float*)"}],
        "buffer_records": {
            "kernel_dispatch": [record(2, 0, 41, 20_000, 120_250, stream_id={"handle": 2}, dispatch_info={
                "agent_id": gpu, "queue_id": {"handle": 77}, "kernel_id": 3, "dispatch_id": 1,
                "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 16800, "y": 1, "z": 1}})],
            "hip_api": [record(1, 1, 41, 5000, 11_000)],
            "marker_api": [record(4, 1, 40, 0, 900_000)],
            "memory_copy": [record(3, 1, 42, 130_000, 180_000, dst_agent_id=cpu, src_agent_id=gpu, bytes=1048576,
                                   stream_id={"handle": 2})],
            "scratch_memory": [record(9, 1, 43, 1, 2)]}}
    return json.dumps({"rocprofiler-sdk-tool": [process]}, indent=1).encode()


# Chakra: schema/protobuf/et_def.proto of mlcommons/chakra; messages are length-prefixed.


def attribute(name, *value):
    return data(10, data(1, name) + b"".join(value))


def chakra():
    def node(identity, name, kind, start, length, *more):
        return (number(1, identity) + data(2, name) + number(3, kind) + number(6, start) + number(7, length) +
                b"".join(more))

    compute, all_reduce = 4, 7
    shapes = data(8, data(1, "[[1, 2, 0, 64, 4, 'cpu'], 3]") + data(2, "[[8, 8], []]") + data(3, "['Tensor(float)', 'Int']"))
    messages = [data(1, "0.0.4"), node(1, "aten::mm", compute, 1000, 20, shapes, attribute("is_cpu_op", number(27, 1))),
                node(2, "sgemm", compute, 1010, 100, attribute("is_cpu_op", number(27, 0)), attribute("stream", number(9, 7))),
                node(3, "all_reduce", all_reduce, 1200, 50, attribute("comm_size", number(13, 4096)),
                     attribute("pg_name", data(29, "0")))]
    return b"".join(varint(len(message)) + message for message in messages)


def write(folder, name, content):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(content)


def main(arguments):
    folder = arguments[1] if len(arguments) > 1 else os.path.dirname(os.path.abspath(__file__))
    write(folder, "kineto.pftrace", kineto_perfetto())
    write(folder, "rocprofv3.pftrace", sdk_perfetto())
    write(folder, "gpu.xplane.pb", xplane_gpu())
    path = os.path.join(folder, "nsight.sqlite")
    if os.path.exists(path):
        os.remove(path)
    nsight(path)
    write(folder, "rocprofv3.json", rocprofv3())
    write(folder, "chakra.et", chakra())
    for protocol in (2, 5):
        write(folder, f"snapshot_protocol{protocol}.pickle", pickle.dumps(snapshot(), protocol))


if __name__ == "__main__":
    main(sys.argv)
