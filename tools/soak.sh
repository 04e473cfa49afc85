#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs the long tests (label `soak`, registered with -DHEADROOM_SOAK=ON), then the fuzz targets
# (label `fuzz`; Clang, address and undefined behaviour sanitizers) and a million mutations of small traces.
#
#   tools/soak.sh [CTEST ARGUMENT...]      JOBS: jobs of the build, default all CPUs
#                                          FUZZ_SECONDS: time per fuzz target, default 600
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/soak
cmake --preset release -B "$build" -DHEADROOM_SOAK=ON
cmake --build "$build" ${JOBS:+--parallel "$JOBS"}
status=0
tools/run_tests.sh --once "$build" -L '^soak$' "$@" || status=1

build=build/fuzz
cmake --preset fuzz -DHEADROOM_FUZZ_SECONDS="${FUZZ_SECONDS:-600}"
cmake --build "$build" --target fuzz_targets ${JOBS:+--parallel "$JOBS"}
tools/run_tests.sh --once "$build" -L '^fuzz$' "$@" || status=1
exit "$status"
