# SPDX-License-Identifier: Apache-2.0
"""headroom.cache with the inductor of torch 2."""
import os
import subprocess
import sys
import unittest

from scratch import ScratchTest

PYTHON = os.environ.get("HEADROOM_TORCH_PYTHON") or sys.executable


class Inductor(ScratchTest):
    def test_its_caches_are_where_the_layer_has_them(self):
        self.write("model.py", """
            def build():
                import torch
                compiled = torch.compile(lambda x: (x.sin() + 1).sum())
                x = torch.ones(64, requires_grad=True)
                compiled(x).backward()
            """)
        self.write("measure.py", """
            import json, headroom as hr
            cached = hr.cache("model:build", layers=["inductor"], repeat=1, each_layer=True)
            print(json.dumps([sorted(cached.without_s), cached.cold_s, cached.warm_s]))
            """)
        result = self.assert_exit(self.call(PYTHON, "measure.py", timeout=280), 0, stderr="cold runs were cold")
        for cache in ("inductor.aot_autograd", "inductor.code", "inductor.fx_graph", "inductor.headers"):
            self.assertIn(f'"{cache}"', result.stdout)
        # Lists caches that belong to no layer.
        self.assertNotIn("TMPDIR/torchinductor", result.stderr)


if __name__ == "__main__":
    probe = "import torch, sys; sys.exit(not hasattr(torch, 'compile'))"
    if subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode != 0:
        print(f"skipped: {PYTHON} has no torch 2 (pip install torch; HEADROOM_TORCH_PYTHON names another Python)")
        sys.exit(77)
    unittest.main()
