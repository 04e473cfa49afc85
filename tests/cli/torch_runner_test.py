# SPDX-License-Identifier: Apache-2.0
"""Backends of headroom-torch, also when it is absent."""
import json
import os
import shutil
import unittest

from command_line import BIN, BRIEF, HEADROOM, TORCH, CommandLineTest, headroom, needs_torch, records_of, run_program

SMALL = {"gemv": ["D=1024"], "gather_gemv": ["D=1024"], "layer_norm": ["D=64", "BS=32"],
         "mlp_layer_norm_gelu": ["D=1024", "hidden=1024"]}


@needs_torch
class TorchRunnerTest(CommandLineTest):
    def test_every_experiment_is_right_and_in_one_table_with_native(self):
        for name, axes in SMALL.items():
            with self.subTest(experiment=name):
                file = self.folder / f"{name}.json"
                chosen = [part for axis in axes for part in ("-a", axis)]
                result = headroom("run", name, *chosen, "--backend", "native,aten,aten_out", "--no-limits", "--no-store",
                                  "--processes", "1", "--json", file, *BRIEF)
                self.assert_exit(result, 0)
                times = [record for record in records_of(file) if record["metric"]["name"] == "latency"]
                self.assertEqual({record["model"]["backend"] for record in times}, {"native", "aten", "aten_out"})
                for record in times:
                    self.assertTrue(record["verified"], record)
                # Shared rounds make the ratio paired.
                self.assertIn("x the time of native", result.stdout)

    def test_what_aten_sums_in_bf16_is_right_for_that_and_said_so_and_strictly_refused(self):
        # Below 4096 values ATen 1.13 accumulates bf16 products in bf16, without oneDNN; newer versions must
        # meet the f32 bound.
        file = self.folder / "small.json"
        command = ["run", "gemv", "-a", "D=64", "-a", "dtype=bf16", "--backend", "aten", "--no-limits", "--no-store",
                   "--processes", "1", "--json", file, *BRIEF]
        result = self.assert_exit(headroom(*command), 0)
        record = records_of(file)[0]
        self.assertLess(record["max_error"], record["error_bound"])
        self.assertIn(record["sums_in"], ("bf16", "f32"))
        if record["sums_in"] == "f32":
            self.assertAlmostEqual(record["error_bound"], 1.25 / 256)
            self.assertNotIn("sums in", result.stdout)
            self.assert_exit(headroom(*command, "--strict"), 0)
            return
        self.assertAlmostEqual(record["error_bound"], 1.25 / 256 + 2 * 8 / 256)
        self.assertRegex(result.stdout, r"    sums in bf16, error 0\.\d+ \(bound 0\.067\)\n")
        self.assert_exit(headroom(*command, "--strict"), 1)

    def test_the_record_names_the_blas_and_where_it_is_netlibs_a_line_says_so(self):
        file = self.folder / "blas.json"
        result = self.assert_exit(headroom("run", "layer_norm", "-a", "D=64", "-a", "BS=32", "--backend", "aten",
                                           "--no-limits", "--no-store", "--processes", "1", "--json", file, *BRIEF), 0)
        blas = json.loads(file.read_text())["environments"][0]["dependencies"]["BLAS"]
        self.assertEqual(blas["extra_info"]["runner"], "torch")
        self.assertTrue(os.path.exists(blas["extra_info"]["file"]), blas)
        is_netlibs = blas["extra_info"]["name"] == "reference BLAS"
        self.assertEqual("uses netlib's reference BLAS" in result.stdout, is_netlibs, result.stdout)

    def test_a_runner_that_no_backend_asks_for_is_not_started(self):
        result = self.assert_exit(headroom("run", "--list", "--json", "-"), 0)
        self.assertNotIn('"aten"', result.stdout)
        self.assert_exit(headroom("run", "--list", "--backend", "aten", "--json", "-"), 0, "aten_out")

    def test_started_from_a_shell_it_measures_itself(self):
        self.assert_exit(headroom("run", "--runner", TORCH, "gemv", "-a", "D=1024", "-a", "dtype=bf16", "--no-limits",
                                  "--no-store", "--processes", "1", *BRIEF), 0, "aten")

    def test_the_command_line_does_not_load_torch(self):
        listed = os.popen(f"ldd {HEADROOM}").read()
        self.assertNotIn("torch", listed)


class AbsentRunnerTest(CommandLineTest):
    def test_a_backend_whose_runner_is_not_there_is_refused_with_what_it_needs(self):
        alone = self.folder / "headroom"
        shutil.copy(HEADROOM, alone)
        shutil.copy(BIN / "headroom-native", self.folder / "headroom-native")
        path = os.pathsep.join(folder for folder in os.environ["PATH"].split(os.pathsep)
                               if not os.path.exists(os.path.join(folder, "headroom-torch")))
        result = run_program(alone, "run", "gemv", "--backend", "native,aten", env={**os.environ, "PATH": path})
        self.assert_refused(result, "aten", "headroom-torch", "libtorch-dev")


if __name__ == "__main__":
    unittest.main()
