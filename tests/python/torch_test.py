# SPDX-License-Identifier: Apache-2.0
"""What needs a torch 2 (HEADROOM_TORCH_PYTHON, else this Python's); also without torch."""
import os
import pathlib
import subprocess
import sys
import unittest

from scratch import ScratchTest

PYTHON = os.environ.get("HEADROOM_TORCH_PYTHON") or sys.executable
BRIEF = ("--num-samples", "3", "--processes", "1")


class WithTorch(ScratchTest):
    def measure(self, *arguments, **options):
        options.setdefault("environment", {})["HEADROOM_PYTHON"] = PYTHON
        options.setdefault("timeout", 280)
        return super().measure(*arguments, *BRIEF, **options)

    def assert_all_measured(self, records, said):
        self.assertTrue(records, said)
        for record in records:
            self.assertEqual(record["outcome"], {"kind": "measured", "reason": ""}, record["model"])

    def test_the_experiments_of_gpt_fast(self):
        records, said = self.measured("--python", "gpt_fast", "--backend", "native,torch", "-a", "D=64", "-a", "hidden=128", "-a", "BS=8")
        self.assert_all_measured(records, said)
        latency = [record for record in records if record["metric"]["name"] == "latency"]
        self.assertEqual({(record["model"]["name"], record["model"]["backend"]) for record in latency},
                         {(name, backend) for name in ("gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu")
                          for backend in ("native", "torch")})
        self.assertTrue(all(record["verified"] for record in latency))

    def test_what_torch_compile_compiled_is_told(self):
        records, said = self.measured("--python", "gpt_fast", "layer_norm", "--backend", "torch_compile", "-a", "D=64", "-a", "BS=8")
        self.assertGreater(self.one(records, "torch_compile", "compilation_time(s)")["metric"]["value"], 0)
        self.assertEqual(self.one(records, "torch_compile", "graph breaks")["metric"]["value"], 0)

    def test_compiling_within_samples_is_marked(self):
        self.write("bench.py", """
            import torch, headroom as hr
            @hr.experiment
            def case(state):
                @torch.compile(backend="eager")
                def f(x):
                    torch._dynamo.graph_break()
                    return x + 1
                f(torch.ones(2))
                calls = []
                def body():
                    calls.append(1)
                    f(torch.ones(2, dtype=torch.float64) if len(calls) == 50 else torch.ones(2))
                state.measure(body)
            """)
        _, records, said = self.measure("bench.py")
        told = self.one(records, metric="latency")["model"]["extra_info"]
        self.assertIn("times while it was sampled", told["recompiled"])
        self.assertIn("graph_break", told["graph breaks"])
        self.assertIn("torch.compile recompiled during sampling", said)

    def test_the_models(self):
        records, said = self.measured("--python", "gpt_fast", "llama2_7b_int8", "--backend", "torch", "--layers", "1", "-a",
                                      "max_new_tokens=4", "--timeout", "250s")
        tokens = self.one(records, "torch", "token_per_sec")
        self.assertTrue(tokens["verified"])
        self.assertIn("Llama-2", tokens["model"]["extra_info"]["model"])

    def test_the_experiments_of_gpt_fast_on_a_gpu(self):
        """With a fake GPU."""
        self.write("bench.py", f"""
            import importlib, sys, types
            sys.path.append({str(pathlib.Path(__file__).parent)!r})
            import fake_cuda, torch, torch._dynamo
            from headroom import _cuda, _gpt_fast, _llm, state, timers
            gpu, placed = fake_cuda.FakeCuda(), set()
            there = types.ModuleType("torch_with_a_gpu")
            vars(there).update(vars(torch), cuda=gpu)
            def on_cpu(name):
                made = getattr(torch, name)
                def make(*arguments, device="cpu", **named):
                    placed.add((name, device))
                    return made(*arguments, **named)
                return make
            for name in ("arange", "empty", "ones", "randint", "tensor", "zeros"):
                setattr(there, name, on_cpu(name))
            there.Generator = lambda device: placed.add(("Generator", device)) or torch.Generator()
            _gpt_fast._random = lambda state, shape, dtype, seed=None: state.random(shape, dtype, seed, like="torch")
            for module in (_cuda, _gpt_fast, timers):
                module.importlib = types.SimpleNamespace(import_module=lambda name: there)
            _cuda._used_cuda = lambda: gpu
            compiled = torch.compile
            def compile(function, mode=None, options=None, **named):
                assert mode == "max-autotune-no-cudagraphs" or options == {{"coordinate_descent_tuning": True}}
                return compiled(function, backend="eager", **named)
            there.compile = compile
            measure = state.State.measure
            def counted(self, body, captured=False):
                def copy_body(copy):
                    gpu.launch(copy)
                    return body(copy)
                def plain_body():
                    gpu.launch(0)
                    return body()
                assert captured != self.experiment.startswith("llama")
                assert placed == {{(name, "cuda") for name, _ in placed}}, placed
                measure(self, copy_body if captured else plain_body, captured=captured)
            state.State.measure = counted
            _gpt_fast.declare(("torch_cuda", "torch_compile_cuda"), "cuda")
            """)
        records, said = self.measured("bench.py", "gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu", "--all-backends", "-a",
                                      "D=64", "-a", "hidden=128", "-a", "BS=8")
        self.assert_all_measured(records, said)
        latency = [record for record in records if record["metric"]["name"] == "latency"]
        self.assertEqual(len(latency), 12)
        for record in latency:
            self.assertEqual((record["device"], record["verified"], round(record["metric"]["value"], 6)), ("cuda", True, 1))
            self.assertEqual(record["model"]["extra_info"]["gpu"], "a GPU of the test")
        records, said = self.measured("bench.py", "llama2_7b_int8", "--all-backends", "--layers", "1", "-a", "max_new_tokens=4",
                                      "--timeout", "250s")
        for backend, launches in (("torch_cuda", "one by one, from Python"), ("torch_compile_cuda", "captured into one graph per token")):
            tokens = self.one(records, backend, "token_per_sec")
            self.assertEqual(tokens["model"]["extra_info"]["launches"], launches)
            self.assertEqual(round(tokens["metric"]["value"]), 4_000_000, "an iteration is a generation")

    def test_where_no_gpu_is(self):
        records, said = self.measured("--python", "gpt_fast_cuda", "gemv", "-a", "D=64", environment={"CUDA_VISIBLE_DEVICES": ""})
        self.assertEqual({record["outcome"]["kind"] for record in records}, {"skipped"})
        self.assertIn("sees no GPU", records[0]["outcome"]["reason"])

    def test_several_cases_compile_in_one_process(self):
        records, said = self.measured("--python", "gpt_fast", "gemv", "--backend", "torch_compile", "-a", "D=64,128")
        self.assert_all_measured(records, said)

    def test_modules_in_experiments_have_flops(self):
        self.write("bench.py", """
            import torch, headroom as hr
            from headroom import modules
            @hr.experiment
            def case(state):
                modules.measure(state, torch.nn.Linear(16, 32), (torch.randn(4, 16),))
            @hr.experiment
            def random(state):
                modules.measure(state, torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Dropout()), (torch.randn(4, 16),))
            """)
        _, records, said = self.measure("bench.py")
        flops = [record for record in records if record["model"]["name"] == "case" and record["metric"]["name"] == "GFLOP/s"]
        latency = self.one(records, metric="latency")
        self.assertAlmostEqual(flops[0]["metric"]["value"] * latency["metric"]["value"] * 1e3 / (2 * 4 * 16 * 32), 1, delta=.5)
        wrong = next(record for record in records if record["model"]["name"] == "random")
        self.assertIn("wrong answer", wrong["outcome"]["reason"])

    def test_programs_from_files(self):
        self.write("make.py", """
            import torch
            model, x = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.ReLU()).eval(), torch.randn(2, 8)
            torch.jit.trace(model, x).save("script.pt")
            torch.export.save(torch.export.export(model, (x,)), "exported.pt2")
            """)
        self.assert_exit(self.call(PYTHON, "make.py"), 0)
        files = ("--module", "exported.pt2", "--module", "script.pt")
        records, said = self.measured("--python", "modules", *files, "--input", "f32[2,8]")
        self.assert_all_measured(records, said)
        self.assertEqual({record["model"]["backend"] for record in records}, {"exported", "script"})
        self.assertTrue(self.one(records, "script")["verified"])
        records, _ = self.measured("--python", "modules", *files, "--input", "f32[2,9]", code=1)
        self.write("no.pt2", "nothing")
        code, records, _ = self.measure("--python", "modules", "--module", "no.pt2", "--input", "f32[2,8]")
        self.assertIn("is not a PyTorch program", records[0]["outcome"]["reason"])


class WithoutTorch(ScratchTest):
    def test_its_absence_is_a_reason(self):
        # -S: without site-packages, hence without torch
        self.write("python", '#!/bin/sh\nexec ' + sys.executable + ' -S "$@"\n').chmod(0o755)
        records, said = self.measured("--python", "gpt_fast", "gemv", "-a", "D=64", "-a", "dtype=bf16",
                                      environment={"HEADROOM_PYTHON": str(self.folder / "python")})
        self.assertIn("pip install torch", records[0]["outcome"]["reason"])


if __name__ == "__main__":
    probe = "import torch, sys; sys.exit(not hasattr(torch, 'compile'))"
    if subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode != 0:
        print(f"skipped but for its absence: {PYTHON} has no torch 2 (pip install torch; HEADROOM_TORCH_PYTHON names another Python)")
        unittest.main(defaultTest="WithoutTorch")
    unittest.main()
