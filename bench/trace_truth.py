#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the gains that `headroom trace findings` claims against simulated programs of known truth.

  python3 bench/trace_truth.py --headroom build/release/bin/headroom [--programs 200] [--healthy 200] [--seed 1] [--json FILE] [--keep DIR]

Draws random programs with a cause of lost time, simulates each with and without the cause, writes the trace of the first as PyTorch's
profiler would, and compares the gain claimed for the cause with the time saved in the second. Exits with 1 if fewer than 95 %
are within 10 % of the truth, or more than 1 % of the healthy programs have a finding above 2 % of the step or a straggler.

The simulation is event-driven and shares no code with headroom. Its model of the hardware:
- A launch call enqueues and returns after its cost. If `depth` commands of its stream wait, it first blocks until one has started.
- A stream runs its commands in order, with about 1 us between two kernels; the device sees a command some microseconds after the call.
- cudaEventRecord completes after the preceding work of its stream; cudaStreamWaitEvent holds back later commands.
- A copy from or to pageable memory returns when done; cudaStreamSynchronize some microseconds after its stream has run empty.
- The kernel of a collective starts on each rank when its stream gets there; all end together, `us` after the last has started.
- A DataLoader's workers fetch ahead, at most `prefetch` batches each; without workers the main thread fetches.
- A rank's clock has a constant offset in its file.
Not modelled: kernels that slow each other down when they overlap, and the profiler's overhead. Times are in microseconds.
"""
import argparse
import collections
import concurrent.futures
import heapq
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

COMPUTE, COPIES, NODE, ACROSS = 7, 17, 20, 24  # streams
CAUSES = ["copy", "all-reduce", "late device", "blocked, depth 256", "blocked, depth 1024", "blocked, depth 4096", "first use", "DataLoader",
          "synchronisation", "straggler, one group", "straggler, two groups"]
LEAST_SHARE = 0.05  # of the step: a smaller cause is drawn again
WITHIN, RIGHT, HEALTHY_SHARE, HEALTHY_RIGHT = 0.10, 0.95, 0.02, 0.99


# ---------------------------------------------------------------- the machine

class Stream:
    def __init__(self, number):
        self.number, self.queue, self.running, self.free_at, self.waiting = number, collections.deque(), False, 0.0, 0
        self.slot_waiters, self.idle_waiters = [], []


class Event:
    def __init__(self, recorded_on):
        self.done_at, self.streams, self.recorded_on, self.correlation = None, [], recorded_on, -1


class Machine:
    """Runs a program: all hosts, streams and collectives in time order."""

    GAP, CROSS_STREAM, WAKE = 1.1, 1.2, 4.0  # between kernels; an event seen by another stream; wake-up of a synchronised host

    def __init__(self, program):
        self.program, self.agenda, self.order = program, [], 0
        self.streams = [collections.defaultdict(lambda: None) for _ in program["ranks"]]
        self.meetings, self.spans, self.correlation = {}, [[] for _ in program["ranks"]], 0
        self.step_begin, self.step_end, self.device_end = [], [], []
        for rank, script in enumerate(program["ranks"]):
            self.resume(self.host(rank, script), program["starts"][rank], first=True)
        while self.agenda:
            now, _, act, argument = heapq.heappop(self.agenda)
            act(argument, now)

    def length(self):
        return max(self.step_end + self.device_end) - min(self.step_begin)

    def at(self, time, act, argument):
        self.order += 1
        heapq.heappush(self.agenda, (time, self.order, act, argument))

    def resume(self, host, now, first=False):
        """Resumes a host, which yields the time until which it is busy, or the list of waiting hosts that it joins."""
        try:
            until = next(host) if first else host.send(now)
        except StopIteration:
            return
        if isinstance(until, list):
            until.append(host)
        else:
            self.at(until, self.resume, host)

    def wake(self, waiters, now):
        for host in waiters[:]:
            waiters.remove(host)
            self.at(now, self.resume, host)

    def advance(self, stream, now):
        while stream.queue and not stream.running:
            command = stream.queue[0]
            ready = max(command["visible"], stream.free_at if command["what"] == "launch" else 0.0)
            if command["what"] == "wait":
                event = command["event"]
                if event.done_at is None:
                    if stream not in event.streams:
                        event.streams.append(stream)
                    return
                ready = max(ready, event.done_at + self.CROSS_STREAM)
            if ready > now:
                return self.at(ready, self.advance, stream)
            if command["what"] == "launch" and command.pop("hold", 0) and command["held"]:
                stream.free_at = now + command["held"]
                continue
            stream.queue.popleft()
            if command["what"] == "record":
                command["event"].done_at = now
                for other in command["event"].streams:
                    self.at(now, self.advance, other)
            elif command["what"] == "launch":
                stream.waiting -= 1
                stream.running = True
                command["start"] = now
                self.wake(stream.slot_waiters, now)
                self.start(stream, command, now)
        if not stream.queue and not stream.running:
            self.wake(stream.idle_waiters, now)

    def start(self, stream, command, now):
        if not command.get("group"):
            return self.at(now + command["us"], self.finish, (stream, command))
        meeting = self.meetings.setdefault(command["meeting"], [])
        meeting.append((stream, command))
        if len(meeting) == len(self.program["groups"][command["group"]]):
            for one in meeting:
                self.at(now + command["us"], self.finish, one)

    def finish(self, which, now):
        stream, command = which
        stream.running, stream.free_at = False, now + self.GAP
        rank = command["rank"]
        arguments = {"device": rank, "context": 1, "stream": stream.number, "correlation": command["correlation"],
                     "External id": command["correlation"], **command["arguments"]}
        self.span(rank, command["cat"], command["kernel"], command["start"], now, rank, stream.number, arguments)
        if command["in_step"]:
            self.device_end.append(now)
        if "done" in command:
            command["done"].append(now)
            self.wake(command["watch"], now)
        self.advance(stream, now)

    def span(self, rank, cat, name, begin, end, pid=100, tid=100, arguments=None):
        self.spans[rank].append((cat, name, begin, end, pid, tid, arguments or {}))

    def stream(self, rank, number):
        if not self.streams[rank][number]:
            self.streams[rank][number] = Stream(number)
        return self.streams[rank][number]

    def call(self, rank, tid, name, begin, end, cat="cuda_runtime"):
        self.correlation += 1
        self.span(rank, cat, name, begin, end, 100, tid, {"correlation": self.correlation})
        return self.correlation

    def sync(self, rank, kind, begin, end, correlation, stream=-1, **more):
        """Adds Kineto's event of a synchronisation (`enable_cuda_sync_events`)."""
        if self.program["sync_events"]:
            arguments = {"cuda_sync_kind": kind, "stream": stream, "correlation": correlation, "device": rank, "context": 1, **more}
            self.span(rank, "cuda_sync", kind, begin, end, rank, stream, arguments)

    def host(self, rank, script):
        """Runs one rank's threads, one at a time."""
        now, tid, open_spans, events, meets = self.program["starts"][rank], 100, [], {}, collections.Counter()
        loader, depth, in_step = Loader(self.program["loader"], now), self.program["depth"], False
        for action in script:
            what = action["what"]
            if what == "work":
                if action.get("name"):
                    self.span(rank, action.get("cat", "cpu_op"), action["name"], now, now + action["us"], 100, tid)
                now += action["us"]
            elif what == "open":
                open_spans.append((action["name"], action.get("cat", "user_annotation"), now, tid))
                if action["name"].startswith("ProfilerStep"):
                    self.step_begin.append(now)
                    in_step = True
            elif what == "close":
                name, cat, begin, thread = open_spans.pop()
                self.span(rank, cat, name, begin, now, 100, thread)
                if name.startswith("ProfilerStep"):
                    self.step_end.append(now)
                    in_step = False
            elif what == "thread":
                tid, now = action["tid"], now + action["us"]
            elif what == "next batch":
                kind = "_MultiProcessingDataLoaderIter" if loader.workers else "_SingleProcessDataLoaderIter"
                end = max(now, loader.next(now)) + action["us"]
                self.span(rank, "user_annotation", f"enumerate(DataLoader)#{kind}.__next__", now, end, 100, tid)
                now = end
            elif what == "record" or what == "wait":
                now = yield now
                stream = self.stream(rank, action["stream"])
                if what == "record":
                    events[action["event"]] = Event(action["stream"])
                if action["event"] not in events:
                    continue
                event, end = events[action["event"]], now + action["us"]
                stream.queue.append({"what": what, "event": event, "visible": end + 2.0})
                correlation = self.call(rank, tid, "cudaEventRecord" if what == "record" else "cudaStreamWaitEvent", now, end)
                if what == "record":
                    event.correlation = correlation
                else:
                    self.sync(rank, "Stream Wait Event", now, end, correlation, stream.number, wait_on_stream=event.recorded_on,
                              wait_on_cuda_event_record_corr_id=event.correlation)
                now = end
                self.at(now + 2.0, self.advance, stream)
            elif what == "synchronise":
                begin = now = yield now
                streams = [self.stream(rank, action["stream"])] if "stream" in action else list(self.streams[rank].values())
                for stream in streams:
                    while stream.queue or stream.running:
                        now = yield stream.idle_waiters
                now += self.WAKE
                correlation = self.call(rank, tid, "cudaStreamSynchronize" if "stream" in action else "cudaDeviceSynchronize", begin, now)
                self.sync(rank, "Stream Sync" if "stream" in action else "Context Sync", begin, now, correlation, action.get("stream", -1))
            elif what == "launch":
                op_begin = now
                begin = now = yield now + action["before"]
                stream = self.stream(rank, action["stream"])
                while stream.waiting >= depth:
                    now = yield stream.slot_waiters
                self.correlation += 1
                command = dict(action, rank=rank, correlation=self.correlation, visible=now + action["own"] + action["latency"],
                               held=action["hold"], in_step=in_step)
                if action.get("group"):
                    command["meeting"] = (action["group"], meets[action["group"]])
                    meets[action["group"]] += 1
                stream.queue.append(command)
                stream.waiting += 1
                now += action["own"]
                self.at(command["visible"], self.advance, stream)
                if action.get("blocking"):
                    command["done"], command["watch"] = [], []
                    while not command["done"]:
                        now = yield command["watch"]
                    now += self.WAKE
                correlation = {"correlation": command["correlation"], "External id": command["correlation"]}
                self.span(rank, "cuda_runtime", action["call"], begin, now, 100, tid, correlation)
                now += action["after"]
                if action["op"]:
                    self.span(rank, "cpu_op", action["op"], op_begin, now, 100, tid, {"External id": command["correlation"]})


