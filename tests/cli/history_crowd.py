# SPDX-License-Identifier: Apache-2.0
"""8 writers and 8 readers of one history at once, for tests of each kind of database.

HEADROOM_CROWD: how many runs each writer keeps.
"""
import collections
import json
import os
import threading

from command_line import headroom

WRITERS = READERS = 8
RUNS = int(os.environ.get("HEADROOM_CROWD", "3"))
MOST_SECONDS = 60
COMMANDS, SAMPLES = ("a", "b"), 3
READING = (("history", "export", "-"), ("history", "verify"), ("history",), ("show", "@last"))


class Crowd:
    def __init__(self, store, environment):
        self.store, self.environment = store, environment
        self.acknowledged, self.problems, self.reads = set(), [], collections.Counter()
        self.lock, self.is_over = threading.Lock(), threading.Event()

    def call(self, *words):
        return headroom(*words, "--store", self.store, env=self.environment, timeout=MOST_SECONDS)

    def write(self, writer):
        for number in range(RUNS):
            name = f"{writer}.{number}"
            names = [word for command in COMMANDS for word in ("--name", f"{name}{command}")]
            result = self.call("ab", "true", "/bin/true", *names, "--runs", str(SAMPLES))
            with self.lock:
                self.acknowledged.add(name)
                if result.returncode != 0:
                    self.problems.append(f"writer: {result.stderr}")

    def read(self, reader):
        place = reader
        while not self.is_over.is_set():
            words, place = READING[place % len(READING)], place + 1
            with self.lock:
                before = set(self.acknowledged)
            result = self.call(*words)
            self.reads[words] += 1
            if result.returncode != 0:
                # Before a run is acknowledged.
                if before or " yet; " not in result.stderr:
                    self.problems.append(f"{words}: {result.stderr}")
            elif words[:2] == ("history", "export"):
                self.check_export(result.stdout, before)

    def check_export(self, text, before):
        """Each run is whole, and those that were acknowledged before are there."""
        runs = collections.defaultdict(lambda: collections.defaultdict(int))
        for record in json.loads(text)["records"]:
            if record["metric"]["name"] == "latency" and record["model"]["name"][:-1].count(".") == 1:
                runs[record["model"]["name"][:-1]][record["model"]["name"]] += sum(len(part["values"]) for part in record["samples"])
        for name in before - set(runs):
            self.problems.append(f"{name} was acknowledged and is not there")
        for name, counts in runs.items():
            if counts != {name + command: SAMPLES for command in COMMANDS}:
                self.problems.append(f"half a run: {dict(counts)}")

    def run(self):
        def guarded(work, number):
            try:
                work(number)
            except Exception as error:  # record a hang and continue
                self.problems.append(repr(error))
        writers = [threading.Thread(target=guarded, args=(self.write, number)) for number in range(WRITERS)]
        readers = [threading.Thread(target=guarded, args=(self.read, number)) for number in range(READERS)]
        for thread in writers + readers:
            thread.start()
        for thread in writers:
            thread.join()
        self.is_over.set()
        for thread in readers:
            thread.join()


def check_crowd(test, store, environment):
    crowd = Crowd(store, environment)
    crowd.run()
    test.assertEqual(crowd.problems, [])
    test.assertEqual(len(crowd.acknowledged), WRITERS * RUNS)
    test.assertEqual(set(crowd.reads), set(READING))
    result = crowd.call("history", "export", "-")
    test.assert_exit(result, 0)
    crowd.check_export(result.stdout, crowd.acknowledged)
    test.assertEqual(crowd.problems, [])
    test.assert_exit(crowd.call("history", "verify"), 0)
    return crowd.reads
