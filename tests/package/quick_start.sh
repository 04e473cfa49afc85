#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Types the quick start of README.md, as it stands, in a new Debian 12, and prints the clock and CPU time of each line.
#
#   tests/package/quick_start.sh WORK_FOLDER [BLOCKS]     BLOCKS: type only the first so many blocks; default all
#
# The commands are the lines of the section's `sh` blocks; HEADROOM_URL is a clone of the last commit. QUICK_START_SUITE
# and DEBIAN_MIRROR name another system (noble, http://archive.ubuntu.com/ubuntu). The default mirror is that of apt here.
# Needs root, debootstrap and the network. Exit codes: 0 success; 1 failure; 77 cannot be tried here.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$1
blocks=${2:-99}
root=$work/root
suite=${QUICK_START_SUITE:-bookworm}

. "$source/tools/debian_root.sh"
git -C "$source" rev-parse --quiet --verify HEAD >/dev/null 2>&1 || skip "$source is not a clone of git"
trap 'remove_root "$root"' EXIT
make_root "$suite" "$root"
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
in_root "$root" HEADROOM_URL=/srv/headroom.git bash /type_lines 2>&1 || status=1
echo
echo "$suite, $(nproc) CPUs, commit $(git -C "$source" rev-parse --short HEAD):"
cat "$root/times"
exit "$status"