class Loader:
    """Times at which batches are ready. Workers started long before the trace, so they are as far ahead as possible."""

    def __init__(self, settings, now):
        self.workers, self.prefetch, self.times = settings["workers"], settings["prefetch"], settings["times"]
        self.count, self.taken, self.ready = 0, [], []
        self.behind = settings["behind"]
        self.begin = now

    def next(self, now):
        number, cost = self.count, self.times[self.count]
        self.count += 1
        if not self.workers:
            return now + cost
        ahead = self.workers * self.prefetch
        if number < self.workers:  # its workers finish one after another
            ready = self.begin + cost * (number + 1) / self.workers if self.behind else self.begin - 1
        else:
            asked = self.taken[number - ahead] if number >= ahead else self.begin
            ready = max(asked, self.ready[number - self.workers]) + cost
        self.ready.append(ready)
        self.taken.append(max(now, ready))
        return ready


# ---------------------------------------------------------------- programs

class Script:
    """The actions of one rank's host. An action with `without` belongs to the cause; without the cause it has these values (None: it is
    omitted)."""

    def __init__(self, draw, fast=1.0):
        self.draw, self.actions, self.events, self.fast = draw, [], 0, fast
        self.pageable_items = draw.random() < 0.5

    def add(self, what, **more):
        self.actions.append({"what": what, **more})

    def work(self, us, name=None, **more):
        self.add("work", us=us, name=name, **more)

    def launch(self, op, kernel, us, stream=COMPUTE, **more):
        draw, jitter = self.draw, self.draw.gauss(1.0, 0.015)
        # Always drawn, so that the other random numbers stay.
        action = dict(op=op, kernel=kernel, us=max(us * jitter, 1.0), stream=stream, call="cudaLaunchKernel", cat="kernel",
                      before=self.fast * draw.uniform(3, 7), own=self.fast * draw.uniform(3.2, 4.8), after=self.fast * draw.uniform(1, 3),
                      latency=draw.uniform(2, 5), hold=0.0,
                      arguments={"grid": [draw.randint(100, 4000), 1, 1], "block": [256, 1, 1]})
        action.update(more)
        self.add("launch", **action)
        self.work(self.fast * draw.uniform(1, 5), **({"without": None} if more.get("without", 0) is None else {}))

    def copy(self, us, stream=COMPUTE, pinned=True, kind="HtoD (Pinned -> Device)", **more):
        self.launch("aten::copy_", "Memcpy " + kind, us, stream, call="cudaMemcpyAsync", cat="gpu_memcpy", blocking=not pinned,
                    arguments={"bytes": int(us * 20000)}, **more)

    def after_event(self, of, stream, **more):
        """Makes `stream` wait for the work that `of` has so far."""
        self.events += 1
        self.add("record", event=self.events, stream=of, us=self.draw.uniform(1, 2), **more)
        self.add("wait", event=self.events, stream=stream, us=self.draw.uniform(1, 2), **more)

    def collective(self, us, group, ranks, stream=NODE, name="allreduce", elements=1 << 20, **more):
        kernel = {"allreduce": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  "_allgather_base": "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                  "_reduce_scatter_base": "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"}[name]
        self.after_event(COMPUTE, stream, **({"without": None} if more.get("without", 0) is None else {}))
        self.launch("c10d::" + name + "_", kernel, us, stream, call="cudaLaunchKernelExC", group=group, arguments={
            "grid": [24, 1, 1], "block": [544, 1, 1], "Collective name": name, "In msg nelems": elements, "Out msg nelems": elements,
            "Group size": len(ranks), "dtype": "BFloat16", "Process Group Name": group, "Process Group Ranks": str(list(ranks))}, **more)

    def item(self, **more):
        """Copies a value to the host, via pinned memory or (older PyTorch) to pageable memory, where the copy call blocks."""
        self.add("open", name="aten::item", cat="cpu_op", **more)
        target = "Pageable" if self.pageable_items else "Pinned"
        self.launch("aten::_local_scalar_dense", f"Memcpy DtoH (Device -> {target})", 1.5, call="cudaMemcpyAsync", cat="gpu_memcpy",
                    blocking=self.pageable_items, arguments={"bytes": 4}, **more)
        self.add("synchronise", stream=COMPUTE, **more)
        self.work(self.draw.uniform(1, 3), **more)
        self.add("close", **more)


GEMM, NORM, POINTWISE = "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "vectorized_layer_norm_kernel", \
    "void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl>"
FORWARD = (("aten::native_layer_norm", NORM, 0.2), ("aten::addmm", GEMM, 1.0), ("aten::gelu", POINTWISE, 0.25), ("aten::mm", GEMM, 0.8))
BACKWARD = (("aten::mm", GEMM, 0.9), ("aten::gelu_backward", POINTWISE, 0.3), ("aten::mm", GEMM, 1.0), ("aten::mm", GEMM, 0.9),
            ("aten::native_layer_norm_backward", NORM, 0.4))


def shape(draw, smallest=60.0, largest=500.0):
    """Draws the sizes shared by all ranks."""
    return {"layers": draw.randint(4, 9), "steps": draw.randint(4, 6), "kernel": draw.uniform(smallest, largest), "fast": draw.uniform(0.6, 1.4),
            "backward_thread": draw.random() < 0.5, "batch_copy": draw.random() < 0.5, "loss_each_step": draw.random() < 0.5}


def new_program(steps, ranks=1):
    return {"steps": steps, "ranks": [], "starts": [0.0] * ranks, "depth": 1024, "groups": {}, "offsets": [0.0] * ranks,
            "loader": {"workers": 4, "prefetch": 2, "behind": False, "times": [500.0] * (steps + 1)}}


def busy_time(s):
    """Returns the approximate kernel time of a step."""
    return s["kernel"] * s["layers"] * (sum(f[2] for f in FORWARD) + sum(b[2] for b in BACKWARD))


def train(draw, s, hooks=None, speed=1.0):
    """The script of one rank: forward, backward and optimizer for each step. Calls `hooks` with (script, step, place, layer)."""
    script, hook = Script(draw, s["fast"]), hooks or (lambda *_: None)
    for step in range(s["steps"]):
        script.add("open", name=f"ProfilerStep#{step + 3}")
        script.add("next batch", us=draw.uniform(40, 90))
        hook(script, step, "batch", 0)
        if s["batch_copy"]:
            script.copy(draw.uniform(10, 30))
        script.work(draw.uniform(20, 60))
        for layer in range(s["layers"]):
            hook(script, step, "before forward", layer)
            for op, kernel, size in FORWARD:
                script.launch(op, kernel, speed * s["kernel"] * size)
            hook(script, step, "forward", layer)
        if s["backward_thread"]:
            script.add("thread", tid=200, us=draw.uniform(10, 25))
        for layer in reversed(range(s["layers"])):
            for op, kernel, size in BACKWARD:
                script.launch(op, kernel, speed * s["kernel"] * size)
            hook(script, step, "backward", layer)
        if s["backward_thread"]:
            script.add("thread", tid=100, us=draw.uniform(10, 25))
        hook(script, step, "optimizer", 0)
        script.add("open", name="Optimizer.step#AdamW.step")
        script.work(draw.uniform(30, 80))
        for _ in range(3):
            script.launch("aten::_fused_adamw_", "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor>", speed * s["kernel"] * 0.5)
        script.add("close")
        hook(script, step, "end", 0)
        if s["loss_each_step"]:
            script.item()
            script.work(draw.uniform(20, 50))
        script.add("close")
    script.work(100.0)
    script.add("synchronise")
    return script.actions


def single(draw, s, hooks=None):
    program = new_program(s["steps"])
    program["ranks"] = [train(draw, s, hooks)]
    return program


def copy_program(draw):
    s, way = shape(draw), draw.choice(["pinned", "pageable", "separate stream"])
    us = busy_time(s) * draw.uniform(0.08, 0.6)

    def hooks(script, step, place, layer):
        if place != "batch":
            return
        if way == "separate stream":
            script.copy(us, COPIES, without={"us": 2.0})
            script.after_event(COPIES, COMPUTE)
        else:
            pageable = way == "pageable"
            script.copy(us, pinned=not pageable, kind="HtoD (Pageable -> Device)" if pageable else "HtoD (Pinned -> Device)",
                        without={"us": 2.0})
            if pageable:  # PyTorch waits for unpinned memory
                script.add("synchronise", stream=COMPUTE)
    return single(draw, s, hooks), "exposed_copy"


def all_reduce_program(draw):
    s, way = shape(draw), draw.choice(["at once", "after backward", "overlapped"])
    ranks, share = range(draw.choice([2, 4, 8, 16])), draw.uniform(0.08, 0.6)
    each = busy_time(s) * (share + (0.7 if way == "overlapped" else 0)) / s["layers"]

    def hooks(script, step, place, layer):
        if place == "backward" and way != "after backward":
            script.collective(each, "0", ranks, without=None)
            if way == "at once":
                script.after_event(NODE, COMPUTE, without=None)
        if place == "optimizer" and way != "at once":
            if way == "after backward":
                for _ in range(s["layers"]):
                    script.collective(each, "0", ranks, without=None)
            script.after_event(NODE, COMPUTE, without=None)
    program = single(draw, s, hooks)
    program["groups"], program["world"] = {"0": [0]}, len(ranks)  # the others are on time
    return program, "exposed_communication"


def hold_one(script, us):
    """Delays the start of the last launched kernel: another process uses the device."""
    launch = next(a for a in reversed(script.actions) if a["what"] == "launch")
    launch.update(hold=us, without={"hold": 0.0})


def late_program(draw):
    s = shape(draw)
    each_step = draw.randint(1, 3)
    places = {(step, draw.randrange(s["layers"])): draw.uniform(0.05, 0.4) * busy_time(s) for step in range(s["steps"])
              for _ in range(each_step)}

    def hooks(script, step, place, layer):
        if place == "forward" and (step, layer) in places:
            hold_one(script, places[step, layer])
    return single(draw, s, hooks), "device_late"


def blocked_program(draw, depth):
    """More short kernels than the queue holds, after a long copy, all-reduce or late kernel: the host fills the queue."""
    steps, count, fast = draw.randint(2, 3), int(depth * draw.uniform(1.3, 2.2)), draw.uniform(0.3, 0.7)
    kind, ops = draw.choice(["exposed_copy", "exposed_communication", "device_late"]), draw.random() < 0.5
    host = fast * 13.0  # approximate launch time
    kernel = host * draw.uniform(0.4, 2.0)
    us = host * depth * draw.uniform(0.8, 2.0)
    program, script, ranks = new_program(steps), Script(draw, fast), range(8)
    sync = draw.random() < 0.5
    program["depth"], program["groups"], program["world"] = depth, {"0": [0]}, 8
    for step in range(steps):
        script.add("open", name=f"ProfilerStep#{step}")
        script.add("next batch", us=draw.uniform(40, 90))
        for _ in range(draw.randint(1, 10)):
            script.launch("aten::mm", GEMM, kernel)
        if kind == "exposed_copy":
            script.copy(us, without={"us": 2.0})
        elif kind == "exposed_communication":
            script.collective(us, "0", ranks, without=None)
            script.after_event(NODE, COMPUTE, without=None)
        else:
            script.launch("aten::mm", GEMM, kernel)
            hold_one(script, us)
        for number in range(count):
            script.launch("aten::mm" if ops else None, GEMM, kernel)
        if sync:
            script.item()
        script.add("close")
    script.work(100.0)
    script.add("synchronise")
    program["ranks"] = [script.actions]
    return program, kind


def first_use_program(draw):
    s, way = shape(draw), draw.choice(["first launches", "module loads"])
    step_of, count = draw.randint(0, 2), draw.randint(1, 4)
    total = busy_time(s) * s["steps"] * draw.uniform(0.1, 0.6)
    layers = {draw.randrange(s["layers"]): max(total / count, 2500.0) * draw.uniform(0.7, 1.3) for _ in range(count)}

    def hooks(script, step, place, layer):
        if place != "forward" or layer not in layers or step < step_of:
            return
        us = layers[layer] if step == step_of else 0.0
        if way == "module loads" and us:
            script.work(us, draw.choice(["cuLibraryLoadData", "cuModuleLoadData"]), cat="cuda_driver", without=None)
        script.launch("aten::scaled_dot_product_attention", f"flash_fwd_kernel_{layer}", s["kernel"])
        if way == "first launches" and us:
            launch = next(a for a in reversed(script.actions) if a["what"] == "launch")
            launch.update(own=us, without={"own": launch["own"]})
    return single(draw, s, hooks), "first_use"


def loader_program(draw):
    s = shape(draw)
    program = single(draw, s)
    workers, over = draw.choice([0, 1, 2, 4]), draw.uniform(1.1, 2.0)
    slow = busy_time(s) * over * max(workers, 1)
    times = [draw.gauss(slow, slow * 0.03) for _ in range(s["steps"] + 1)]
    program["loader"] = {"workers": workers, "prefetch": 2, "behind": True, "times": times,
                         "without": {"times": [60.0] * len(times), "behind": False}}
    return program, "data_loading"


def synchronisation_program(draw):
    s = shape(draw, 15.0, 120.0)
    s["loss_each_step"] = False
    every, host, places = draw.choice([1, 2]), draw.uniform(5, 250), draw.choice([("forward",), ("forward", "backward")])

    def hooks(script, step, place, layer):
        if place in places and layer % every == 0:
            script.item(without=None)
            script.work(host)
    return single(draw, s, hooks), "synchronisation"


def grid(draw, two):
    """Ranks and groups: one group of all, or nodes with groups across them."""
    if not two:
        world = draw.choice([2, 4, 8])
        return world, {"0": list(range(world))}, {rank: ("0", None) for rank in range(world)}
    nodes, local = draw.choice([(2, 2), (2, 4), (4, 2)])
    groups = {f"node{n}": [n * local + i for i in range(local)] for n in range(nodes)}
    groups.update({f"across{i}": [n * local + i for n in range(nodes)] for i in range(local)})
    return nodes * local, groups, {r: (f"node{r // local}", f"across{r % local}") for r in range(nodes * local)}


def job(draw, s, two, hooks_of):
    world, groups, member = grid(draw, two)
    program = new_program(s["steps"], ranks=world)
    program["groups"], program["world"] = groups, world
    largest = draw.choice([0.0, 50.0, 500.0, 5000.0])
    program["offsets"] = [draw.uniform(-largest, largest) for _ in range(world)]
    program["starts"] = [draw.uniform(0, 60) for _ in range(world)]
    for rank in range(world):
        node, across = member[rank]
        program["ranks"].append(train(draw, s, hooks_of(rank, node, groups[node], across, groups.get(across)),
                                      speed=draw.gauss(1.0, 0.001)))
    return program, world


def straggler_program(draw, two):
    s = shape(draw)
    way = draw.choice(["host", "slow operator", "slow device"])
    late_share, late_layer, tensor_parallel = draw.uniform(0.08, 0.5), draw.randrange(s["layers"]), two or draw.random() < 0.5
    late, chosen = busy_time(s) * late_share, draw.random()
    each = busy_time(s) * draw.uniform(0.1, 0.3) / s["layers"]

    def hooks_of(rank, node, node_ranks, across, across_ranks):
        def hooks(script, step, place, layer):
            if place == "batch" and way == "host":
                script.work(20.0, "aten::randperm", who=rank, late=20.0 + late)
            if place == "forward" and way == "slow operator" and layer == late_layer:
                script.launch("aten::bmm", "sm90_gemm_batched_bf16", 100.0, who=rank, late=100.0 + late)
            if tensor_parallel and place in ("forward", "backward"):
                script.collective(each / 2, node, node_ranks)
                script.after_event(NODE, COMPUTE)
            data_parallel = (across, across_ranks, ACROSS) if across else (node, node_ranks, ACROSS)
            if (across or not tensor_parallel) and place == "backward":
                script.collective(each, data_parallel[0], data_parallel[1], data_parallel[2], elements=1 << 22)
            if place == "optimizer":
                script.after_event(ACROSS, COMPUTE)
        return hooks
    program, world = job(draw, s, two, hooks_of)
    culprit = int(chosen * world)
    for rank, script in enumerate(program["ranks"]):
        for action in script:
            if way == "slow device" and rank == culprit and action["what"] == "launch" and not action.get("group"):
                action.update(us=action["us"] * (1 + late_share), without={"us": action["us"]})
            elif action.get("who") == culprit:
                action.update(us=action["late"], without={"us": action["us"]})
    program["culprit"] = culprit
    return program, "straggler"


def healthy_program(draw):
    """Bound by the device: the host runs ahead, batches wait, collectives are hidden, all ranks are equally fast."""
    s = shape(draw, 120.0, 500.0)
    s["loss_each_step"] = False
    way = draw.choice(["one device", "one group", "two groups"])
    if way == "one device":
        return single(draw, s), None
    each = busy_time(s) * draw.uniform(0.1, 0.4) / s["layers"]

    def hooks_of(rank, node, node_ranks, across, across_ranks):
        gathered = {}

        def gather(script, layer):
            script.collective(each / 4 if layer else 10.0, node, node_ranks, name="_allgather_base")
            script.events += 1
            script.add("record", event=script.events, stream=NODE, us=1.5)
            gathered[layer] = script.events

        def hooks(script, step, place, layer):
            if way == "two groups" and place == "before forward":  # sharded in the node: parameters are fetched a layer ahead
                if layer == 0:
                    gather(script, 0)
                if layer + 1 < s["layers"]:
                    gather(script, layer + 1)
                script.add("wait", event=gathered[layer], stream=COMPUTE, us=1.5)
            if place == "backward":
                us = each if layer else 12.0  # the last bucket is small
                if way == "one group":
                    script.collective(us, node, node_ranks, elements=1 << 22)
                else:
                    script.collective(us / 2, node, node_ranks, name="_reduce_scatter_base", elements=1 << 22)
                    script.after_event(NODE, ACROSS)
                    script.collective(us / 2, across, across_ranks, ACROSS)
            if place == "optimizer":
                script.after_event(NODE if way == "one group" else ACROSS, COMPUTE)
        return hooks
    return job(draw, s, way == "two groups", hooks_of)[0], None


def draw_program(row, seed):
    """Draws a program and the kind of finding that it must have."""
    draw = random.Random(seed)
    sync_events = draw.random() < 0.3
    if row.startswith("blocked"):
        program, kind = blocked_program(draw, int(row.split()[-1]))
    elif row.startswith("straggler"):
        program, kind = straggler_program(draw, row.endswith("two groups"))
    else:
        program, kind = {"copy": copy_program, "all-reduce": all_reduce_program, "late device": late_program, "first use": first_use_program,
                         "DataLoader": loader_program, "synchronisation": synchronisation_program, "healthy": healthy_program}[row](draw)
    return {**program, "sync_events": sync_events}, kind


def without_cause(program):
    def kept(action):
        return {**action, **action.get("without", {})}
    ranks = [[kept(a) for a in script if a.get("without", 0) is not None] for script in program["ranks"]]
    loader = program["loader"]
    return {**program, "ranks": ranks, "loader": {**loader, **loader.get("without", {})}}


# ---------------------------------------------------------------- traces and answers

def write_traces(program, machine, folder):
    files = []
    for rank, spans in enumerate(machine.spans):
        offset = 1e10 + program["offsets"][rank]
        events = [{"ph": "M", "name": name, "pid": pid, "tid": 0, "ts": 0, "args": arguments} for pid, label in ((100, "CPU"), (rank, f"GPU {rank}"))
                  for name, arguments in (("process_name", {"name": "python"}), ("process_labels", {"labels": label}))]
        for cat, name, begin, end, pid, tid, arguments in sorted(spans, key=lambda s: s[2]):
            events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": round(offset + begin, 3), "dur": round(end - begin, 3),
                           "args": arguments})
        document = {"schemaVersion": 1, "deviceProperties": [{"id": rank, "name": "NVIDIA H100 80GB HBM3", "totalGlobalMem": 85 * 10**9,
                                                             "computeMajor": 9, "computeMinor": 0, "numSms": 132}]}
        if "world" in program:
            groups = [{"pg_name": name, "pg_desc": name, "backend_config": "cuda:nccl", "pg_size": len(ranks), "ranks": ranks}
                      for name, ranks in program["groups"].items() if rank in ranks and len(ranks) > 1]
            document["distributedInfo"] = {"backend": "nccl", "rank": rank, "world_size": program["world"], "pg_config": groups}
        path = folder / f"rank{rank}.json"
        path.write_text(json.dumps({**document, "traceEvents": events}))
        files.append(path)
    return files


