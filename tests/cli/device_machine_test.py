# SPDX-License-Identifier: Apache-2.0
"""A machine with a (fake) GPU: `headroom machine`, and the GPU and its noise in records, notes and flags."""
import json
import os
import shutil
import unittest
from pathlib import Path

from command_line import BIN, BRIEF, CommandLineTest, headroom, records_of, run_program

FAKE = Path(os.environ["FAKE_NVML_FOLDER"]) / "new" / "libnvidia-ml.so.1"


class DeviceMachineTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        # The GPU runner must be next to the program.
        self.programs = self.folder / "bin"
        self.programs.mkdir()
        shutil.copy(BIN / "headroom", self.programs / "headroom")
        shutil.copy(BIN / "device_runner", self.programs / "headroom-cuda")
        (self.programs / "headroom-native").symlink_to(BIN / "headroom-native")

    def run_with(self, *arguments, words=""):
        environment = dict(os.environ, HEADROOM_NVML=str(FAKE), FAKE_NVML=words, XDG_DATA_HOME=str(self.folder / "data"))
        return run_program(self.programs / "headroom", *arguments, timeout=250, env=environment)

    def test_topology_names_the_gpus(self):
        run = self.assert_exit(self.run_with("machine", "--topology"), 0)
        self.assertTrue(run.stdout.endswith(
            "  GPU 1: NVIDIA H200, compute capability 9.0, 132 multiprocessors, 140 GiB of memory\n"
            "    driver 580.95.05 for CUDA 13.0, clocks up to 1980 MHz, memory 3201 MHz on 6144 bits, power limit 700 W, "
            "ECC on, MIG off\n"), run.stdout)
        self.assertEqual(run.stdout.count("  GPU "), 2)

    def test_without_a_gpu_nothing_changes(self):
        here = headroom("machine", "--topology")
        without = self.run_with("machine", "--topology", words="no_driver")
        if "  GPU" not in here.stdout and "GPUs" not in here.stdout:
            self.assertEqual(without.stdout, here.stdout)
        self.assert_exit(without, 0)

    def test_a_sweep_has_the_device_beside_the_cpu_and_its_roofs(self):
        path = self.folder / "sweep.json"
        run = self.assert_exit(self.run_with("machine", "--quick", "--threads", "1", "--json", path), 0,
                               "\nbandwidth in GB/s of the best access pattern")
        device = run.stdout[run.stdout.index("\nNVIDIA H200: bandwidth in GB/s"):]
        self.assertRegex(device, r"\nworking set +read *\n")
        self.assertRegex(device, r"\n +256 MiB +19[0-9]0\n")
        self.assertRegex(device, r"\n  medians of \d+ samples? or more")
        self.assertNotIn("thread", device)
        document = json.loads(path.read_text())
        machine = document["environments"][0]["machines"][0]
        self.assertEqual((machine["gpu_info"], machine["gpu_count"], machine["gpu_mem_info"]),
                         ("NVIDIA H200", 2, "140 GiB"))
        self.assertEqual(machine["extra_info"]["gpu_driver"], "580.95.05")
        devices = {record["device"] for record in document["records"]}
        self.assertEqual(devices, {"cpu", "cuda"})
        self.assertTrue(all(record["runner"] == "cuda" for record in document["records"] if record["device"] == "cuda"))
        stored = self.run_with("machine", "--stored")
        self.assertIn("\nNVIDIA H200: bandwidth in GB/s", stored.stdout)

    def test_a_run_names_the_gpu_in_its_records(self):
        path = self.folder / "run.json"
        oss = self.folder / "run.oss.json"
        self.assert_exit(self.run_with("run", "on_device", "--runner", self.programs / "headroom-cuda", "--no-limits",
                                       *BRIEF, "--json", path, "--oss", oss), 0)
        machine = json.loads(path.read_text())["environments"][0]["machines"][0]
        self.assertEqual((machine["name"], machine["gpu_info"], machine["avail_gpu_mem_in_gb"]), ("cpu", "NVIDIA H200", 280))
        uploaded = json.loads(oss.read_text())[0]
        self.assertEqual((uploaded["runners"][0]["name"], uploaded["runners"][0]["type"]), ("cuda", "NVIDIA H200"))
        self.assertEqual(uploaded["benchmark"]["extra_info"]["arch"], "NVIDIA H200")


FAKES = Path(os.environ["FAKE_NVML_FOLDER"])


class DeviceNoiseTest(CommandLineTest):
    def measured(self, driver, words=""):
        """Returns the record and the output."""
        environment = dict(os.environ, FAKE_NVML=words, LD_LIBRARY_PATH=str(FAKES / driver))
        environment.pop("HEADROOM_NVML", None)
        path = self.folder / f"{driver}.json"
        run = self.assert_exit(run_program(BIN / "headroom", "run", "on_device", "--runner", BIN / "device_runner",
                                           "--no-limits", *BRIEF, "--json", path, env=environment), 0)
        records = records_of(path)
        return next(record for record in records if record["metric"]["name"] == "latency"), run.stdout

    def test_each_sample_has_what_the_driver_said(self):
        record, out = self.measured("new")
        self.assertGreater(len(record["samples"]), 0)
        for process in record["samples"]:
            count = len(process["values"])
            device = process["device"]
            self.assertEqual(sorted(device), ["memory_mhz", "power_w", "sm_mhz", "temperature_c", "throttle"])
            self.assertEqual({len(column) for column in device.values()}, {count})
            self.assertEqual(set(device["power_w"]), {412.5})
            self.assertEqual(set(device["memory_mhz"]), {3201})
            self.assertEqual(set(device["temperature_c"]), {61})
            self.assertEqual(set(device["throttle"]), {0})
            # The fake counts up with each query.
            self.assertLessEqual(set(device["sm_mhz"]), {1900, 1901, 1902, 1903, 1904})
            self.assertGreater(len(set(device["sm_mhz"])), 1)
        self.assertFalse([note for note in record["notes"] if "throttled" in note])
        self.assertNotIn("held the device's clocks down", out)

    def test_a_throttled_device_is_noted_and_marked(self):
        for driver in ("new", "old"):
            record, out = self.measured(driver, "throttled")
            count = sum(len(process["values"]) for process in record["samples"])
            self.assertEqual({bits for process in record["samples"] for bits in process["device"]["throttle"]}, {0x24})
            self.assertIn(f"throttled: the device's clocks were held down in {count} of {count} samples (power cap in "
                          f"{count}, software thermal slowdown in {count})", record["notes"])
            self.assertRegex(out, r"\n  H  heat, power or the hardware held the device's clocks down")

    def test_a_driver_that_is_absent_or_fails_costs_only_the_numbers(self):
        for driver, words in (("nowhere", ""), ("new", "no_driver"), ("new", "mute"), ("new", "lost")):
            record, out = self.measured(driver, words)
            self.assertEqual(record["outcome"]["kind"], "measured")
            self.assertGreater(len(record["samples"]), 0)
            for process in record["samples"]:
                self.assertGreater(len(process["values"]), 0)
                self.assertNotIn("device", process)


if __name__ == "__main__":
    unittest.main()
