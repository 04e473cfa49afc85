#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks headroom-cuda on a machine with a GPU and closes with a short table. The programs are those beside this script
# (tools/pack_for_device.sh makes such a folder), or those of BUILD (default build/release), built first where they are
# not there.
#   check_device.sh [STEP...]      steps: device tests sanitize limits experiments trace table (default: all, in this order)
# Results, logs and traces go to OUT (default device_results). Exits with 1 when a step failed; the others still run.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
OUT=${OUT:-device_results}
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)

if [[ -x $here/bin/headroom ]]; then
  bin=$here/bin tests=$here/tests
else
  root=$(cd "$here/.." && pwd)
  build=${BUILD:-$root/build/release}
  bin=$build/bin tests=$root/tests/device
  if [[ ! -x $bin/headroom-cuda ]]; then
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEADROOM_CUDA=ON -DHEADROOM_TORCH=OFF &&
      cmake --build "$build" --target headroom_programs unit_cuda ||
      { echo "check_device: the build failed; without the packages of packages/ use tools/pack_for_device.sh elsewhere" >&2; exit 2; }
  fi
fi
headroom=$bin/headroom
options="--no-store --processes 1 --threads 1"

device() {
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit --format=csv
  "$headroom" --version
  "$headroom" run --list --backend cuda
}

tests() {
  "$bin/unit_cuda" --gtest_brief=1 && HEADROOM_BIN=$bin python3 "$tests/cuda_device_test.py"
}

# Every kernel once under the checker, on its own small sizes. A launch waits there for its end, and takes a hundred times
# as long, so the times mean nothing.
sanitize() {
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not here: nothing checked"; return 0; }
  local tool=${1:-memcheck} failed=0
  local checked="compute-sanitizer --tool $tool --target-processes all --error-exitcode 9 --launch-timeout 600"
  # shellcheck disable=SC2086
  $checked "$headroom" run limit.read limit.write limit.copy --backend cuda -a bytes=1048576 --num-samples 1 $options \
    --no-limits --timeout 600s || failed=1
  # shellcheck disable=SC2086
  $checked "$headroom" run limit.peak --backend cuda --num-samples 1 $options --no-limits --timeout 600s || failed=1
  # shellcheck disable=SC2086
  $checked "$headroom" run gemv gather_gemv layer_norm mlp_layer_norm_gelu --backend cuda -a D=1000 --num-samples 1 \
    $options --no-limits --timeout 600s || failed=1
  return $failed
}

limits() {
  # shellcheck disable=SC2086
  "$headroom" run limit.read limit.write limit.copy --backend cuda -a bytes=16777216,67108864,1073741824,4294967296 $options \
    --json "$OUT/limits.json" &&
    "$headroom" run limit.read limit.write limit.copy --backend cuda -a bytes=1048576,8388608,33554432 --hot $options \
      --json "$OUT/limits_hot.json" &&
    "$headroom" run limit.peak --backend cuda $options --json "$OUT/peaks.json"
}

experiments() {
  mkdir -p "$OUT/means"
  # shellcheck disable=SC2086
  "$headroom" run --backend cuda,cublas,cublaslt $options --json "$OUT/experiments.json" --output "$OUT/means/means.csv"
}

trace() {
  # shellcheck disable=SC2086
  "$headroom" run gemv layer_norm --backend cuda -a D=4096 --quick $options --trace "$OUT/traces" || return 1
  local file
  for file in "$OUT"/traces/*; do "$headroom" trace utilization "$file" || return 1; done
}

table() {
  python3 "$here/device_table.py" "$OUT"
}

[[ $# -gt 0 ]] || set -- device tests sanitize limits experiments trace table
status=0
for step in "$@"; do
  case $step in
    device|tests|sanitize|limits|experiments|trace|table) ;;
    *) echo "check_device: no step '$step'; steps: device tests sanitize limits experiments trace table" >&2; exit 2 ;;
  esac
  echo "== $step"
  started=$SECONDS
  "$step" 2>&1 | tee "$OUT/$step.log"
  result=${PIPESTATUS[0]}
  case $result in
    0) said=fine ;;
    77) said=skipped ;;
    *) said="FAILED ($result)" status=1 ;;
  esac
  echo "== $step: $said, $((SECONDS - started)) s"
done
exit $status
