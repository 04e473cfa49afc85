# SPDX-License-Identifier: Apache-2.0
"""PyTorch's ranks with headroom's, and dispatch and ddp under torchrun, with a torch 2 (HEADROOM_TORCH_PYTHON, else this Python's); also
without torch."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

from scratch import HEADROOM, ScratchTest

PYTHON = os.environ.get("HEADROOM_TORCH_PYTHON") or sys.executable
RANK_PROGRAM = pathlib.Path(HEADROOM).parent / "headroom-torch-rank"
RUNNERS = ("--runner", "headroom-torch-rank", "--runner", "pytorch") if RANK_PROGRAM.exists() else ("--runner", "pytorch")
BRIEF = ("--no-store", "--max-time", "300ms", "--timeout", "120s")
SCRIPT = """
import torch, torch.distributed as dist
from torch.distributed.tensor import distribute_tensor, Shard
from torch.distributed.device_mesh import init_device_mesh
import headroom as hr
try:
    hr.ddp(None, None)
except RuntimeError as error:
    assert "torchrun" in str(error), error
dist.init_process_group("gloo")
torch.set_num_threads(1)
mesh = init_device_mesh("cpu", (dist.get_world_size(),))
x = distribute_tensor(torch.rand(64, 64), mesh, [Shard(0)])
told = hr.dispatch(lambda a: (a + a).relu(), x, max_time="200ms", name="mine")
assert told["miss"] > told["latency"] > 0 and told["hit over local"] is not None, told
assert set(told.operators["operator"]) == {"aten.add.Tensor", "aten.relu.default"}, told.operators
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step():
    optimizer.zero_grad()
    model(torch.ones(4, 64)).sum().backward()
    optimizer.step()
assert hr.dispatch(lambda: x + x, mesh, max_time=0.1)["miss"] > 0
trained = hr.ddp(model, step, max_time="200ms")
assert trained["without reduction"] > 0 and trained["exposed communication"] is not None
assert any(trained.operators["communicates"])
try:
    hr.ddp(torch.nn.Linear(4, 4), step)
    raise SystemExit("a module that reduces nothing was taken")
except TypeError as error:
    assert "fully_shard" in str(error)
def sometimes(a):
    if dist.get_rank() == 1: raise ValueError("no")
    return a + a
try:
    hr.dispatch(sometimes, x, max_time="200ms")
    raise SystemExit("a rank that raises was taken")
except hr.CommandFailed as error:
    assert "rank 1: ValueError: no" in str(error), error
def same(kept):
    return all(torch.equal(a, b) for a, b in kept)
def copies(of):
    return [(one, one.detach().clone()) for one in of]
def moments(optimizer):
    return {key: value for state in optimizer.state.values() for key, value in state.items()}
torch.manual_seed(3)
layers = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.BatchNorm1d(16))
replicas = torch.nn.parallel.DistributedDataParallel(layers)
adam = torch.optim.Adam(replicas.parameters(), lr=0.1)
data = torch.rand(8, 16) + dist.get_rank()
broken = 0
def train():
    global broken
    adam.zero_grad()
    replicas(data).square().sum().backward()
    adam.step()
    if broken:
        broken -= 1
        if not broken: raise ValueError("enough")
kept, nothing = copies([*layers.parameters(), *layers.buffers()]), moments(adam)
hr.ddp(replicas, train, max_time="200ms")
assert same(kept) and not nothing and not moments(adam), "a fresh optimizer is fresh again"
assert all(one.grad is None for one in layers.parameters())
train()
adam.param_groups[0]["lr"] = 0.05
kept = copies([*layers.parameters(), *layers.buffers(), *(one.grad for one in layers.parameters()), *moments(adam).values()])
gradients = [one.grad.clone() for one in layers.parameters()]
hr.ddp(replicas, train, max_time="200ms")
assert same(kept[:len(list(layers.parameters())) + len(list(layers.buffers()))])
assert all(torch.equal(one.grad, was) for one, was in zip(layers.parameters(), gradients))
assert same([(value, was) for value, (_, was) in zip(moments(adam).values(), kept[-len(moments(adam)):])])
assert adam.param_groups[0]["lr"] == 0.05
broken = 3
try:
    hr.ddp(replicas, train, max_time="200ms")
    raise SystemExit("a step that raises was taken")
