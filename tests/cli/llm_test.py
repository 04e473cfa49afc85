# SPDX-License-Identifier: Apache-2.0
"""Decoding with models: those of headroom, and the user's own file, prompt, batches and drafts; too large and invalid ones."""
import csv
import json
import pathlib
import struct
import sys
import unittest

from command_line import BRIEF, CommandLineTest, headroom, needs_torch, records_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import gguf_file  # noqa: E402

# One layer and the model's ends: 0.6 GB.
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
        # int8 weights and bf16 scales of a layer and the output, three norms; no embedding.
        activated = (4096 * 12288 + 4096 * 4096 + 3 * 4096 * 11008 + 32000 * 4096) + 2 * (
            12288 + 4096 + 2 * 11008 + 4096 + 32000 + 3 * 4096)
        self.assertAlmostEqual(records["memory_bandwidth(GB/s)"]["metric"]["value"] / rate["metric"]["value"] * 1e9,
                               activated, delta=activated * 1e-6)
        self.assertGreater(records["compilation_time(s)"]["metric"]["value"], 0)
        rows = list(csv.DictReader(table.read_text().splitlines()))
        self.assertEqual([(row["name"], row["metric"], row["dtype"], row["is_model"]) for row in rows],
                         [("Llama-2-7b-chat-hf", metric, "int8", "True")
                          for metric in ("token_per_sec", "memory_bandwidth(GB/s)", "compilation_time(s)")])

    @needs_torch
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
        self.assert_exit(headroom("run", "mixtral_8x7b_int8", "--layers", "1000000", "--no-limits", "--no-store"), 0,
                         "skipped", "of memory", "are available", "a layer takes 1.35 GiB", "--layers")
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


CONFIG = {"dim": 128, "heads": 4, "kv_heads": 2, "hidden": 160, "vocab": 300}
LAYERS = 2
# bf16 (norms are F32 in the file).
ACTIVATED = 2 * (LAYERS * (256 * 128 + 128 * 128 + 3 * 128 * 160 + 2 * 128) + 128 + 300 * 128)
POSITION = 2 * LAYERS * 64 * 2  # keys and values, bf16
RUN = ["--no-limits", "--no-store", "--processes", "1", *BRIEF]


class LlmModelsTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        self.model = self.folder / "small.gguf"
        gguf_file.write_model(self.model, CONFIG, LAYERS, gguf_file.BF16)

    def records(self, *arguments, metric="token_per_sec"):
        file = self.folder / "records.json"
        self.assert_exit(headroom("run", *arguments, *RUN, "--json", file), 0)
        return [record for record in records_of(file) if record["metric"]["name"] == metric]

    def test_decoding_prompts_and_drafts_are_verified(self):
        records = self.records("llm", "--model", self.model)
        self.assertEqual([record["model"]["name"] for record in records], ["llm.decode", "llm.prefill", "llm.verify"])
        for record in records:
            self.assertTrue(record["verified"])
            self.assertLess(record["max_error"], record["tolerance"] if "tolerance" in record else 0.05)
            self.assertEqual(dict(record["axes"])["model"], "small")
            self.assertEqual(dict(record["axes"])["dtype"], "BF16")

    def test_bytes_are_weights_and_the_cache(self):
        for batch, context in ((1, 1), (3, 40)):
            options = ["llm.decode", "--model", self.model, "--batch", batch, "--context", context]
            rate = self.records(*map(str, options))[0]["metric"]["value"]
            bandwidth = self.records(*map(str, options), metric="memory_bandwidth(GB/s)")[0]
            self.assertEqual(dict(bandwidth["axes"])["batch"], batch)
            file = self.folder / "records.json"
            rate = next(r for r in records_of(file) if r["metric"]["name"] == "token_per_sec")["metric"]["value"]
            expected = ACTIVATED + POSITION * batch * (context + 1)
            self.assertAlmostEqual(bandwidth["metric"]["value"] * 1e9 / (rate / batch) / expected, 1, delta=1e-6)

    def test_bytes_of_experts_are_those_that_are_used(self):
        config, layers = {**CONFIG, "experts": 8, "chosen": 2}, LAYERS
        gguf_file.write_model(self.model, config, layers, gguf_file.BF16)
        # Norms and the gate, F32 in the file, become bf16.
        halved = 2 * (2 * layers * 128 + 128 + layers * 8 * 128)
        one = gguf_file.activated_bytes(config, layers, gguf_file.BF16) - halved
        expert = 2 * layers * 3 * 128 * 160
        for batch in (1, 3):
            options = ["llm.decode", "--model", self.model, "--batch", batch, "--context", 4]
            bandwidth = self.records(*map(str, options), metric="memory_bandwidth(GB/s)")[0]
            self.assertTrue(bandwidth["verified"])
            rate = next(r for r in records_of(self.folder / "records.json") if r["metric"]["name"] == "token_per_sec")
            used = 8 * (1 - (1 - 2 / 8) ** batch)  # expected number for random choices
            expected = one + (used - 2) * expert + POSITION * batch * 5
            found = bandwidth["metric"]["value"] * 1e9 / (rate["metric"]["value"] / batch)
            self.assertAlmostEqual(found / expected, 1, delta=1e-6)

    def test_experts_beside_one_for_all_tokens_are_verified(self):
        config = {**CONFIG, "experts": 6, "chosen": 3, "shared": 96}
        gguf_file.write_model(self.model, config, LAYERS, gguf_file.Q8_0, "qwen2moe")
        records = self.records("llm", "--model", self.model)
        self.assertEqual([record["verified"] for record in records], [True] * 3)

    def test_heads_of_a_size_of_their_own_are_verified(self):
        for head in (64, 16):
            gguf_file.write_model(self.model, {**CONFIG, "head": head}, LAYERS, gguf_file.BF16)
            records = self.records("llm", "--model", self.model)
            self.assertEqual([record["verified"] for record in records], [True] * 3, head)

    def test_axes_are_swept(self):
        records = self.records("llm.decode", "--model", self.model, "--batch", "1,4", "--context", "8,16")
        self.assertEqual({(dict(r["axes"])["batch"], dict(r["axes"])["context"]) for r in records},
                         {(1, 8), (1, 16), (4, 8), (4, 16)})

    def test_a_prompt_is_given_by_its_ids(self):
        file = self.write_file("ids.txt", "1, 15\n27 299\n")
        found = {}
        for name, tokens in (("list", "1,15,27,299"), ("file", file), ("other", "1,15,27,298")):
            record, = self.records("llm.prefill", "--model", self.model, "--tokens", str(tokens))
            self.assertEqual(dict(record["axes"])["prompt_len"], 4)
            found[name] = record["model"]["extra_info"]["likeliest"]
        self.assertEqual(found["list"], found["file"])
        self.assertNotEqual(found["list"], found["other"])
        record, = self.records("llm.prefill", "--model", self.model, "--tokens", "1,15", "--prompt-len", "7", "--batch", "2")
        self.assertEqual(dict(record["axes"])["prompt_len"], 7)

    def test_what_does_not_fit_is_skipped_with_the_sizes(self):
        self.assert_exit(headroom("run", "llm.decode", "--model", self.model, "--context", str(2**40), *RUN), 0,
                         "skipped", "with a margin of 5 %", "keys and values 512 TiB", "are available", "a layer takes")

    def test_files_that_are_wrong(self):
        whole = self.model.read_bytes()
        wrong = self.folder / "wrong.gguf"

        def assert_refused(content, *words):
            wrong.write_bytes(content)
            self.assert_refused(headroom("run", "llm", "--model", wrong, *RUN), *words)

        assert_refused(whole[:-1000], "tensor 'output.weight' [300,128] of BF16", "it is truncated or damaged")
        assert_refused(whole[:100], "11 metadata entries, which do not fit in its 100 bytes")
        assert_refused(whole[:400], "the file is truncated: it ends after 400 bytes")
        assert_refused(b"PK" + whole[2:], "this is not a GGUF file")
        assert_refused(whole.replace(b"llama", b"gemma"), "unsupported architecture 'gemma'")
        hidden = gguf_file.text("llama.feed_forward_length") + struct.pack("<II", gguf_file.UINT32, 160)
        assert_refused(whole.replace(hidden, hidden[:-4] + struct.pack("<I", 192)),
                       "tensor 'blk.0.ffn_gate.weight' [160,128] of BF16 at byte", "require [192,128]")
        self.assert_refused(headroom("run", "llm", "--model", self.folder / "none.gguf"), "no such file or folder")
        self.assert_refused(headroom("run", "llm", "--model", self.folder), "there is no config.json")

    def test_options_that_make_no_sense(self):
        self.assert_refused(headroom("run", "llm"), "needs a model: give --model FILE")
        self.assert_refused(headroom("run", "gemv", "--model", self.model), "leave out 'gemv'")
        self.assert_refused(headroom("run", "--tokens", "1"), "--tokens needs a model")
        self.assert_refused(headroom("run", "llm", "--model", self.model, "--tokens", "1,x"), "'x' is not a token id")
        self.assert_refused(headroom("run", "llm", "--model", self.model, "--tokens", "1,300"), "300 is outside the vocabulary of 'small'")
        self.assert_exit(headroom("run", "llm.decode", "--model", self.model, "--layers", "3", *RUN), 1,
                         "has 2 layers, fewer than --layers 3")
        self.assert_refused(headroom("run", "llm.decode", "--model", self.model, "--batch", "0"), "batch")


if __name__ == "__main__":
    unittest.main()
