#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Types the quick start of README.md, as it stands, in a new Debian 12, and prints the clock and CPU time of each line.
#
#   tests/package/quick_start.sh WORK_FOLDER [BLOCKS]     BLOCKS: type only the first so many blocks; default all
#
# The commands are the lines of the section's `sh` blocks; HEADROOM_URL is a clone of the last commit. QUICK_START_SUITE
# and QUICK_START_MIRROR name another system (noble, http://archive.ubuntu.com/ubuntu). The default mirror is that of
# apt here. Needs root, debootstrap and the network. Exit codes: 0 success; 1 failure; 77 cannot be tried here.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$1
blocks=${2:-99}
root=$work/root
suite=${QUICK_START_SUITE:-bookworm}

skip() { echo "skipped: $*"; exit 77; }
((EUID == 0)) || skip "a new Debian needs root"
command -v debootstrap >/dev/null || skip "a new Debian needs debootstrap (apt-get install debootstrap)"
git -C "$source" rev-parse --quiet --verify HEAD >/dev/null 2>&1 || skip "$source is not a clone of git"
# Mounts and processes end with the child, also when it is killed.
apart=(unshare --mount --pid --fork --kill-child)
"${apart[@]}" true 2>/dev/null || skip "this container may not make namespaces"

# The first mirror of Debian's that apt has here.
mirror=${QUICK_START_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $suite" 'Origin: Debian' 2>/dev/null | head -n 1)}
mirror=${mirror:-http://deb.debian.org/debian}
proxy=$(apt-config dump --format '%v' Acquire::http::Proxy 2>/dev/null || true)
components=main
case $mirror in *ubuntu*) components=main,universe ;; esac

child=
clean() {
  trap - EXIT
  if [[ -n $child ]]; then
    kill -KILL "$child" 2>/dev/null || true
    wait "$child" 2>/dev/null || true
  fi
  rm -rf --one-file-system "$root"
}
trap clean EXIT
trap 'exit 130' INT TERM
# In the background, so that a signal to this shell is handled at once.
in_namespace() {
  "${apart[@]}" env ${proxy:+"http_proxy=$proxy"} "$@" </dev/null &
  child=$!
  local status=0
  wait "$child" || status=$?
  child=
  return "$status"
}

rm -rf --one-file-system "$root"
mkdir -p "$work"
script=
[[ -e /usr/share/debootstrap/scripts/$suite ]] || script=gutsy
if ! in_namespace debootstrap --variant=minbase --components="$components" "$suite" "$root" "$mirror" $script >"$work/debootstrap.log" 2>&1; then
  tail -n 3 "$work/debootstrap.log"
  skip "debootstrap cannot fetch $suite from $mirror"
fi
cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
git clone --quiet --bare "$source" "$root/srv/headroom.git"
awk -v blocks="$blocks" '
  /^## / { section = $0 == "## Quick start"; next }
  section && /^```sh$/ { inside = ++block <= blocks; next }
  /^```/ { inside = 0 }
  inside && NF' "$source/README.md" >"$root/lines"
(($(wc -l <"$root/lines") >= 4)) || { echo "failed: README.md has no quick start"; exit 1; }

cat >"$root/type_lines" <<'END'
cd
TIMEFORMAT='%0R %0U %0S'
while IFS= read -r -u 3 line; do
  echo "\$ $line"
  { time eval "$line" </dev/null 2>&4; } 4>&2 2>/seconds
  status=$?
  read -r clock user system </seconds
  printf '%6d s clock  %6d s CPU  exit %d  %s\n' "$clock" $((user + system)) "$status" "$line" >>/times
  ((status == 0)) || exit 1
done 3</lines
END
status=0
in_namespace bash -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" env -i ${http_proxy:+"http_proxy=$http_proxy"} \
  HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
  HEADROOM_URL=/srv/headroom.git bash /type_lines' "$root" 2>&1 || status=1
echo
echo "$suite, $(nproc) CPUs, commit $(git -C "$source" rev-parse --short HEAD):"
cat "$root/times"
exit "$status"
