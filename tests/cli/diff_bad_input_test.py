# SPDX-License-Identifier: Apache-2.0
"""`headroom diff` on damaged, odd or very large files."""
import json
import os
import unittest

from command_line import HEADROOM, CommandLineTest, headroom, run_program

HEAD = '{"headroom": {"schema": 1}, "environments": [{"timestamp": 1790000000}], "records": ['


def record(name="x", values="1,2,3,1,2,3,1,2", unit="us", value="2", **more):
    """Returns text, because JSON values cannot express all cases."""
    rest = "".join(f', "{key}": {text}' for key, text in more.items())
    return (f'{{"benchmark": {{"name": "b"}}, "model": {{"name": "{name}"}}, "metric": {{"name": "latency", '
            f'"unit": "{unit}", "direction": "lower", "value": {value}}}, "outcome": {{"kind": "measured"}}, '
            f'"environment": 0, "samples": [{{"values": [{values}]}}]{rest}}}')


class DiffBadInputTest(CommandLineTest):
    def write(self, name, *records):
        return self.write_file(name, HEAD + ",\n".join(records) + "]}")

    def setUp(self):
        super().setUp()
        self.good = self.write("good.json", record())

    def refused(self, text, *words):
        path = self.write_file("bad.json", text)
        for operands in ((self.good, path), (path, self.good)):
            self.assert_refused(headroom("diff", *operands), "bad.json", *words)

    def test_devices_without_an_end_are_refused(self):
        for arguments in (("diff", "/dev/urandom", self.good), ("diff", self.good, "/dev/zero"),
                          ("diff", "--gate-file", "/dev/zero", self.good, self.good),
                          ("diff", "--format", "ddp", "/dev/zero", "/dev/zero"),
                          ("trace", "/dev/zero"), ("trace", "validate", "/dev/urandom"),
                          ("history", "import", "/dev/urandom", "--store", self.folder / "h.sqlite")):
            with self.subTest(arguments):
                result = headroom(*arguments, timeout=20)
                self.assert_refused(result, "is a device, which may never end")
        with open("/dev/zero", "rb") as zero:
            result = headroom("diff", "/dev/stdin", self.good, stdin=zero)
        self.assert_refused(result, "is a device, which may never end")

    def test_what_comes_through_standard_input_is_read(self):
        with open(self.good, "rb") as good:
            result = headroom("diff", "/dev/stdin", self.good, stdin=good)
        self.assert_exit(result, 0)
        self.assert_refused(headroom("diff", "/dev/null", self.good), "is empty")

    def test_byte_order_marks(self):
        google = ('{"context": {}, "benchmarks": [{"name": "a", "run_type": "iteration", "real_time": 1, '
                  '"cpu_time": 1, "time_unit": "ns", "iterations": 1}]}')
        for text in (self.good.read_text(), google):
            path = self.folder / "marked.json"
            path.write_text(text, encoding="utf-8-sig")
            self.assert_exit(headroom("diff", path, path), 0)
            path.write_text(text, encoding="utf-16")
            self.assert_refused(headroom("diff", path, path), "marked.json: is UTF-16", "convert it to UTF-8")

    def test_text_cut_at_every_kind_of_place_names_the_byte(self):
        text = self.good.read_text()
        for cut in (len(text) - 1, text.index('"values"') + 15, text.index('"unit"') + 3, text.index("b") + 1, 60):
            with self.subTest(text[cut - 5:cut]):
                self.refused(text[:cut], f"at byte {cut}", "the file ends there")

    def test_wrong_types(self):
        text = self.good.read_text()
        for right, wrong, path in (('"unit": "us"', '"unit": 3', "/records/0/metric/unit"),
                                   ("[1,2,3,1,2,3,1,2]", '"many"', "/records/0/samples/0/values: expected an array"),
                                   ("[1,2,3,1,2,3,1,2]", '[1,"2"]', "/records/0/samples/0/values: expected a number"),
                                   ('"environment": 0', '"environment": -1', "/records/0/environment"),
                                   ('"environment": 0', '"environment": 7', "is 7, but the file has 1"),
                                   ('"direction": "lower"', '"direction": "up"', "'lower', 'higher', 'unknown', found 'up'"),
                                   ('"records": [', '"records": 7, "x": [', "/records: expected an array"),
                                   ('"schema": 1', '"schema": 99', "use a newer one")):
            with self.subTest(wrong):
                self.assertIn(right, text)
                self.refused(text.replace(right, wrong), path)

    def test_empty_arrays(self):
        self.refused(HEAD + "]}", "holds no results")
        self.refused('{"results": []}', "bad.json")
        self.refused('{"benchmark_results": []}', "holds no measurement")
        self.refused("[]", "bad.json")
        lone = self.write("lone.json", record(values=""))
        self.assert_exit(headroom("diff", self.good, lone), 0, "two single values may be noise")

    def test_numbers_that_json_does_not_have(self):
        for text in ("NaN", "Infinity", "-Infinity", "1e999,2", "+1", "01"):
            with self.subTest(text):
                path = self.write("odd.json", record(values=text))
                result = headroom("diff", self.good, path)
                if text.startswith("1e999"):  # valid JSON, but beyond the bounds
                    self.assert_exit(result, 0, "odd.json: /records/0/samples/0/values/0: inf is no measurement")
                else:
                    self.assert_refused(result, "odd.json", "not JSON at byte")

    def test_values_that_have_no_ratio_are_counted(self):
        for values, bad in (("0,1,2,1", 1), ("-1,-2,1", 2), ("null,1,2", 1), ("-0.0,1", 1)):
            with self.subTest(values):
                path = self.write("odd.json", record(values=values))
                result = headroom("diff", "--gate", "3%", self.good, path)
                self.assert_exit(result, 2)
                self.assertIn(f"{bad} of {values.count(',') + 1} values of the candidate are zero, negative or not a number",
                              result.stdout)

    def test_duplicates_are_joined_or_refused(self):
        twice = self.write("twice.json", record(), record(unit="ms", values="0.001,0.002,0.003"))
        self.assert_exit(headroom("diff", self.good, twice), 0, stderr="joined 2 runs of 1 result")
        self.refused(HEAD + record() + "," + record(unit="tokens/s") + "]}", "units 'us' and 'tokens/s' cannot be converted")

    def test_mixed_units(self):
        ms = self.write("ms.json", record(unit="ms", values="0.002,0.004,0.006,0.002,0.004,0.006,0.002,0.004"))
        entry = json.loads(headroom("diff", self.good, ms, "--json", "-").stdout)["comparisons"][0]
        self.assertAlmostEqual(entry["ratio"], 2, places=9)
        self.assertEqual(entry["unit"], "us")
        self.assert_exit(headroom("diff", self.good, self.write("bytes.json", record(unit="B"))), 0,
                         "the baseline is in 'us', the candidate in 'B'")

    def test_what_is_no_file(self):
        empty = self.write_file("empty.json", "")
        self.assert_refused(headroom("diff", self.good, empty), "empty.json: is empty")
        self.assert_refused(headroom("diff", self.good, self.folder / "none.json"), "none.json", "No such file")
        folder = self.make_folder("folder")
        self.assert_refused(headroom("diff", self.good, folder), "no *.json, *.jsonl or *.csv file in this folder")
        self.assert_refused(headroom("diff", "--format", "ddp", folder, folder), "is a folder, not a file")
        self.assert_refused(headroom("diff", self.good, "/dev/null"), "/dev/null: is empty")

    def test_a_pipe_that_ends_early(self):
        command = f"'{HEADROOM}' diff '{self.good}' <(head -c 200 '{self.good}')"
        self.assert_refused(run_program("bash", "-c", command), "at byte 200")

    def test_a_hundred_thousand_cases(self):
        many = [record(f"case{i}", "4,2,3,4,2,3,4,2,3,4") for i in range(100_000)]
        paths = [self.write("a.json", *many), self.write("b.json", *reversed(many))]
        output = self.folder / "diff.json"
        self.assert_exit(headroom("diff", *paths, "--json", output), 0, "geometric mean of 100000 matched cases: 1.000")
        comparisons = json.loads(output.read_text())["comparisons"]
        self.assertEqual([entry["case"] for entry in comparisons], [f"case{i}" for i in range(100_000)])
        self.assertEqual({entry["ratio"] for entry in comparisons}, {1})

    def test_two_gigabytes_that_are_none_of_ours(self):
        hole = self.write_file("hole.json", HEAD)
        os.truncate(hole, 2 << 30)
        self.assert_refused(headroom("diff", self.good, hole), "hole.json", "/records/0: expected an object")


if __name__ == "__main__":
    unittest.main()
