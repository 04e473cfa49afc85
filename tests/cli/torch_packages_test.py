# SPDX-License-Identifier: Apache-2.0
"""`headroom run --module FILE.pt2`: AOTInductor packages."""
import os
import subprocess
import tempfile
import unittest
import zipfile
from pathlib import Path

from command_line import CommandLineTest, needs_torch, records_of
from torch_modules_test import ROWS, run

TORCH_PYTHON = os.environ.get("HEADROOM_TORCH_PYTHON")


@needs_torch
class PackagesTest(CommandLineTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.modules = Path(folder.name)
        none = cls.modules / "none.pt2"
        none.write_bytes(b"")
        said = run("--module", none, "--input", ROWS).stderr
        if "needs libtorch 2.5 or newer" in said:
            raise unittest.SkipTest("this headroom-torch has no loader of packages: " + said.splitlines()[-1])
        if not TORCH_PYTHON:
            raise unittest.SkipTest("no Python of PyTorch beside this libtorch: nothing to compile a package with")
        subprocess.run([TORCH_PYTHON, Path(__file__).parent / "torch_package.py", folder.name], check=True, timeout=280,
                       stdout=subprocess.DEVNULL,
                       env={**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(cls.modules / "cache")})

    def source(self, name):
        return self.modules / f"{name}.pt"

    def package(self, name):
        return self.modules / f"{name}.pt2"

    def compared(self, name, *inputs):
        """Returns notes and samples of the package, measured with its source."""
        file = self.folder / "records.json"
        asked = [word for text in inputs for word in ("--input", text)]
        self.assert_exit(run("--module", self.source(name), "--module", self.package(name), *asked, "--json", file), 0)
        records = [record for record in records_of(file) if record["metric"]["name"] == "latency"]
        kinds = {record["model"]["extra_info"]["module_kind"]: record for record in records}
        self.assertEqual(set(kinds), {"TorchScript", "AOTInductor"})
        compiled = kinds["AOTInductor"]
        self.assertTrue(compiled["verified"])
        self.assertEqual(compiled["samples"][0]["rounds"], kinds["TorchScript"]["samples"][0]["rounds"])
        self.assertGreater(min(compiled["samples"][0]["values"]), 0)
        extra = compiled["model"]["extra_info"]
        self.assertEqual(extra["module"], str(self.package(name)))
        self.assertEqual(extra["output"], kinds["TorchScript"]["model"]["extra_info"]["output"])
        self.assertLess(float(extra[f"difference_to_{self.source(name)}"]), 1e-5)
        return extra

    def test_a_tensor(self):
        self.assertEqual(self.compared("layers", ROWS)["output"], "Float[4,8]")

    def test_a_tuple_is_one_as_its_source_gives_it(self):
        self.assertEqual(self.compared("pair", ROWS)["output"], "(Float[4,8], Float[4])")

    def test_two_inputs_are_in_their_order(self):
        extra = self.compared("product", "f32[3,4,5]", "f32[3,5,6]")
        self.assertEqual(extra["output"], "Float[3,4,6]")
        self.assertEqual(extra["input 1"], "f32[3,5,6] normal(0,1)")

    def test_code_that_is_all_its_own(self):
        self.assertEqual(self.compared("doubled", "f32[1024]")["output"], "Float[1024]")

    def test_another_number_of_inputs_is_refused(self):
        one = ["--input", "f32[3,4,5]"]
        self.assert_refused(run("--module", self.package("product"), *one),
                            "product.pt2", "takes 2 inputs, not 1", "--input")
        self.assert_refused(run("--module", self.package("product"), *one, *one, *one), "not 3")
        self.assert_refused(run("--module", self.package("layers")), "layers.pt2", "takes 1 input, not 0")

    def test_inputs_that_it_was_not_compiled_for_are_a_failed_row(self):
        """Its code would read 1024 values in any case."""
        for spec, words in [("f32[1000]", "unmatched dim value at 0, expected: 1024, but got: 1000"),
                            ("f32[2,1024]", "unmatched"),
                            ("u8[1024]", "unmatched dtype"), ("f64[1024]", "unmatched dtype")]:
            with self.subTest(spec=spec):
                result = self.assert_exit(run("--module", self.package("doubled"), "--module", self.source("doubled"),
                                              "--input", spec), 1, "the module threw", words)
                self.assertRegex(result.stdout, r"doubled.pt .*µs")

    def test_a_broken_package_is_refused(self):
        whole = self.package("layers").read_bytes()
        broken = self.folder / "broken.pt2"
        for size in (0, 1, len(whole) // 2, len(whole) - 1):
            with self.subTest(size=size):
                broken.write_bytes(whole[:size])
                self.assert_refused(run("--module", broken, "--input", ROWS), "broken.pt2",
                                    "is not an AOTInductor package")

    def test_a_package_whose_code_is_broken_is_refused(self):
        broken = self.folder / "broken.pt2"
        for kept in (0, 100):
            with self.subTest(kept=kept):
                with zipfile.ZipFile(self.package("layers")) as whole, zipfile.ZipFile(broken, "w") as archive:
                    for member in whole.infolist():
                        data = whole.read(member)
                        name = member.filename.replace("layers/", "broken/", 1)
                        archive.writestr(name, data[:kept] if name.endswith(".so") else data)
                self.assert_refused(run("--module", broken, "--input", ROWS), "broken.pt2",
                                    "is not an AOTInductor package")


if __name__ == "__main__":
    unittest.main()
