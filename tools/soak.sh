#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds with the long tests (ctests labelled `soak`, registered only with -DHEADROOM_SOAK=ON) and runs only those.
#   tools/soak.sh [CTEST ARGUMENT...]      JOBS: jobs of the build, default all CPUs
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

build=build/soak
cmake --preset release -B "$build" -DHEADROOM_SOAK=ON
cmake --build "$build" ${JOBS:+--parallel "$JOBS"}
exec tools/run_tests.sh "$build" -L '^soak$' "$@"
