#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Debian packages of headroom in a bare Debian 12, runs them, and purges them.
#
#   tests/package/bare_root.sh FOLDER_OF_DEBS [TRACE]     TRACE: a file for `headroom trace`; default: made up
#
# Needs root, debootstrap and the network; if BARE_ROOT names a root it is copied instead of made.
# Exit codes: 0 success; 1 failure; 77 cannot be tried here.
set -euo pipefail
debs=$(cd "$1" && pwd)
trace=${2:-}

if ((EUID != 0)) || ! command -v debootstrap >/dev/null; then
  echo "skipped: a bare Debian needs root and debootstrap (apt-get install debootstrap)"
  exit 77
fi
work=$(mktemp -d)
root=$work/root
# A bind mount left in place would be emptied with the folder.
trap 'umount -q "$root/proc" "$root/dev" "$root/sys" || true; rm -rf --one-file-system "$work"' EXIT

if [[ -n ${BARE_ROOT:-} ]]; then
  cp -a "$BARE_ROOT" "$root"
elif ! debootstrap --variant=minbase bookworm "$root" >"$work/debootstrap.log" 2>&1; then
  tail -3 "$work/debootstrap.log"
  echo "skipped: debootstrap cannot fetch Debian 12"
  exit 77
fi
# Name resolution for apt.
cp -a /etc/resolv.conf "$root/etc/" 2>/dev/null || true
mkdir -p "$root/debs" "$root/home/user"
cp "$debs"/headroom*.deb "$root/debs/"
if [[ -n $trace ]]; then
  cp "$trace" "$root/home/user/trace.json.gz"
else
  echo '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 5, "args": {"stream": 7, "device": 0}}]}' |
    gzip >"$root/home/user/trace.json.gz"
fi
mount -t proc proc "$root/proc"
mount --bind /dev "$root/dev"
mount -t sysfs -o ro sysfs "$root/sys"

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/user DEBIAN_FRONTEND=noninteractive "$@"; }
try() {
  echo "+ $*"
  if ! inside "$@" >"$work/output" 2>&1; then
    cat "$work/output"
    echo "failed: $*"
    exit 1
  fi
  tail -n "${SHOWN:-4}" "$work/output"
}

SHOWN=1 try apt-get update -qq
SHOWN=1 try apt-get install -y -qq --no-install-recommends $(cd "$root" && echo debs/*.deb | sed "s:debs/:/debs/:g")
try headroom --version
try headroom run --quick gemv -a D=1024
try headroom ab true 'sleep 0.001' --quick
try headroom trace summary /home/user/trace.json.gz
try headroom report /home/user/trace.json.gz -o /home/user/page.html
try headroom-native --list
if [[ -x $root/usr/bin/headroom-torch ]]; then
  try headroom run --quick gemv -a D=1024 --backend native,aten
fi
# Only the user's history remains after a purge.
packages=$(inside dpkg-query -W -f '${Package}\n' 'headroom*')
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
