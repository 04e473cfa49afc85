#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds Debian packages of the tracked files in a new Debian of SUITE: its libraries have other names and versions.
#
#   tools/debs_in_root.sh SUITE OUTPUT_FOLDER [MAKE_ARGUMENT...]
#
# headroom-cuda is built by the CUDA toolkit of this system, in CUDA_HOME or /usr/local/cuda. Needs root, debootstrap and the
# network. Exit codes: 0 success; 77 cannot be tried here; else that of the build.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$source/tools/debian_root.sh"
suite=$1
output=$2
shift 2
root=$source/build/root-$suite
trap 'remove_root "$root"' EXIT

find_cuda_toolkit
make_root "$suite" "$root"
mkdir "$root/headroom"
git -C "$source" ls-files -z | tar -C "$source" --null --files-from=- -c | tar -C "$root/headroom" --no-same-owner -x
in_root "$root" sh -c 'apt-get update -qq && apt-get install -y -qq --no-install-recommends make >/tmp/log 2>&1 || { tail -n 3 /tmp/log; exit 2; }'
in_root "$root" make -C /headroom deb ${SOURCE_DATE_EPOCH:+"SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH"} "$@"
rm -rf "$output"
mkdir -p "$output"
cp "$root"/headroom/build/deb/*.deb "$root"/headroom/build/deb/*.cdx.json "$output"
