# SPDX-License-Identifier: Apache-2.0
"""GPU noise from a fake driver: in records, notes and flags."""
import os
import unittest
from pathlib import Path

from command_line import BIN, BRIEF, CommandLineTest, records_of, run_program

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
