# SPDX-License-Identifier: Apache-2.0
"""Decoding with models: parameters, reports, models that are too large."""
import csv
import json
import unittest

from command_line import BIN, CommandLineTest, headroom, records_of

# One layer and the ends of the model: about 0.6 GB.
SMALL = ["llama2_7b_int8", "--layers", "1", "--prompt-len", "3", "--max-new-tokens", "4", "--no-limits", "--no-store"]


class LlmTest(CommandLineTest):
    def test_what_a_model_reports(self):
        file, table = self.folder / "records.json", self.folder / "llm.csv"
        self.assert_exit(headroom("run", *SMALL, "--num-samples", "7", "--json", file, "--output", table), 0,
                         "tokens/s")
        records = {record["metric"]["name"]: record for record in records_of(file)}
        headlines = {name for name, record in records.items()
                     if record["metric"].get("headline")}
        self.assertEqual(headlines, {"token_per_sec", "memory_bandwidth(GB/s)", "compilation_time(s)"})
        rate = records["token_per_sec"]
        self.assertTrue(rate["verified"])
        self.assertEqual(rate["model"]["type"], "OSS model")
        self.assertEqual(sum(len(process["values"]) for process in rate["samples"]), 7)
        self.assertEqual(dict(rate["axes"]), {"layers": 1, "prompt_len": 3, "max_new_tokens": 4, "dtype": "int8"})
        # int8 weights and bf16 scales of one layer and the output, three norms; no embedding.
        activated = (4096 * 12288 + 4096 * 4096 + 3 * 4096 * 11008 + 32000 * 4096) + 2 * (
            12288 + 4096 + 2 * 11008 + 4096 + 32000 + 3 * 4096)
        self.assertAlmostEqual(records["memory_bandwidth(GB/s)"]["metric"]["value"] / rate["metric"]["value"] * 1e9,
                               activated, delta=activated * 1e-6)
        self.assertGreater(records["compilation_time(s)"]["metric"]["value"], 0)
        rows = list(csv.DictReader(table.read_text().splitlines()))
        self.assertEqual([(row["name"], row["metric"], row["dtype"], row["is_model"]) for row in rows],
                         [("Llama-2-7b-chat-hf", metric, "int8", "True")
                          for metric in ("token_per_sec", "memory_bandwidth(GB/s)", "compilation_time(s)")])

    @unittest.skipUnless((BIN / "headroom-torch").exists(), "headroom-torch was not built: libtorch was not found")
    def test_aten_is_measured_in_the_same_rounds_on_the_same_weights(self):
        file = self.folder / "records.json"
        result = headroom("run", *SMALL, "--backend", "native,aten_out", "--num-samples", "4", "--json", file)
        self.assert_exit(result, 0)
        times = {record["model"]["backend"]: record for record in records_of(file) if record["metric"]["name"] == "latency"}
        self.assertEqual(set(times), {"native", "aten_out"})
        for record in times.values():
            self.assertTrue(record["verified"])  # against the same float64 reference
        self.assertLess(times["native"]["max_error"], 0.1)
        self.assertIn("x the time of native", result.stdout)

    def test_one_that_is_too_large_is_skipped_with_the_sizes(self):
        result = headroom("run", "mixtral_8x7b_int8", "--layers", "1000000", "--no-limits", "--no-store")
        self.assert_exit(result, 0)
        for words in ("skipped", "of memory", "are available", "a layer takes 1.35 GiB", "--layers"):
            self.assertIn(words, result.stdout)
        for absurd in (["--layers", str(2**62)], ["--prompt-len", str(2**62)]):
            self.assert_exit(headroom("run", "mixtral_8x7b_int8", *absurd, "--no-limits", "--no-store"), 0, "skipped")

    def test_they_are_listed_and_run_when_named_only(self):
        listed = self.assert_exit(headroom("run", "--list", "--json", "-"), 0)
        offered = {experiment["name"]: experiment for experiment in json.loads(listed.stdout)[0]["experiments"]}
        for name in ("llama2_7b_bf16", "llama2_7b_int8", "mixtral_8x7b_int8"):
            self.assertTrue(offered[name]["on_request"])
        self.assertNotIn("on_request", offered["gemv"])

    def test_options_that_make_no_sense(self):
        self.assert_exit(headroom("run", "llama2_7b_int8", "--layers", "0"), 2)
        self.assert_exit(headroom("run", "llama2_7b_int8", "--num-samples", "0"), 2)
        self.assert_refused(headroom("run", "gemv", "--layers", "4"), "no selected experiment has an axis 'layers'")


if __name__ == "__main__":
    unittest.main()