except hr.CommandFailed as error:
    assert "enough" in str(error), error
assert same(kept[:len(list(layers.parameters())) + len(list(layers.buffers()))]), "restored where a step raises, too"
everywhere = [None] * dist.get_world_size()
dist.all_gather_object(everywhere, [one.tolist() for one in layers.parameters()])
assert all(one == everywhere[0] for one in everywhere), "replicas differ"
fixed = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8), static_graph=True)
told_static = hr.ddp(fixed, lambda: fixed(torch.ones(2, 8)).sum().backward(), max_time="200ms")
assert told_static["latency"] > 0 and "static_graph=True" in repr(told_static), told_static
assert "static_graph" in told_static.notes["without reduction"]
try:
    told_static["exposed communication"]
    raise SystemExit("what was not measured has a value")
except KeyError as error:
    assert "no_sync" in str(error), error
print("rank", dist.get_rank(), "of", told.records["axis ranks"][0], "is done", flush=True)
dist.barrier()
dist.destroy_process_group()
"""


class WithTorch(ScratchTest):
    def measure(self, *arguments):
        result = self.call(HEADROOM, *arguments, *BRIEF, "--json", "-", environment={"HEADROOM_PYTHON": PYTHON}, timeout=280)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        return json.loads(result.stdout)["records"], result.stderr

    def test_operators_beside_headrooms_own(self):
        records, said = self.measure("dispatch", *RUNNERS, "--ranks", "2", "--op", "add", "--op", "redistribute", "--shape", "16x16")
        for op in ("add", "redistribute"):
            for metric in ("hit", "miss"):
                found = {record["runner"] for record in records if record["model"]["name"] == op and record["metric"]["name"] == metric and
                         record["outcome"]["kind"] == "measured"}
                self.assertEqual(len(found), len(RUNNERS) // 2, (op, metric))
        self.assertIn("(pytorch)" if len(RUNNERS) > 2 else "add", said)
        mine = [record for record in records if record["runner"] == "pytorch" or len(RUNNERS) == 2]
        self.assertIn("PyTorch", mine[0]["model"]["extra_info"]["library"])

    def test_collectives_are_right(self):
        records, _ = self.measure("ddp", "--collectives", "--runner", "pytorch", "--ranks", "2", "--min-bytes", "1K", "--max-bytes", "1K")
        names = {record["model"]["name"] for record in records if record["outcome"]["kind"] == "measured"}
        self.assertEqual(names, {"all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"})
        self.assertTrue(all(record["verified"] for record in records))

    def test_training(self):
        records, _ = self.measure("ddp", "--runner", "pytorch", "--model", "mlp", "--ranks", "2", "--batch-size", "2")
        parts = {record["metric"]["name"] for record in records if record["model"]["name"] == "mlp"}
        self.assertLessEqual({"without reduction", "exposed communication", "forward", "backward", "step"}, parts)

    def test_code_of_ones_own_under_torchrun(self):
        self.write("script.py", SCRIPT)
        result = self.assert_exit(self.call(PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--log-dir",
                                            self.folder / "logs", "script.py", timeout=200), 0)
        for rank in (0, 1):
            self.assertIn(f"rank {rank} of 2 is done", result.stdout)


class WithoutTorch(ScratchTest):
    def test_its_absence_is_told(self):
        self.write("python", '#!/bin/sh\nexec ' + sys.executable + ' -S "$@"\n').chmod(0o755)
        self.assert_exit(self.call(HEADROOM, "dispatch", "--runner", "pytorch", "--ranks", "1", "--op", "add", "--no-store",
                                   environment={"HEADROOM_PYTHON": str(self.folder / "python")}), 2,
                         stderr=("has no PyTorch with DTensor", "pip install torch"))


if __name__ == "__main__":
    probe = "import torch.distributed.tensor"
    if subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode != 0:
        print(f"skipped but for its absence: {PYTHON} has no torch 2 (pip install torch; HEADROOM_TORCH_PYTHON names another Python)")
        unittest.main(defaultTest="WithoutTorch")
    unittest.main()
