# SPDX-License-Identifier: Apache-2.0
"""`headroom trace findings` on planted problems (../shared/planted): the right ones, with their costs, in order; and a small run of
bench/trace_truth.py. HEADROOM_SEEDS: number of seeds (default 2)."""
import itertools
import json
import os
import pathlib
import random
import sys
import types
import unittest

from command_line import HEADROOM, CommandLineTest, headroom, run_program

SHARED = pathlib.Path(os.environ.get("HEADROOM_SHARED", pathlib.Path(__file__).resolve().parents[3] / "shared"))
PLANT = SHARED / "planted" / "plant.py"
SEEDS = range(1, int(os.environ.get("HEADROOM_SEEDS", "2")) + 1)
TOLERANCE = 0.15


def load_plant():
    """The generator's functions, without its main()."""
    module = types.ModuleType("plant")
    exec(compile(PLANT.read_text().rsplit("\nmain()", 1)[0], str(PLANT), "exec"), module.__dict__)
    return module


@unittest.skipUnless(PLANT.exists(), "../shared/planted is not here")
class FindingsTest(CommandLineTest):
    def findings(self, *paths, analysis="findings"):
        run = self.assert_exit(headroom("trace", analysis, *paths, "--json", "-", "--no-store"), 0)
        trace = json.loads(run.stdout)["trace"]
        found = trace["tables"]["findings"]
        # No microsecond counts twice.
        if found:
            self.assertLess(sum(f["further_ns"] for f in found), found[0]["recoverable_ns"] / found[0]["share"])
        return found

    def check_first(self, name, expected, found):
        with self.subTest(name, found=found):
            if expected["kind"] is None:
                self.assertEqual(found, [])
                return
            cost = expected["cost_us_per_step"] * 1000
            self.assertEqual(found[0]["kind"], expected["kind"])
            self.assertLess(abs(found[0]["recoverable_ns"] - cost), TOLERANCE * cost)
            self.assertEqual(found[0]["rank"], expected.get("rank"))

    def test_one_problem(self):
        plant = load_plant()
        for seed in SEEDS:
            folder = self.folder / str(seed)
            sys.argv = ["plant.py", str(folder), "--seed", str(seed)]
            plant.main()
            for name, expected in json.loads((folder / "expected.json").read_text()).items():
                path = folder / name
                paths = sorted(path.iterdir()) if path.is_dir() else [path]
                found = self.findings(*paths)
                self.check_first(f"seed {seed}: {name}", expected, found)
                summary = self.findings(*paths, analysis="summary")
                self.assertEqual(summary, found)

    def test_where_it_is(self):
        plant = load_plant()
        plant.one_rank(self.folder, "item", 6, item_every=4)
        found = self.findings(self.folder / "item.json")[0]
        self.assertEqual(found["op"], "aten::item")
        self.assertEqual(found["line"], "train.py(41): log_loss")
        plant.late_rank(self.folder, "late", 6, 4, 2, 3000.0)
        found = self.findings(*sorted((self.folder / "late").iterdir()))[0]
        self.assertEqual((found["rank"], found["op"]), (2, "aten::randperm"))

    def test_several_problems(self):
        """Problems aggravate each other: the first findings together gain what the clean program gains."""
        plant = load_plant()
        for seed in SEEDS:
            draw = random.Random(seed)
            every = {"data_loading": {"loader_us": float(draw.randint(6, 30) * 500)},
                     "exposed_copy": {"copy_us": float(draw.randint(4, 20) * 500)},
                     "exposed_communication": {"comm_us": float(draw.randint(4, 14) * 250)},
                     "synchronisation": {"item_every": draw.choice([4, 5, 8])},
                     "device_allocation": {"malloc_us": float(draw.randint(4, 20) * 100)},
                     "launch_bound": {"tiny": draw.randint(150, 500)}}
            for count in (2, 2, 3, 3):
                kinds = draw.sample(sorted(every), count)
                step = {}
                for number in range(count + 1):
                    for some in itertools.combinations(kinds, number):
                        how = {key: value for kind in some for key, value in every[kind].items()}
                        step[frozenset(some)] = plant.one_rank(self.folder, "several", 6, **how)

                def cost(*gone):
                    return step[frozenset(kinds)] - step[frozenset(kinds) - set(gone)]
                found = self.findings(self.folder / "several.json")
                said = {f["kind"]: f["recoverable_ns"] / 1000 for f in found}
                with self.subTest(seed=seed, cost={kind: cost(kind) for kind in kinds}, all=cost(*kinds), said=said):
                    self.assertEqual(set(said), set(kinds))
                    for kind, us in said.items():
                        self.assertLess(abs(us - cost(kind)), TOLERANCE * cost(kind))
                    together = 0
                    for number, one in enumerate(found):
                        together += one["further_ns"] / 1000
                        true = cost(*(f["kind"] for f in found[:number + 1]))
                        self.assertLess(abs(together - true), TOLERANCE * true)
                    for before, after in itertools.pairwise(said.values()):
                        self.assertGreaterEqual(before, after)
                    overlap = sum(said.values()) - together
                    if count == 2 and overlap > 0.2 * max(said.values()):
                        text = headroom("trace", "findings", self.folder / "several.json", "--no-store").stdout
                        self.assertIn("1 and 2 overlap: ", text)


TRUTH = pathlib.Path(__file__).resolve().parents[2] / "bench" / "trace_truth.py"


class TraceTruthTest(CommandLineTest):
    def run_truth(self, program, *options):
        done = run_program(sys.executable, TRUTH, "--headroom", program, *options, "--json", "-", timeout=280)
        return done, json.loads(done.stdout)

    def test_gains_are_the_truth(self):
        done, results = self.run_truth(HEADROOM, "--programs", "33", "--healthy", "12", "--seed", "7")
        self.assert_exit(done, 0)
        self.assertEqual(len(results), 45)
        self.assertEqual(len({result["row"] for result in results}), 12)

    def test_a_program_that_finds_nothing_is_wrong(self):
        silent = self.script("silent", "echo '{\"trace\": {\"tables\": {\"findings\": []}}}'")
        done, results = self.run_truth(silent, "--programs", "4", "--healthy", "1", "--only", "late device")
        self.assert_exit(done, 1)
        self.assertEqual([result["right"] for result in results], [False] * 4)

    def test_a_false_alarm_is_wrong(self):
        loud = self.script("loud", "echo '{\"trace\": {\"tables\": {\"findings\": [{\"kind\": \"straggler\", \"rank\": 0,"
                                   " \"recoverable_ns\": 1, \"share\": 0.001}]}}}'")
        done, results = self.run_truth(loud, "--programs", "0", "--healthy", "2")
        self.assert_exit(done, 1)
        self.assertEqual([result["right"] for result in results], [False] * 2)


if __name__ == "__main__":
    unittest.main()
