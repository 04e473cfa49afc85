#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks headroom-cuda on a machine with a GPU within BUDGET seconds (default 570; no step starts with less
# than 10 left). The programs are next to this script (tools/pack_for_device.sh makes such a folder), or in
# BUILD (default build/release), which is built if missing.
#
#   check_device.sh [STEP...]     default: all but compiled and racecheck, in this order
#     device       what the driver and the programs report about the machine
#     smoke        the unit tests that use the GPU, and one case of each kind
#     show         gemv, gather_gemv and layer_norm at the sizes with goals, compared with cuBLAS (and ATen)
#     llm          decoding with Llama 2 7B and Mixtral 8x7B, one graph a token
#     compiled     the experiments compared with torch.compile, if python3 has a torch that sees the GPU
#     trace        CUPTI and torch.profiler traces, read by headroom trace and PyTorch's function, which must agree
#     sanitize     compute-sanitizer's memcheck over every kernel at small sizes, if installed
#     racecheck    the same with racecheck
#     experiments  all sizes of all experiments
#     limits       bandwidths by working set, and arithmetic peaks
#     ranks        headroom ddp and headroom dispatch on one rank with a GPU and on two connected by NCCL, if
#                  headroom-torch-rank is present
#     tests        tests/device
#     table        the results, and which goals they reach
#
# OUT (default: .) receives device_results.tar.gz (logs, records, traces) and device_results.txt (the summary). Both
# are rewritten after each step, in case the machine is lost. BACKENDS (default: ours and those of the installed
# NVIDIA and PyTorch libraries) are compared. Exits with 1 if a step failed or had no time; the others still run.
# shellcheck disable=SC2317
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=$here/$(basename "${BASH_SOURCE[0]}")
known="device smoke show llm compiled trace sanitize racecheck experiments limits ranks tests table"
default="device smoke show llm trace sanitize experiments limits ranks tests table"
declare -A most=([device]=40 [smoke]=90 [show]=220 [llm]=120 [compiled]=200 [trace]=60 [sanitize]=120 [racecheck]=200
  [experiments]=150 [limits]=90 [ranks]=45 [tests]=300 [table]=20)

# Installers often leave the toolkit's and the driver's programs out of PATH.
PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin:/usr/local/nvidia/bin

find_programs() {
  if [[ -x $here/bin/headroom ]]; then
    bin=$here/bin tests=$here/tests tools=$here
    return
  fi
  root=$(cd "$here/.." && pwd)
  build=${BUILD:-$root/build/release}
  bin=$build/bin tests=$root/tests/device tools=$root/tools
  [[ ! -x $bin/headroom-cuda ]] || return 0
  if ! cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEADROOM_CUDA=ON -DHEADROOM_TORCH=OFF ||
    ! cmake --build "$build" --target headroom_programs unit_cuda; then
    echo "check_device: the build failed; without the packages of packages/ use tools/pack_for_device.sh elsewhere" >&2
    exit 2
  fi
}

