# SPDX-License-Identifier: Apache-2.0
"""headroom-cuda and headroom-torch-cuda without a GPU, with a fake driver; tests/device needs one."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import unittest

from command_line import BIN, BRIEF, HEADROOM, NATIVE, CommandLineTest, headroom, run_program

CUDA, TORCH_CUDA = BIN / "headroom-cuda", BIN / "headroom-torch-cuda"
FAKE_DRIVER = os.environ.get("HEADROOM_FAKE_CUDA", "")


def with_driver(**answers):
    """With the fake driver; CUDA_VISIBLE_DEVICES only if given."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    return {**environment, "LD_LIBRARY_PATH": FAKE_DRIVER, **{name: str(value) for name, value in answers.items()}}


class WithoutDevice:
    def assert_said(self, environment, *words):
        """As `headroom run` and the runner itself report."""
        self.assert_refused(headroom("run", self.case, "--backend", self.backend, env=environment), *words)
        self.assert_refused(run_program(self.runner, self.case, env=environment), *words)

    @unittest.skipIf(pathlib.Path("/proc/driver/nvidia/version").exists(), "this machine has NVIDIA's driver")
    def test_a_missing_driver_is_told(self):
        self.assert_said(dict(os.environ, LD_LIBRARY_PATH=""), "libcuda.so.1 was not found", "install NVIDIA's driver")


@unittest.skipUnless(CUDA.exists(), "headroom-cuda was not built: CUDA 12 or newer was not found")
class CudaRunnerTest(WithoutDevice, CommandLineTest):
    runner, case, backend = CUDA, "limit.read", "cuda"

    def test_a_driver_that_is_too_old_is_told_with_both_versions(self):
        self.assert_said(with_driver(FAKE_CUDA_VERSION=11040), "driver is too old", "supports CUDA 11.4",
                         "this program needs 1")

    def test_devices_that_are_hidden_are_told_with_what_hides_them(self):
        self.assert_said(with_driver(FAKE_CUDA_DEVICES=0, CUDA_VISIBLE_DEVICES=""), "no CUDA device is visible",
                         "CUDA_VISIBLE_DEVICES is empty")
        self.assert_said(with_driver(FAKE_CUDA_INIT=100, CUDA_VISIBLE_DEVICES="7"), "CUDA_VISIBLE_DEVICES=7 selects no")
        self.assert_said(with_driver(FAKE_CUDA_DEVICES=0), "the driver finds none", "nvidia-smi")

    def test_a_driver_that_does_not_start_is_told_with_its_error(self):
        self.assert_said(with_driver(FAKE_CUDA_INIT=803), "cuInit failed with CUDA_ERROR_OF_THE_TEST")

    def test_a_device_that_is_too_old_is_named(self):
        self.assert_said(with_driver(FAKE_CUDA_CAPABILITY=75), "Fake GPU", "compute capability 7.5", "needs 8.0")

    def test_all_backends_go_on_without_it_and_say_so_in_one_line(self):
        environment = with_driver(FAKE_CUDA_DEVICES=0)
        result = self.assert_exit(headroom("run", "--all-backends", "--list", "--json", "-", env=environment), 0)
        offered = {offer["runner"] for offer in json.loads(result.stdout)}
        self.assertIn("native", offered)
        self.assertNotIn("cuda", offered)
        told = [line for line in result.stderr.splitlines() if "headroom-cuda" in line]
        self.assertEqual(len(told), 1, result.stderr)
        self.assertIn("without headroom-cuda: no CUDA device: the driver finds none", told[0])

    def test_a_run_that_does_not_ask_for_it_never_starts_it(self):
        result = self.assert_exit(headroom("run", "--list", env=with_driver(FAKE_CUDA_DEVICES=0)), 0)
        self.assertEqual(result.stderr, "")

    def test_it_offers_the_limits_of_its_device_under_the_names_of_the_host(self):
        result = self.assert_exit(headroom("run", "--list", "--backend", "cuda", "--json", "-", env=with_driver()), 0)
        cuda = next(offer for offer in json.loads(result.stdout) if offer["runner"] == "cuda")
        limits = {experiment["name"]: experiment for experiment in cuda["experiments"] if experiment["limit"]}
        self.assertEqual(set(limits), {"limit.read", "limit.write", "limit.copy", "limit.peak"})
        for limit in limits.values():
            self.assertEqual(limit["device"], "cuda")
            self.assertEqual(limit["backends"], ["cuda"])

    def test_a_device_that_fails_is_a_case_that_fails(self):
        """The fake driver has a device that cannot run anything."""
        self.assert_exit(headroom("run", "limit.peak", "-a", "dtype=f32", "-a", "pattern=fma", "--backend", "cuda",
                                  "--no-store", *BRIEF, env=with_driver()), 1, "cudaSetDevice failed")


class AbsentCudaRunnerTest(CommandLineTest):
    def test_where_it_was_not_built_is_said_what_builds_it(self):
        for program in (HEADROOM, NATIVE):
            shutil.copy(program, self.folder)
        result = run_program(self.folder / "headroom", "run", "--backend", "cuda", env=dict(os.environ,
                                                                                            PATH="/usr/bin:/bin"))
        self.assert_refused(result, "backend 'cuda' needs headroom-cuda", "CUDA toolkit (12 or newer)")


def offers(*arguments, **environment):
    """Returns the offers of each runner: {"cuda": {"gemv": {...}}}."""
    result = headroom("run", "--list", "--json", "-", *arguments, env=with_driver(**environment))
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return {offer["runner"]: {one["name"]: one for one in offer["experiments"]} for offer in json.loads(result.stdout)}


