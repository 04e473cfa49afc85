# SPDX-License-Identifier: Apache-2.0
"""A fixed set of calls of random_arguments.py; HEADROOM_RANDOM_SECONDS: random ones for so long."""
import os
import time
import unittest

from random_arguments import problems

SECONDS = float(os.environ.get("HEADROOM_RANDOM_SECONDS", 0))


class RandomArgumentsTest(unittest.TestCase):
    def test_every_call_ends_as_documented(self):
        seed = int(time.time()) if SECONDS else 20
        calls, found = problems(SECONDS, seed, least=200)
        self.assertGreaterEqual(calls, 200)
        self.assertEqual(found, [], f"seed {seed}:\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
