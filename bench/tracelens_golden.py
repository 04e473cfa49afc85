#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Golden figures for tests/unit/real_traces: TraceLens on some traces, as JSON.

Needs an environment with TraceLens (its name on PyPI is another project's):

  git clone https://github.com/AMD-AGI/TraceLens && git -C TraceLens checkout 171dd747
  python3 -m venv /tmp/tracelens && /tmp/tracelens/bin/pip install 'pandas<3' tqdm orjson
  PYTHONPATH=TraceLens /tmp/tracelens/bin/python bench/tracelens_golden.py TRACE… > tests/data/trace/tracelens_golden.json

For each file get_df_gpu_timeline in us (doubles): computation, exposed communication and copies, idle and total; communication and
copies in all. If TraceLens fails, the text of its error replaces the figures.
"""
import argparse
import contextlib
import io
import json
import logging
import os
import platform


def timeline(path):
    from TraceLens.TreePerf import TreePerfAnalyzer

    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            analyzer = TreePerfAnalyzer.from_file(path)
            events = [event for event in analyzer.tree.events]
            return {key: value for key, value in analyzer.GPUEventAnalyser(events).compute_metrics().items()}
    except Exception as error:  # a failure of TraceLens is a result, whatever it throws
        return f"{type(error).__name__}: {error}".split("\n")[0].strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", metavar="TRACE", nargs="+")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    files = {os.path.basename(path): timeline(os.path.abspath(path)) for path in arguments.traces}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(figures)}" for name, figures in files.items())
    print(f'{{\n "made_by": "bench/tracelens_golden.py",\n "made_with": {{"TraceLens": "171dd747", "python": "{platform.python_version()}"}},\n'
          f' "files": {{\n{lines}\n }}\n}}')


if __name__ == "__main__":
    main()
