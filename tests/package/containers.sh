#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Types the line at the top of each container file. The images they start from are made here, from new systems, instead of fetched.
#
#   tests/package/containers.sh WORK_FOLDER
#
# Needs root, podman, runc, debootstrap and the network; Containerfile.cuda a CUDA toolkit in CUDA_HOME or /usr/local/cuda. Its image
# runs without a GPU here. Exit codes: 0 success; 1 failure; 77 cannot be tried here.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$source/tools/debian_root.sh"
command -v podman >/dev/null && command -v runc >/dev/null || skip "needs podman and runc (apt-get install podman runc)"
mkdir -p "$1"
work=$(cd "$1" && pwd)
trap 'remove_root "$work"' EXIT
find_cuda_toolkit

# Images of its own, and as few privileges as there may be here.
export CONTAINERS_STORAGE_CONF=$work/storage.conf CONTAINERS_CONF=$work/containers.conf BUILDAH_ISOLATION=chroot
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' "$work/images" "$work/run" >"$CONTAINERS_STORAGE_CONF"
printf '[containers]\nnetns = "host"\ndefault_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]\n[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n' >"$CONTAINERS_CONF"

# image NAME SUITE
image() {
  make_root "$2" "$work/root"
  tar -C "$work/root" -c . | podman import --quiet - "$1" >/dev/null
  rm -rf --one-file-system "$work/root"
}
# type_line FILE [SED_SCRIPT]
type_line() {
  local line
  line=$(sed -n 's/^# \(podman build .*\)/\1/p' "$source/$1" | sed "${2:-}")
  [[ -n $line ]] || { echo "failed: $1 has no line that builds it"; exit 1; }
  echo "+ $line"
  (cd "$work/tree" && time eval "$line") >"$work/log" 2>&1 || { tail -n 40 "$work/log"; echo "failed: $line"; exit 1; }
  tail -n 14 "$work/log"
}

git clone --quiet "$source" "$work/tree"
image docker.io/library/debian:12-slim bookworm
type_line Containerfile
if [[ -z $cuda_toolkit ]]; then
  echo "skipped: Containerfile.cuda needs a CUDA toolkit"
  exit
fi
export DEBIAN_MIRROR=http://archive.ubuntu.com/ubuntu
image docker.io/nvidia/cuda:12.8.1-devel-ubuntu24.04 noble
podman tag docker.io/nvidia/cuda:12.8.1-devel-ubuntu24.04 docker.io/nvidia/cuda:12.8.1-base-ubuntu24.04
type_line Containerfile.cuda "s|build |build -v $cuda_toolkit:/usr/local/cuda:ro |; s,podman run --rm --device [^ ]* headroom-cuda,{ podman run --rm headroom-cuda run --list --backend cuda || true; } 2>\&1 | grep 'no CUDA device',"
