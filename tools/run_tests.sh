#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs ctest in a build folder and closes with one line, "N passed, N failed[, N skipped]".
#   tools/run_tests.sh BUILD_FOLDER [CTEST ARGUMENT...]
set -uo pipefail

build=$1
shift
results="$(cd "$build" && pwd)/test_results.xml"
rm -f "$results"

# As many at once as there are CPUs; a test whose outcome hangs on what it measures is marked RUN_SERIAL or PROCESSORS.
# No terminal on the tests' standard input: a test that waits for a key must fail, not hang.
ctest --test-dir "$build" --parallel "${JOBS:-$(nproc)}" --output-on-failure --no-tests=error --output-junit "$results" "$@" </dev/null
status=$?
"${PYTHON:-python3}" "$(dirname "${BASH_SOURCE[0]}")/test_summary.py" "$results" || status=1
exit "$status"
