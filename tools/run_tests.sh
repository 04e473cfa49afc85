#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs ctest in a build folder. The last line is "N passed, N failed[, N skipped]"; exits with 1 if a test
# failed. A failed test with the label `timing`, which needs a quiet machine, runs once more, alone, and the
# line before the last names it. --once: no test runs twice.
#
#   tools/run_tests.sh [--once] BUILD_FOLDER [CTEST ARGUMENT...]
set -uo pipefail

is_repeated=true
if [ "$1" = --once ]; then is_repeated=false; shift; fi
build=$(cd "$1" && pwd)
shift
first="$build/test_results.xml"
again="$build/test_results_alone.xml"
rm -f "$first" "$again"

summary() { "${PYTHON:-python3}" "$(dirname "${BASH_SOURCE[0]}")/test_summary.py" "$@"; }
timing_tests() { ctest --test-dir "$build" --show-only --label-regex '^timing$' | sed -n 's/^ *Test *#[0-9]*: //p'; }

# One job more than CPUs, because many tests wait; tests that measure are RUN_SERIAL or have PROCESSORS.
# Standard input is no terminal: a test that waits for a key must fail, not hang.
options=(--test-dir "$build" --output-on-failure --no-tests=error)
ctest "${options[@]}" --parallel "${JOBS:-$(($(nproc) + 1))}" --output-junit "$first" "$@" </dev/null

repeated=
if $is_repeated; then repeated=$(summary --failed "$first" | grep -Fx -f <(timing_tests) | paste -sd '|'); fi
if [ -n "$repeated" ]; then
  echo "once more, alone: ${repeated//|/, }"
  ctest "${options[@]}" --tests-regex "^($repeated)\$" --parallel 1 --output-junit "$again" </dev/null
  summary "$first" "$again"
else
  summary "$first"
fi
