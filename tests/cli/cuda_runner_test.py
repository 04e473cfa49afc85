# SPDX-License-Identifier: Apache-2.0
"""headroom-cuda with a fake driver; tests/device needs a GPU."""
import json
import os
import pathlib
import shutil
import unittest

from command_line import BIN, BRIEF, HEADROOM, NATIVE, CommandLineTest, headroom, run_program

CUDA = BIN / "headroom-cuda"
FAKE_DRIVER = os.environ.get("HEADROOM_FAKE_CUDA", "")


def with_driver(**answers):
    """With the fake driver; CUDA_VISIBLE_DEVICES only if given."""
    environment = {name: value for name, value in os.environ.items() if name != "CUDA_VISIBLE_DEVICES"}
    return {**environment, "LD_LIBRARY_PATH": FAKE_DRIVER, **{name: str(value) for name, value in answers.items()}}


@unittest.skipUnless(CUDA.exists(), "headroom-cuda was not built: CUDA 12 or newer was not found")
class CudaRunnerTest(CommandLineTest):
    def assert_said(self, environment, *words):
        """As `headroom run` and the runner itself report."""
        self.assert_refused(headroom("run", "limit.read", "--backend", "cuda", env=environment), *words)
        alone = run_program(CUDA, "limit.read", env=environment)
        self.assert_refused(alone, *words)

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

    @unittest.skipIf(pathlib.Path("/proc/driver/nvidia/version").exists(), "this machine has NVIDIA's driver")
    def test_a_missing_driver_is_told(self):
        self.assert_said(dict(os.environ, LD_LIBRARY_PATH=""), "libcuda.so.1 was not found", "install NVIDIA's driver")

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


if __name__ == "__main__":
    unittest.main()
