#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel for every Linux with glibc 2.27 or newer, for each machine, in build/wheels, and has auditwheel and twine check it.
#
#   wheels.sh [x86_64] [aarch64]       default: both
#
# The C library's stubs, auditwheel and twine come from PyPI, the compiler and libraries for aarch64 from Debian.
# JOBS: parallel jobs. HEADROOM_CUDA: build headroom-cuda for this machine: AUTO (default: if nvcc is here), ON or OFF.
# Exit code 77: PyPI cannot be reached.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$source"
glibc=2.27
venv=build/wheels/venv
declare -A debian=([x86_64]=amd64 [aarch64]=arm64)
if [[ ! -x $venv/bin/auditwheel || ! -x $venv/bin/twine ]]; then
  "${PYTHON:-python3}" -m venv "$venv"
  "$venv/bin/pip" install --quiet ziglang==0.15.2 auditwheel==6.4.2 twine==6.2.0 || { echo "skipped: ziglang, auditwheel and twine are not to be had from PyPI"; exit 77; }
fi
(($#)) || set -- x86_64 aarch64
for machine; do
  folder=$source/build/wheels/$machine
  compiler=gcc
  options=("-DHEADROOM_CUDA=${HEADROOM_CUDA:-AUTO}")
  if [[ $machine != "$(uname -m)" ]]; then
    compiler=$machine-linux-gnu-gcc
    [[ -d $folder/root/usr/include ]] || tools/portable/foreign_libraries.sh "${debian[$machine]}" "$folder/root"
    native=$source/build/wheels/$(uname -m)/build/bin/headroom
    [[ -x $native ]] || { echo "wheels.sh: first that of this machine, whose program writes the manual: tools/portable/wheels.sh $(uname -m)" >&2; exit 2; }
    options=(-DHEADROOM_CUDA=OFF "-DHEADROOM_ROOT=$folder/root" "-DHEADROOM_NATIVE_PROGRAM=$native" "-DPython3_INCLUDE_DIR=$(echo "$folder"/root/usr/include/python3.*)")
  fi
  [[ $folder/glibc/libc.so -nt tools/portable/old_glibc.c ]] || "$venv/bin/python" tools/portable/old_glibc.py "$machine" "$glibc" "$folder/glibc" --compiler "$compiler"
  tools/with_reason.sh "$folder/build" cmake --preset wheel -B "$folder/build" --toolchain "$source/tools/portable/toolchain.cmake" --log-level=NOTICE \
    "-DHEADROOM_OLD_GLIBC=$folder/glibc" "-DHEADROOM_OLD_GLIBC_VERSION=$glibc" "-DHEADROOM_MACHINE=$machine" "${options[@]}"
  rm -f "$folder"/build/headroom*.whl build/wheels/headroom*_"$machine".whl
  tools/with_reason.sh "$folder/build" cmake --build "$folder/build" ${JOBS:+--parallel "$JOBS"} --target headroom_wheels
  for wheel in "$folder"/build/headroom*.whl; do
    verdict=$("$venv/bin/auditwheel" show "$wheel")
    echo "$verdict"
    oldest=$(sed -n "s/.*the following platform tag: \"manylinux_2_\([0-9]*\)_$machine\".*/\1/p" <<<"${verdict//$'\n'/ }")
    ((${oldest:-99} <= ${glibc#2.})) || { echo "wheels.sh: auditwheel refuses the tag of $wheel" >&2; exit 1; }
    "$venv/bin/twine" check --strict "$wheel"
    cp "$wheel" build/wheels/
  done
done