# cuBLAS comes from the toolkit or from a PyTorch of PyPI.
find_cublas() {
  ldconfig -p 2>/dev/null | grep -q 'libcublas\.so\.1[23]' && return
  local site folder
  site=$(python3 -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' 2>/dev/null) || return 0
  for folder in "${CUDA_HOME:-/usr/local/cuda}"/lib64 "$site"/nvidia/cu13/lib "$site"/nvidia/cublas/lib; do
    if compgen -G "$folder/libcublas.so.1[23]" >/dev/null; then
      export LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
      return
    fi
  done
}

# Prints the wanted backends that a runner offers for the experiments.
backends() {
  local offered wanted=${BACKENDS:-cuda,cublas,cublaslt,aten_cuda}
  # A runner that does not start must not affect the others.
  offered=$("$headroom" run --list --all-backends --json - 2>/dev/null) ||
    offered=$("$headroom" run --list --backend cuda --json - 2>/dev/null) || offered='[]'
  OFFERED=$offered python3 - "$wanted" "$@" <<'PYTHON'
import json, os, sys
offered = {name for runner in json.loads(os.environ["OFFERED"]) for one in runner["experiments"] for name in one["backends"]
           if one["name"] in sys.argv[2:] or not sys.argv[2:]}
wanted = sys.argv[1].split(",")
print(",".join(name for name in wanted if name in offered) or wanted[0])
PYTHON
}

measure() {
  "$headroom" run "$@" --no-store --processes 1
}

device() {
  nvidia-smi --query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.memory,power.limit --format=csv
  nvidia-smi -q -d CLOCK,POWER,PERFORMANCE 2>/dev/null | head -n 60
  "$headroom" --version
  "$headroom" run --list --backend cuda || return 1
  echo "backends compared: $(backends)"
  ldd "$bin/headroom-cuda" | grep 'not found' && return 1
  return 0
}

smoke() {
  local failed=0
  "$bin/unit_cuda" --gtest_brief=1 || failed=1
  measure limit.read limit.copy --backend cuda -a bytes=1073741824 --quick --json "$OUT/smoke_limits.json" || failed=1
  measure limit.peak --backend cuda -a dtype=bf16,fp8,int8 --quick --json "$OUT/smoke_peaks.json" || failed=1
  measure gemv layer_norm mlp_layer_norm_gelu --backend cuda -a D=4096 --quick --json "$OUT/smoke_cases.json" || failed=1
  return "$failed"
}

show() {
  local failed=0
  measure gemv gather_gemv --backend "$(backends gemv)" -a D=16384 --json "$OUT/show_gemv.json" || failed=1
  measure layer_norm --backend "$(backends layer_norm)" -a D=4096,8192,16384 --json "$OUT/show_layer_norm.json" || failed=1
  return "$failed"
}

trace() {
  measure gemv layer_norm mlp_layer_norm_gelu --backend "$(backends)" -a D=4096 --quick --trace "$OUT/traces" \
    --json "$OUT/traced.json"
  python3 "$tools/record_torch_trace.py" "$OUT/traces/torch_profiler.json"
  local file failed=0 same
  for file in "$OUT"/traces/*; do
    "$headroom" trace validate "$file" >"$OUT/validated.txt" || { cat "$OUT/validated.txt"; failed=1; }
    "$headroom" trace utilization "$file" --no-store || return 1
  done
  [[ ! -e $OUT/traces/torch_profiler.json ]] || "$headroom" trace findings "$OUT/traces/torch_profiler.json" --no-store
  python3 "$tools/compare_utilization.py" "$headroom" "$OUT"/traces/*
  same=$?
  [[ $failed -eq 0 ]] || return 1
  return "$same"
}

llm() {
  measure llama2_7b_int8 llama2_7b_bf16 mixtral_8x7b_int8 --backend cuda --max-time 3s --json "$OUT/llm.json"
}

compiled() {
  python3 -c 'import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)' 2>/dev/null ||
    { echo "python3 has no torch that sees a GPU"; return 77; }
  # Eager first: torch.compile alone in a process crashed.
  HEADROOM_PYTHON=$(command -v python3) measure --python gpt_fast_cuda gemv gather_gemv layer_norm mlp_layer_norm_gelu \
    --backend cuda,torch_cuda,torch_compile_cuda -a D=4096,16384 --max-time 1s --timeout 300s --json "$OUT/compiled.json"
}

# Launches are serialised and about a hundred times slower under the checker, so the times mean nothing.
sanitize() {
  local tool=${1:-memcheck} log=$OUT/sanitizer.${1:-memcheck}.txt failed=0
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not here: nothing checked"; return 77; }
  : >"$log"
  # Only the runner uses CUDA, not the command line.
  local checker=(compute-sanitizer --target-processes all --require-cuda-init no --error-exitcode 9 --launch-timeout 120)
  # shellcheck disable=SC2016
  "${checker[@]}" bash -c 'HEADROOM_PLANTED_ERROR=1 "$0" --gtest_filter="PlantedError.*"; exit 0' "$bin/unit_cuda" >/dev/null
  [[ $? -eq 9 ]] || { echo "the checker does not find an error that is there, in a process of a process"; return 1; }
  checked() {
    "${checker[@]}" --tool "$tool" "$headroom" run "$@" --backend cuda --num-samples 1 --no-store --processes 1 --no-limits \
      --timeout 600s 2>&1 | tee -a "$log"
    [[ ${PIPESTATUS[0]} -eq 0 ]] || failed=1
  }
  checked gemv gather_gemv layer_norm mlp_layer_norm_gelu -a D=1000,1001
  checked limit.peak
  checked limit.read limit.write limit.copy -a bytes=1048576
  ! grep -E '(ERROR|RACECHECK) SUMMARY: [1-9]' "$log" || failed=1
  return "$failed"
}

racecheck() {
  sanitize racecheck
}

experiments() {
  measure --backend "$(backends)" --output "$OUT/means.csv" --json "$OUT/experiments.json"
}

limits() {
  local failed=0
  measure limit.read limit.write limit.copy --backend cuda -a bytes=16777216,67108864,1073741824,4294967296 --max-time 1s \
    --json "$OUT/limits.json" || failed=1
  measure limit.read limit.write limit.copy --backend cuda -a bytes=1048576,8388608,33554432 --hot --max-time 1s \
    --json "$OUT/limits_hot.json" || failed=1
  measure limit.peak --backend cuda --max-time 1s --json "$OUT/peaks.json" || failed=1
  return "$failed"
}

# Starts rank $1 of two on half of the CPUs, like a separate machine.
launch_one_of_two() {
  local rank=$1 port=$2 half=$(($(nproc) / 2))
  shift 2
  RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$port \
    NCCL_HOSTID=machine-$rank NCCL_SOCKET_IFNAME=lo NCCL_IB_DISABLE=1 \
    taskset -c "$((rank * half))-$((rank * half + half - 1))" "$headroom" "$@"
}

# NCCL refuses two ranks on one device within one machine. $1: a free port.
launch_two() {
  local failed=0
  launch_one_of_two 1 "$@" &
  launch_one_of_two 0 "$@" || failed=1
  wait $! || failed=1
  return "$failed"
}

ranks() {
  [[ -x $bin/headroom-torch-rank ]] || { echo "headroom-torch-rank was not built (docs/how-to/torch.md)"; return 77; }
  local devices said failed=0
  local train=(ddp --backend nccl --model mlp --batch-size 8 --iters 10 --warmup 2 --no-store --timeout 20s)
  local call=(dispatch --backend nccl --op "add,redistribute" --quick --cycles 10 --repeats 3 --no-store --timeout 20s)
  "$headroom" "${train[@]}" --ranks 1 --json "$OUT/ranks_ddp_1.json" || failed=1
  "$headroom" "${call[@]}" --ranks 1 --json "$OUT/ranks_dispatch_1.json" || failed=1
  devices=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
  said=$("$headroom" "${train[@]}" --ranks $((devices + 1)) 2>&1)
  if [[ $? -ne 2 || $said != *"nccl needs a GPU for each rank"* ]]; then
    echo "$((devices + 1)) ranks on $devices GPUs were to be refused: $said"
    failed=1
  fi
  launch_two 29610 "${train[@]}" --ranks 2 --json "$OUT/ranks_ddp_2.json" || failed=1
  launch_two 29620 "${call[@]}" --json "$OUT/ranks_dispatch_2.json" || failed=1
  return "$failed"
}

tests() {
  HEADROOM_BIN=$bin python3 -u "$tests/cuda_device_test.py" -v || return 1
  # Skipped without headroom-torch-cuda (tools/pack_torch_for_device.sh) or torch.
  local name failed=0
  for name in torch_cuda gpt_fast_cuda; do
    [[ -e $tests/${name}_device_test.py ]] || continue
    HEADROOM_BIN=$bin HEADROOM_PYTHON=$(command -v python3) python3 -u "$tests/${name}_device_test.py" -v ||
      [[ $? -eq 77 ]] || failed=1
  done
  return "$failed"
}

table() {
  python3 "$tools/device_table.py" "$OUT"
}

if [[ ${1:-} == --inner ]]; then
  # The interrupted command writes its results.
  trap 'exit 124' INT
  find_programs
  find_cublas
  headroom=$bin/headroom
  if [[ $2 != device && $2 != table ]] && ! "$headroom" run --list --backend cuda >/dev/null; then
    exit 77
  fi
  "$2"
  exit
fi

[[ $# -gt 0 ]] || read -ra default_steps <<<"$default"
[[ $# -gt 0 ]] || set -- "${default_steps[@]}"
for step in "$@"; do
  [[ " $known " == *" $step "* ]] || { echo "check_device: no step '$step'; steps: $known" >&2; exit 2; }
done
find_programs
mkdir -p "${OUT:=.}"
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT

keep_results() {
  tar -C "$results" -czf "$OUT/device_results.tar.gz.new" . && mv "$OUT/device_results.tar.gz.new" "$OUT/device_results.tar.gz"
  cp "$results/summary.txt" "$OUT/device_results.txt"
}

status=0
for step in "$@"; do
  left=$((${BUDGET:-570} - SECONDS))
  limit=$((left < most[$step] ? left : most[$step]))
  if [[ $limit -lt 10 ]]; then
    echo "== $step: not run, the time is up" | tee -a "$results/summary.txt"
    status=1
    continue
  fi
  echo "== $step, at most $limit s"
  started=$SECONDS
  OUT=$results timeout --signal=INT --kill-after=8 "$limit" bash "$script" --inner "$step" 2>&1 | tee "$results/$step.log"
  result=${PIPESTATUS[0]}
  case $result in
    0) said=fine ;;
    77) said="skipped: $(tail -n 1 "$results/$step.log")" ;;
    124 | 137) said="OUT OF TIME" status=1 ;;
    *) said="FAILED ($result)" status=1 ;;
  esac
  echo "== $step: $said, $((SECONDS - started)) s" | tee -a "$results/summary.txt"
  [[ $step != table ]] || cat "$results/table.log" >>"$results/summary.txt"
  keep_results
done
echo "== all steps"
grep '^==' "$results/summary.txt"
exit $status
