#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds ATen on a GPU to a folder that tools/pack_for_device.sh has made: headroom-torch-cuda, and its test. libtorch is too
# large to be packed: the program is built against the version that the other machine has, and finds it there in the PyTorch
# of python3.
#   tools/pack_torch_for_device.sh TORCH [FOLDER]
#     TORCH    the folder torch of a package from PyPI of that version, with CUDA in it:
#              pip download --no-deps torch==2.11.0 && unzip torch-2.11.0-*.whl
#     FOLDER   default: build/device/headroom_device
# CMAKE and JOBS are honoured. Needs nvcc of the CUDA that the package was built with (docs/torch.md).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/device_torch
[[ $# -ge 1 && -e $1/share/cmake/Torch/TorchConfig.cmake ]] ||
  { echo "usage: pack_torch_for_device.sh TORCH [FOLDER]; TORCH has share/cmake/Torch in it" >&2; exit 2; }
torch=$(cd "$1" && pwd)
folder=${2:-$root/build/device/headroom_device}
[[ -x $folder/bin/headroom ]] || { echo "pack_torch_for_device: run tools/pack_for_device.sh $folder first" >&2; exit 2; }

# cuDNN, NCCL and the like are beside libtorch on the other machine, not here.
# shellcheck disable=SC2016
"${CMAKE:-cmake}" -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DHEADROOM_CUDA=ON -DHEADROOM_TORCH=ON \
  "-DCMAKE_PREFIX_PATH=$torch/share/cmake" -DHEADROOM_PEERS=OFF -DHEADROOM_EXAMPLES=OFF -DHEADROOM_TESTS=OFF \
  '-DCMAKE_BUILD_RPATH=$ORIGIN/../lib' \
  '-DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags -Wl,--allow-shlib-undefined' >/dev/null
"${CMAKE:-cmake}" --build "$build" ${JOBS:+--parallel "$JOBS"} --target headroom_torch_cuda_program

mkdir -p "$folder/torch"
strip -o "$folder/torch/headroom-torch-cuda" "$build/bin/headroom-torch-cuda"
sed -n "s/^__version__ = '\(.*\)'/\1/p" "$torch/version.py" > "$folder/torch/version"
cat > "$folder/bin/headroom-torch-cuda" <<'WRAPPER'
#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts the program with the libraries of the PyTorch that python3 finds, which must be of the version that it was built with.
here=$(cd "$(dirname "$(readlink -f "$0")")/../torch" && pwd)
built_with=$(<"$here/version")

# To the command line as runners say it (src/headroom/runner/protocol.h), else to whoever started this.
refuse() {
  [[ -z ${HEADROOM_FD:-} ]] || printf '{"error": "%s"}\n' "$1" >&"$HEADROOM_FD"
  echo "headroom-torch-cuda: $1" >&2
  exit 2
}

found=$(python3 - <<'FIND'
import glob
import importlib.util
import os
import runpy

torch = importlib.util.find_spec("torch")
if torch:
    root = os.path.dirname(torch.origin)
    print(runpy.run_path(os.path.join(root, "version.py"))["__version__"])
    print(":".join([os.path.join(root, "lib"), *sorted(glob.glob(os.path.join(root, "..", "nvidia", "*", "lib")))]))
FIND
)
[[ -n $found ]] || refuse "python3 finds no torch, and this needs the libraries of $built_with"
[[ ${found%%$'\n'*} == "$built_with" ]] || refuse "python3 has torch ${found%%$'\n'*}, this was built with $built_with"
export LD_LIBRARY_PATH=${found#*$'\n'}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
missing=$(ldd "$here/headroom-torch-cuda" | awk '/not found/ {print $1}' | paste -sd ' ')
[[ -z $missing ]] || refuse "these libraries of torch or CUDA were not found: $missing"
exec "$here/headroom-torch-cuda" "$@"
WRAPPER
chmod +x "$folder/bin/headroom-torch-cuda"

# What the program itself needs, and the folder does not have yet; libtorch, CUDA and the C library are the other machine's.
not_ours='^(libc|libm|libdl|libpthread|librt|libresolv|libutil|ld-linux-x86-64)\.so|^(libtorch|libc10|libcudart|libgomp)'
found_by() { ldd "$1" | awk '$2 == "=>" && $3 ~ /^\// {print $1, $3}'; }
readelf -d "$folder/torch/headroom-torch-cuda" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | while read -r name; do
  [[ ! $name =~ $not_ours ]] || continue
  library=$(found_by "$folder/torch/headroom-torch-cuda" | awk -v name="$name" '$1 == name {print $2}')
  echo "$name $library"
  found_by "$library"
done | sort -u | while read -r name library; do
  [[ $name =~ $not_ours || -e $folder/lib/$name ]] || cp -L "$library" "$folder/lib/$name"
done
cp "$root/tests/device/torch_cuda_device_test.py" "$folder/tests/"
size=$(du -sm "$folder" | cut -f 1)
echo "$folder: $size MiB, for PyTorch $(<"$folder/torch/version")"
# What such a machine is sent in one piece.
[[ $size -le 64 ]] || { echo "pack_torch_for_device: more than 64 MiB" >&2; exit 1; }
