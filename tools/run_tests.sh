#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs ctest in a build folder and closes with one line, "N passed, N failed[, N skipped]". What failed beside other
# tests runs once more alone: programs that measure are tested on machines that are shared, and a test that passes alone
# is named in the closing line, not hidden. More than three failures are no accident and are not tried again.
# --once: a failure is final, for tests whose luck is their point (fuzz targets).
#   tools/run_tests.sh [--once] BUILD_FOLDER [CTEST ARGUMENT...]
set -uo pipefail

most_again=3
if [ "$1" = --once ]; then most_again=0; shift; fi
build=$(cd "$1" && pwd)
shift
first="$build/test_results.xml"
again="$build/test_results_alone.xml"
rm -f "$first" "$again"

summary() { "${PYTHON:-python3}" "$(dirname "${BASH_SOURCE[0]}")/test_summary.py" "$@"; }

# One more at once than there are CPUs, for many only wait; a test whose outcome hangs on what it measures is marked
# RUN_SERIAL or PROCESSORS.
# No terminal on the tests' standard input: a test that waits for a key must fail, not hang.
options=(--test-dir "$build" --output-on-failure --no-tests=error)
ctest "${options[@]}" --parallel "${JOBS:-$(($(nproc) + 1))}" --output-junit "$first" "$@" </dev/null
if failed=$(summary --failed "$first") && [ "$failed" -ge 1 ] && [ "$failed" -le "$most_again" ]; then
  echo "$failed failed beside other tests; once more, alone:"
  ctest "${options[@]}" --rerun-failed --parallel 1 --output-junit "$again" </dev/null
  summary "$first" "$again"
else
  summary "$first"
fi
