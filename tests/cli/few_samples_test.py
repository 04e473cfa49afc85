# SPDX-License-Identifier: Apache-2.0
"""No verdict from too few samples: the median has an interval from six on."""
import json
import unittest

from command_line import CommandLineTest, faulty, headroom, records_of
from diff_test import record

FEWEST = 6
CLAIMS = {"regression", "improvement", "same"}


class FewSamplesTest(CommandLineTest):
    def write(self, name, factor, counts):
        """Writes a case for each of `counts`."""
        records = [record(f"case{i}", [factor * (10 + 0.001 * (j * 7 % 5)) for j in range(count)])
                   for i, count in enumerate(counts)]
        return self.write_file(name, {"headroom": {"schema": 3}, "records": records,
                                      "environments": [{"fingerprint": "m", "session": name}]})

    def compared(self, factor, before, after, *options):
        told = headroom("diff", "--run-spread", "0%", "--json", "-", *options, self.write("before.json", 1, before),
                        self.write("after.json", factor, after))
        return told.returncode, json.loads(told.stdout)["comparisons"]

    def test_diff(self):
        for count in range(1, FEWEST + 1):
            for factor in (1, 3, 1 / 3):
                for before, after in (([count], [count]), ([count], [100]), ([100], [count])):
                    with self.subTest(count=count, factor=factor, before=before):
                        code, [entry] = self.compared(factor, before, after, "--gate", "3%")
                        if count < FEWEST:
                            self.assertEqual(code, 3)
                            self.assertNotIn(entry["verdict"], CLAIMS)
                        else:
                            claims = {1: ("same", 0), 3: ("regression", 1), 1 / 3: ("improvement", 0)}
                            self.assertEqual((entry["verdict"], code), claims[factor])
                        if entry["low"] is None:
                            self.assertNotIn(entry["verdict"], CLAIMS)

    def test_diff_of_several_cases_needs_more_of_each(self):
        """Claims on one of many cases need more samples."""
        code, entries = self.compared(3, [FEWEST] * 20, [FEWEST] * 20, "--gate", "3%")
        self.assertEqual(code, 3)
        self.assertEqual({entry["verdict"] for entry in entries}, {"inconclusive"})
        self.assertEqual({entry["reason"] for entry in entries}, {"too few samples"})

    def test_a_gate_on_a_tail(self):
        for count in range(1, FEWEST + 1):
            code, [entry] = self.compared(3, [count], [count], "--gate", "50%,p95 5%")
            self.assertNotIn(entry["tails"][0]["verdict"], CLAIMS, count)
            _, [entry] = self.compared(3, [count], [count], "--shift")
            claimed = {point["percentile"] for point in entry["shift"] if point["verdict"] in CLAIMS}
            self.assertEqual(claimed, set(), count)
        code, [entry] = self.compared(3, [200], [200], "--gate", "50%,p95 5%")
        self.assertEqual((code, entry["tails"][0]["verdict"]), (1, "regression"), "200 are enough")

    def test_ab(self):
        for count in range(1, FEWEST + 1):
            with self.subTest(count):
                result = self.assert_exit(headroom("ab", "sleep 0.001", "sleep 0.05", "--no-store", "--runs", count), 0)
                told = [line for line in result.stdout.splitlines() if "x the time of sleep 0.001" in line]
                self.assertEqual(len(told), 1)
                if count < FEWEST:
                    self.assertNotRegex(told[0], r"slower|faster|same")
                    self.assertIn("inconclusive (too few runs)", told[0])

    def test_targets_of_a_run(self):
        targets, path = self.folder / "targets.toml", self.folder / "records.json"
        for value, verdict in ((1e-9, "ok"), (1e9, "missed")):
            targets.write_text(f'[[target]]\nexperiment = "fine"\nmetric = "GFLOP/s"\ndevice = "cpu"\nvalue = {value}\n')
            for count in range(1, FEWEST + 1):
                with self.subTest(count, verdict=verdict):
                    result = faulty("fine", "--num-samples", count, "--targets", targets, "--fail-below-target",
                                    "--json", path)
                    [rate] = [r for r in records_of(path) if r["metric"].get("headline")]
                    self.assertIn("target", rate["metric"])
                    if "interval" in rate:
                        self.assert_exit(result, 0 if verdict == "ok" else 1)
                    else:
                        self.assert_exit(result, 3)
                        self.assertNotRegex(result.stdout, rf"\b{verdict}\b")
                        self.assertIn("inconclusive", result.stdout)
                    if count < FEWEST:
                        self.assertNotIn("interval", rate)


if __name__ == "__main__":
    unittest.main()