def findings(headroom, files):
    done = subprocess.run([headroom, "trace", "findings", *map(str, files), "--no-store", "--json", "-"], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"headroom trace failed with exit code {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)["trace"]["tables"]["findings"]


def compare(headroom, row, seed, keep):
    """Runs one program; returns its description, the truth, and the claim."""
    for attempt in range(50):
        program, kind = draw_program(row, f"{row}/{seed}/{attempt}")
        machine = Machine(program)
        steps, length = program["steps"], machine.length()
        truth = 0.0 if kind is None else (length - Machine(without_cause(program)).length()) / steps
        if kind is None or truth >= LEAST_SHARE * length / steps:
            break
    else:
        raise SystemExit(f"{row}: no program in 50 where the cause costs {LEAST_SHARE:.0%} of the step")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(keep) / f"{row}-{seed}".replace(" ", "_").replace(",", "") if keep else pathlib.Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        found = findings(headroom, write_traces(program, machine, folder))
    result = {"row": row, "seed": seed, "kind": kind, "step_us": length / steps, "truth_us": truth}
    if kind is None:
        large = [f for f in found if f["share"] > HEALTHY_SHARE or f["kind"] == "straggler"]
        return {**result, "right": not large, "claimed_us": max((f["recoverable_ns"] for f in found), default=0) / 1e3,
                "error": max((f["share"] for f in found), default=0.0), "found": [(f["kind"], f["share"]) for f in found]}
    fitting = [f for f in found if f["kind"] == kind and (kind != "straggler" or f["rank"] == program["culprit"])]
    claimed = max((f["recoverable_ns"] for f in fitting), default=0) / 1e3
    error = abs(claimed - truth) / truth
    return {**result, "claimed_us": claimed, "error": error, "right": error <= WITHIN,
            "found": [(f["kind"], f["rank"], round(f["recoverable_ns"] / 1e3, 1)) for f in found]}


def table(results):
    lines = ["| cause | programs | right | median error | worst error |", "|---|---:|---:|---:|---:|"]
    for row in [*CAUSES, "healthy"]:
        those = [r for r in results if r["row"] == row]
        if those and row != "healthy":
            errors = [r["error"] for r in those]
            lines.append(f"| {row} | {len(those)} | {sum(r['right'] for r in those)} | {statistics.median(errors):.1%} | {max(errors):.1%} |")
        elif those:
            shares = [r["error"] for r in those]
            lines.append(f"| healthy (largest finding, of the step) | {len(those)} | {sum(r['right'] for r in those)} | "
                         f"{statistics.median(shares):.1%} | {max(shares):.1%} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--headroom", default="build/release/bin/headroom")
    parser.add_argument("--programs", type=int, default=200, help="programs with a cause, spread over the causes")
    parser.add_argument("--healthy", type=int, help="programs without a cause (default: as many)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="only causes whose name contains this")
    parser.add_argument("--json", help="write every program's truth and claim to this file; - is standard output")
    parser.add_argument("--keep", help="keep the traces in this folder")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    rows = [row for row in CAUSES if not arguments.only or arguments.only in row]
    wanted = [(rows[i % len(rows)], arguments.seed * 1000 + i // len(rows)) for i in range(arguments.programs if rows else 0)]
    if not arguments.only or arguments.only == "healthy":
        wanted += [("healthy", arguments.seed * 1000 + i) for i in range(arguments.programs if arguments.healthy is None else arguments.healthy)]
    with concurrent.futures.ProcessPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(compare, *zip(*[(arguments.headroom, row, seed, arguments.keep) for row, seed in wanted])))
    if arguments.json:
        text = json.dumps(results, indent=1)
        print(text) if arguments.json == "-" else pathlib.Path(arguments.json).write_text(text + "\n")
    say = sys.stderr if arguments.json == "-" else sys.stdout
    print(table(results), file=say)
    for r in results:
        if not r["right"]:
            print(f"{r['row']}, seed {r['seed']}: truth {r['truth_us']:.1f} us, claimed {r['claimed_us']:.1f} us of {r['step_us']:.1f} us a step; "
                  f"found {r['found']}", file=say)
    caused, healthy = [[r["right"] for r in results if (r["row"] == "healthy") == is_healthy] for is_healthy in (False, True)]
    return int(sum(caused) < RIGHT * len(caused) or sum(healthy) < HEALTHY_RIGHT * len(healthy))


if __name__ == "__main__":
    sys.exit(main())
