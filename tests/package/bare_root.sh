#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Debian packages of headroom in a bare Debian, runs them, and purges them.
#
#   tests/package/bare_root.sh FOLDER_OF_DEBS [SUITE [TRACE]]
#
# SUITE: default bookworm; TRACE: a file for `headroom trace`, default made up. Needs root, debootstrap and the network; if
# BARE_ROOT names a root it is copied instead of made. Exit codes: 0 success; 1 failure; 77 cannot be tried here.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../../tools/debian_root.sh"
debs=$(cd "$1" && pwd)
suite=${2:-bookworm}
trace=${3:-}
work=$(mktemp -d)
root=$work/root
trap 'remove_root "$work"' EXIT

make_root "$suite" "$root"
mkdir -p "$root/debs" "$root/home/user"
cp "$debs"/*.deb "$root/debs/"
if [[ -n $trace ]]; then
  cp "$trace" "$root/home/user/trace.json.gz"
else
  echo '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"stream": 7, "device": 0}}]}' |
    gzip >"$root/home/user/trace.json.gz"
fi

inside() { in_root "$root" HOME=/home/user "$@"; }
try() { try_in_root "$root" HOME=/home/user "$@"; }

SHOWN=1 try apt-get update -qq
SHOWN=1 try apt-get install -y -qq --no-install-recommends $(cd "$root" && echo debs/*.deb | sed "s:debs/:/debs/:g")
try headroom --version
try headroom run --quick gemv -a D=1024
try headroom ab true 'sleep 0.001' --quick
try headroom trace summary /home/user/trace.json.gz
try headroom report /home/user/trace.json.gz -o /home/user/page.html
try headroom-native --list
if [[ -e $root/usr/lib/python3/dist-packages/headroom ]]; then
  try python3 -c 'import headroom; print(headroom.time(sum, [1, 2], quick=True))'
fi
if [[ -x $root/usr/bin/headroom-torch ]]; then
  try headroom run --quick gemv -a D=1024 --backend native,aten
fi
if [[ -x $root/usr/bin/headroom-cuda ]]; then
  try sh -c 'headroom run --list --backend cuda >/tmp/list 2>&1 || grep "no CUDA device" /tmp/list'
fi
# Only the user's history remains after a purge.
packages=$(for deb in "$debs"/*.deb; do dpkg-deb -f "$deb" Package; done)
inside dpkg -L $packages | sort -u >"$work/installed"
SHOWN=1 try apt-get purge -y -qq $packages
left=$(while read -r path; do [[ -d $root$path || ! -e $root$path ]] || echo "$path"; done <"$work/installed"
  find "$root" -xdev \( -path "$root/home" -o -path "$root/debs" -o -path "$root/proc" \) -prune -o -name '*headroom*' -print)
if [[ -n $left ]]; then
  echo "failed: apt-get purge leaves"
  echo "$left"
  exit 1
fi
echo "all is well"
