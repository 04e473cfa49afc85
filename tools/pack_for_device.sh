#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Packs release builds for a machine with a GPU but without the libraries of packages/ or a network: headroom,
# headroom-native, headroom-trace and headroom-cuda with their shared libraries, the Python package, the GPU
# tests, and check_device.sh.
#
#   tools/pack_for_device.sh [FOLDER]      default: build/device/headroom_device
#
# CMAKE and JOBS are honoured. Needs nvcc (docs/how-to/gpus.md).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/device
folder=${1:-$build/headroom_device}
# Libraries loaded at run time, which ldd does not list.
loaded_later="libsimdjson.so libisal.so"
programs="headroom headroom-native headroom-trace headroom-cuda unit_cuda"

# DT_RPATH also applies to the dependencies of libraries.
# shellcheck disable=SC2016
"${CMAKE:-cmake}" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEADROOM_CUDA=ON -DHEADROOM_TORCH=OFF \
  -DHEADROOM_PEERS=OFF -DHEADROOM_EXAMPLES=OFF '-DCMAKE_BUILD_RPATH=$ORIGIN/../lib/headroom' \
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags >/dev/null
"${CMAKE:-cmake}" --build "$build" ${JOBS:+--parallel "$JOBS"} --target headroom_programs unit_cuda headroom_python

rm -rf "$folder"
libraries=$folder/lib/headroom
mkdir -p "$folder/bin" "$libraries" "$folder/tests"
for program in $programs; do
  strip -o "$folder/bin/$program" "$build/bin/$program"
done

# Copies of another libc version would not start.
own='^(libc|libm|libdl|libpthread|librt|libresolv|ld-linux-x86-64)\.so|^linux-vdso|^libcuda\.so|^libnvidia'
needed() {
  for program in $programs; do
    ldd "$folder/bin/$program"
  done | awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u | while read -r library; do
    [[ $(basename "$library") =~ $own ]] || echo "$library"
  done
}
needed | while read -r library; do
  cp -L "$library" "$libraries/"
done
for library in $loaded_later; do
  found=$(ldconfig -p | awk -v name="$library" 'index($1, name) == 1 {print $NF}' | sort | tail -n 1)
  [[ -z $found ]] || cp -L "$found" "$libraries/$(basename "$(readlink -f "$found")" | sed 's/\(\.so\.[0-9]*\).*/\1/')"
done
toolkit=$(dirname "$(dirname "$(sed -n 's/^CMAKE_CUDA_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")")")
for cupti in "$toolkit"/{lib64,extras/CUPTI/lib64}/libcupti.so.[0-9][0-9]; do
  [[ ! -e $cupti ]] || cp -L "$cupti" "$libraries/"
done
elsewhere=$(needed | grep -vF "$(cd "$folder" && pwd -P)/" || true)
[[ -z $elsewhere ]] || { echo "pack_for_device: would not be found in the folder:" "$elsewhere" >&2; exit 1; }

# The extension works with any Python 3 and looks for the programs next to the package's folder.
mkdir -p "$folder/python/headroom"
cp -L "$root"/python/headroom/{*.py,_core.pyi,py.typed} "$folder/python/headroom/"
strip -o "$folder/python/headroom/_core.abi3.so" "$build/python/headroom/_core.abi3.so"

cp "$root"/tests/device/{cuda_device_test,gpt_fast_cuda_device_test,on_device}.py "$folder/tests/"
cp "$root"/tools/{check_device.sh,device_table.py,compare_utilization.py,record_torch_trace.py} "$folder/"
size=$(du -sm "$folder" | cut -f 1)
echo "$folder: $size MiB"
# Limit of one transfer to such a machine.
[[ $size -le 64 ]] || { echo "pack_for_device: more than 64 MiB" >&2; exit 1; }
