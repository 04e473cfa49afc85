#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs a wheel of headroom with pip in new systems with old and new Pythons, and that of headroom-cuda if it is beside it;
# measures; prints seconds and what is loaded.
#
#   tests/package/wheel_roots.sh WHEEL [SUITE]...
#
# Default: bullseye jammy bookworm noble trixie (CPython 3.9 to 3.13), and bionic (glibc 2.27), whose Python is too old: there the
# wheel is unpacked. A wheel of aarch64: bookworm, under qemu-user-static. Needs root, debootstrap and the network.
# Exit codes: 0 success; 1 failure; 77 cannot be tried here.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$source/tools/debian_root.sh"
wheel=$(realpath "$1")
cuda=$(echo "${wheel%/*}"/headroom_cuda-*_"${wheel##*_}")
shift
work=$(mktemp -d)
trap 'remove_root "$work/root"; rm -rf "$work"' EXIT
case $wheel in
  *_aarch64.whl)
    export DEBIAN_ARCHITECTURE=arm64
    (($#)) || set -- bookworm
    ;;
  *) (($#)) || set -- bionic bullseye jammy bookworm noble trixie ;;
esac

cat >"$work/try" <<'END'
set -eo pipefail
TIMEFORMAT='  %R s'
cd /tmp
apt-get update -qq
if [[ $(. /etc/os-release && echo "$VERSION_CODENAME") == bionic ]]; then
  export PATH=/unpacked/bin:$PATH
else
  apt-get install -y -qq --no-install-recommends python3-venv >/dev/null 2>&1
  python3 --version
  python3 -m venv venv && . venv/bin/activate
  echo "pip install:"
  time pip install --quiet --no-index --disable-pip-version-check /headroom*.whl
  python3 -c 'import headroom as hr; print(hr.time(lambda: sum(range(1000)), quick=True))'
fi
ldd --version | sed -n 1p
headroom --version
echo "the first table:"
time headroom run gemv -a D=1024 --quick --no-store
headroom ab true 'sleep 0.001' --quick --no-store | sed -n 1p
# Commands of other folders, which this C library cannot start by itself.
apt-get install -y -qq --no-install-recommends git >/dev/null 2>&1
git init --quiet repository && cd repository
git config user.name A && git config user.email a@example.org
printf '#!/bin/sh\n[ -e here ]\n' >run && chmod +x run && touch here && git add . && git commit --quiet -m one
echo : >>run && git commit --quiet -am two
headroom ab --git HEAD~1 ./run --runs 3 --no-store | sed -n 1p
cd ..
headroom trace summary /trace.json | sed -n 1p
headroom report /trace.json -o page.html && test -s page.html
! command -v headroom-cuda >/dev/null || headroom run --list --backend cuda >list 2>&1 || grep "no CUDA device" list
for program in headroom headroom-native headroom-trace headroom-pages headroom-cuda; do
  command -v $program >/dev/null || continue
  echo "$program loads: $(ldd "$(command -v $program)" | awk '{ print $1 }' | sed 's:.*/::' | xargs)"
done
END
status=0
for suite; do
  case $suite in
    bionic | focal | jammy | noble) export DEBIAN_MIRROR=http://archive.ubuntu.com/ubuntu ;;
    *) unset DEBIAN_MIRROR ;;
  esac
  echo "== $suite"
  (make_root "$suite" "$work/root") || { echo "skipped: $suite"; continue; }
  cp "$wheel" "$work/try" "$work/root/"
  [[ ! -e $cuda ]] || cp "$cuda" "$work/root/"
  echo '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"stream": 7, "device": 0}}]}' \
    >"$work/root/trace.json"
  if [[ $suite == bionic ]]; then
    mkdir -p "$work/root/unpacked"
    for packed in "$work"/root/*.whl; do python3 -m zipfile -e "$packed" "$work/unzipped"; done
    mkdir "$work/root/unpacked/bin"
    mv "$work"/unzipped/*.data/data/* "$work/root/unpacked/"
    mv "$work"/unzipped/*.data/scripts/* "$work/root/unpacked/bin"
    chmod +x "$work"/root/unpacked/bin/*
  fi
  in_root "$work/root" bash /try || { echo "failed: $suite"; status=1; }
  rm -rf --one-file-system "$work/root"
done
exit "$status"