class AbsentTorchCudaRunnerTest(CommandLineTest):
    def test_where_it_was_not_built_is_said_what_builds_it(self):
        for program in (HEADROOM, NATIVE):
            shutil.copy(program, self.folder)
        for backend in ("aten_cuda", "aten_cuda_out"):
            result = run_program(self.folder / "headroom", "run", "gemv", "--backend", f"native,{backend}",
                                 env=dict(os.environ, PATH="/usr/bin:/bin"))
            self.assert_refused(result, f"backend '{backend}' needs headroom-torch-cuda", "libtorch with CUDA",
                                "docs/how-to/torch.md")


@unittest.skipUnless(CUDA.exists(), "headroom-cuda was not built: CUDA 12 or newer was not found")
class LimitsOfItsDeviceTest(CommandLineTest):
    """Copies of headroom-native: only names decide which runners start."""

    def runners(self, *arguments):
        for program in (HEADROOM, NATIVE, CUDA):
            shutil.copy(program, self.folder)
        shutil.copy(NATIVE, self.folder / "headroom-torch-cuda")
        result = self.assert_exit(run_program(self.folder / "headroom", "run", "--list", "--json", "-", *arguments,
                                              env=with_driver(PATH="/usr/bin:/bin")), 0)
        return {offer["runner"] for offer in json.loads(result.stdout)
                if any(one["limit"] and one["device"] == "cuda" for one in offer["experiments"])}

    def test_headroom_cuda_is_started_for_them(self):
        self.assertEqual(self.runners("--backend", "aten_cuda"), {"cuda"})
        self.assertEqual(self.runners("--runner", str(self.folder / "headroom-torch-cuda")), {"cuda"})

    def test_once_where_it_takes_part_itself_and_not_where_nobody_wants_them(self):
        self.assertEqual(self.runners("--backend", "cuda,aten_cuda"), {"cuda"})
        self.assertEqual(self.runners("--backend", "aten_cuda", "--no-limits"), set())
        self.assertEqual(self.runners("--backend", "native"), set())


@unittest.skipUnless(TORCH_CUDA.exists(), "headroom-torch-cuda was not built: no libtorch with CUDA, or no nvcc of its version")
class TorchCudaRunnerTest(WithoutDevice, CommandLineTest):
    runner, case, backend = TORCH_CUDA, "gemv", "aten_cuda"

    def test_a_driver_that_is_too_old_and_devices_that_are_hidden_are_told(self):
        self.assert_said(with_driver(FAKE_CUDA_VERSION=11040), "driver is too old", "supports CUDA 11.4")
        self.assert_said(with_driver(FAKE_CUDA_DEVICES=0, CUDA_VISIBLE_DEVICES=""), "CUDA_VISIBLE_DEVICES is empty")

    def test_all_backends_go_on_without_it_and_say_so(self):
        result = headroom("run", "--all-backends", "--list", "--json", "-", env=with_driver(FAKE_CUDA_DEVICES=0))
        self.assert_exit(result, 0)
        told = [line for line in result.stderr.splitlines() if "headroom-torch-cuda" in line]
        self.assertEqual(len(told), 1, result.stderr)
        self.assertIn("without headroom-torch-cuda: no CUDA device: the driver finds none", told[0])
        self.assertNotIn("aten_cuda", result.stdout)

    def test_its_experiments_are_those_of_the_device_and_fall_into_one_table_with_the_kernels(self):
        found = offers("--backend", "aten_cuda")
        ours = found["torch-cuda"]
        self.assertEqual(set(ours), {"gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu"})
        for name, experiment in ours.items():
            self.assertEqual(experiment["device"], "cuda")
            self.assertEqual(experiment["backends"][0], "aten_cuda")
            if CUDA.exists():
                kernels = found["cuda"][name]
                for same in ("axes", "metric", "device"):
                    self.assertEqual(experiment[same], kernels[same], name)

    def test_a_device_that_fails_is_a_case_that_fails(self):
        self.assert_exit(headroom("run", "gemv", "-a", "D=1024", "-a", "dtype=bf16", "--backend", "aten_cuda",
                                  "--no-store", "--no-limits", *BRIEF, env=with_driver()), 1, "cudaSetDevice failed")

    def test_the_process_has_one_cuda_runtime(self):
        """A second, static runtime would have its own streams and errors."""
        loaded = subprocess.run(["ldd", str(TORCH_CUDA)], capture_output=True, text=True, timeout=60).stdout
        self.assertEqual(len(re.findall(r"libcudart\S* =>", loaded)), 1, loaded)
        self.assertIn("libtorch_cuda.so", loaded)
        nm = shutil.which("nm")
        if nm is None:
            self.skipTest("nm is not here")
        symbols = subprocess.run([nm, "-D", str(TORCH_CUDA)], capture_output=True, text=True, timeout=60).stdout
        imported = set(re.findall(r" U (cuda\w+)", symbols))
        self.assertLessEqual({"cudaEventRecord", "cudaGraphLaunch", "cudaStreamBeginCapture"}, imported)
        own = subprocess.run([nm, "--defined-only", str(TORCH_CUDA)], capture_output=True, text=True, timeout=60).stdout
        self.assertEqual(re.findall(r" T (cuda[A-Z]\w+)", own), [])


if __name__ == "__main__":
    unittest.main()
