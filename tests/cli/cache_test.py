# SPDX-License-Identifier: Apache-2.0
"""`headroom cache` against PyTorch's cachebench.py."""
import json
import os
import pathlib
import shutil
import sys
import unittest

from command_line import CommandLineTest, headroom

PARITY = pathlib.Path(os.environ.get("HEADROOM_SHARED", "")) / "parity" / "cachebench"
# Models that fail in the recorded runs.
FAILING = {"failures": "moco,llama", "all_failed": "nanogpt"}


@unittest.skipUnless(PARITY.is_dir(), "the recorded runs of cachebench.py are not on this machine")
class ParityTest(CommandLineTest):
    def setUp(self):
        super().setUp()
        for name in ("torchbench.py", "huggingface.py"):
            shutil.copyfile(PARITY / "fake_suite.py", self.folder / name)
        self.log, self.output = self.folder / "log", self.folder / "result.json"

    def run_case(self, name, *more):
        environment = dict(os.environ, HEADROOM_SUITE_DIR=str(self.folder), HEADROOM_PYTHON=sys.executable,
                           FAKE_LOG=str(self.log), FAKE_FAIL=FAILING.get(name, ""))
        arguments = (PARITY / f"{name}.args").read_text().split()
        return headroom("cache", *arguments, "--output", self.output, "--no-store", *more, env=environment)

    def assert_same_commands(self, name):
        expected = [json.loads(line) for line in (PARITY / f"{name}.commands.jsonl").read_text().splitlines()]
        self.assertEqual([json.loads(line) for line in self.log.read_text().splitlines()], expected)

    def assert_same_json(self, name):
        expected = json.loads((PARITY / f"{name}.expected.json").read_text())
        self.assertEqual(json.loads(self.output.read_text()), expected)

    def check(self, name, code=0):
        result = self.assert_exit(self.run_case(name), code)
        self.assert_same_commands(name)
        self.assert_same_json(name)
        return result

    def test_default(self):
        self.check("default_torchbench")

    def test_repeats_on_the_cpu(self):
        self.check("huggingface_inference_cpu")

    def test_unknown_flags_are_tolerated_and_named(self):
        result = self.check("dynamic_one")
        self.assertIn("--some-unknown-flag 7", result.stderr)

    def test_failing_models_are_left_out_and_told(self):
        result = self.check("failures", code=1)
        for model in ("moco", "llama"):
            self.assertRegex(result.stdout, rf"{model}.*exit code 3: simulated failure")

    def test_no_results_no_file(self):
        self.assert_exit(self.run_case("all_failed"), 1)
        self.assert_same_commands("all_failed")
        self.assertFalse(self.output.exists())


if __name__ == "__main__":
    unittest.main()
