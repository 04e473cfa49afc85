#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds headroom-torch-cuda and its test to a folder made by tools/pack_for_device.sh. libtorch is too large to
# pack: the program is built against the version of the other machine, and finds it there in the PyTorch of
# python3.
#
#   [GLOO=DIR] tools/pack_torch_for_device.sh TORCH [FOLDER]
#
#   TORCH    the folder torch of a CUDA package from PyPI of that version:
#            pip download --no-deps torch==2.11.0 && unzip torch-2.11.0-*.whl
#   FOLDER   default: build/device/headroom_device
#   GLOO     sources of the package's gloo: adds headroom-torch-rank with NCCL, whose header has to be next to
#            TORCH, in the version that torch's METADATA names:
#            pip download --no-deps nvidia-nccl-cu13==2.28.9 && unzip nvidia_nccl_cu13-2.28.9-*.whl
#
# CMAKE and JOBS are honoured. Needs nvcc of the package's CUDA version (docs/how-to/torch.md).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/device_torch
[[ $# -ge 1 && -e $1/share/cmake/Torch/TorchConfig.cmake ]] ||
  { echo "usage: pack_torch_for_device.sh TORCH [FOLDER]; TORCH has share/cmake/Torch in it" >&2; exit 2; }
torch=$(cd "$1" && pwd)
folder=${2:-$root/build/device/headroom_device}
[[ -x $folder/bin/headroom ]] || { echo "pack_torch_for_device: run tools/pack_for_device.sh $folder first" >&2; exit 2; }

programs=headroom-torch-cuda
targets=headroom_torch_cuda_program
if [[ -n ${GLOO:-} ]]; then
  GLOO=$(cd "$GLOO" && pwd)
  programs+=" headroom-torch-rank"
  targets+=" headroom_torch_rank_program"
fi

# cuDNN, NCCL and others are on the other machine.
# shellcheck disable=SC2016
"${CMAKE:-cmake}" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEADROOM_CUDA=ON -DHEADROOM_TORCH=ON \
  "-DCMAKE_PREFIX_PATH=$torch/share/cmake" -DHEADROOM_PEERS=OFF -DHEADROOM_EXAMPLES=OFF -DHEADROOM_TESTS=OFF \
  "-DHEADROOM_TORCH_GLOO=${GLOO:-}" "-DHEADROOM_TORCH_NCCL=$([[ -n ${GLOO:-} ]] && echo ON || echo OFF)" \
  -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON '-DCMAKE_INSTALL_RPATH=$ORIGIN/../lib/headroom' \
  '-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags -Wl,--allow-shlib-undefined' >/dev/null
# shellcheck disable=SC2086
"${CMAKE:-cmake}" --build "$build" ${JOBS:+--parallel "$JOBS"} --target $targets

rm -rf "$folder/torch" "$folder"/bin/headroom-torch-*
mkdir -p "$folder/torch"
sed -n "s/^__version__ = '\(.*\)'/\1/p" "$torch/version.py" > "$folder/torch/version"

write_wrapper() {
  cat > "$1" <<'WRAPPER'
#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts the program of this name in ../torch with the libraries of python3's PyTorch, which must have the
# version that the program was built with.
self=$(readlink -f "$0")
name=$(basename "$self")
here=$(cd "$(dirname "$self")/../torch" && pwd)
built_with=$(<"$here/version")

# Reports to the command line by the runner protocol (src/headroom/runner/protocol.h), else to the user.
refuse() {
  [[ -z ${HEADROOM_FD:-} ]] || printf '{"error": "%s"}\n' "$1" >&"$HEADROOM_FD"
  echo "$name: $1" >&2
  exit 2
}

found=$(python3 - <<'FIND'
import glob
import importlib.util
import os
import runpy

torch = importlib.util.find_spec("torch")
if torch and torch.origin:
    root = os.path.dirname(torch.origin)
    print(runpy.run_path(os.path.join(root, "version.py"))["__version__"])
    print(":".join([os.path.join(root, "lib"), *sorted(glob.glob(os.path.join(root, "..", "nvidia", "*", "lib")))]))
FIND
)
[[ -n $found ]] || refuse "python3 finds no torch, and this needs the libraries of $built_with"
[[ ${found%%$'\n'*} == "$built_with" ]] || refuse "python3 has torch ${found%%$'\n'*}, this was built with $built_with"
export LD_LIBRARY_PATH=${found#*$'\n'}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
missing=$(ldd "$here/$name" | awk '/not found/ {print $1}' | paste -sd ' ')
[[ -z $missing ]] || refuse "these libraries of torch or CUDA were not found: $missing"
exec "$here/$name" "$@"
WRAPPER
  chmod +x "$1"
}
for program in $programs; do
  strip -o "$folder/torch/$program" "$build/bin/$program"
  write_wrapper "$folder/bin/$program"
done

# libtorch, CUDA and the C library come from the other machine.
not_ours='^(libc|libm|libdl|libpthread|librt|libresolv|libutil|ld-linux-x86-64)\.so|^(libtorch|libc10|libcudart|libgomp)'
found_by() { ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}'; }
for program in $programs; do
  readelf -d "$folder/torch/$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r name; do
    [[ ! $name =~ $not_ours ]] || continue
    library=$(found_by "$folder/torch/$program" | awk -v name="$name" '$1 == name {print $2}')
    echo "$name $library"
    found_by "$library"
  done
done | sort -u | while read -r name library; do
  [[ $name =~ $not_ours || -e $folder/lib/headroom/$name ]] || cp -L "$library" "$folder/lib/headroom/$name"
done
cp "$root/tests/device/torch_cuda_device_test.py" "$folder/tests/"
size=$(du -sm "$folder" | cut -f 1)
echo "$folder: $size MiB, for PyTorch $(<"$folder/torch/version")"
# Limit of one transfer to such a machine.
[[ $size -le 64 ]] || { echo "pack_torch_for_device: more than 64 MiB" >&2; exit 1; }
