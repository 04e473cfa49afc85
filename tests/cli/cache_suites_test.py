# SPDX-License-Identifier: Apache-2.0
"""Suites that need no network: ccache and PoCL. Prints their results."""
import json
import unittest

from command_line import CommandLineTest, headroom, records_of


class ShippedSuitesTest(CommandLineTest):
    def check(self, name, layer):
        path = self.folder / "records.json"
        result = headroom("cache", "--suite", name, "--repeat", 2, "--json", path, "--no-store", timeout=280)
        if result.returncode == 2 and "it lacks" in result.stderr:
            self.skipTest(result.stderr.strip())
        self.assert_exit(result, 0)
        print(result.stdout)
        self.assertIn("cold runs were cold: before each of the 6,", result.stdout)
        records = records_of(path)
        gains = [record for record in records if record["metric"]["name"] == "speedup"]
        self.assertEqual(len(gains), 4, "three models and their geometric mean")
        for record in gains:
            self.assertGreater(record["metric"]["value"], 1, record["model"]["name"])
            self.assertLess(record["interval"]["low"], record["metric"]["value"])
            self.assertGreater(record["interval"]["high"], record["metric"]["value"])
        before, after_cold, _ = (int(n) for n in
                                 records[0]["metric"]["extra_info"][f"layer.{layer}"].split(",")[0].split()[1:])
        self.assertEqual(before, 0)
        self.assertGreater(after_cold, 0)

    def test_ccache(self):
        self.check("ccache", "ccache")

    def test_pocl(self):
        self.check("pocl", "pocl")

    def test_list(self):
        result = self.assert_exit(headroom("cache", "--suite", "list", "--json", "-"), 0)
        suites = {entry["suite"]: entry for entry in json.loads(result.stdout)}
        self.assertLessEqual({"torchbench", "huggingface", "ccache", "pocl", "inductor"}, set(suites))
        self.assertFalse(suites["torchbench"]["runnable"])
        self.assertIn("HEADROOM_SUITE_DIR", suites["torchbench"]["lacking"][0])
        for entry in suites.values():
            self.assertEqual(entry["runnable"], not entry["lacking"])


if __name__ == "__main__":
    unittest.main()
