#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command that writes to a build folder. If it fails for lack of disk or memory, or is interrupted,
# prints the reason last and what to do.
#
#   tools/with_reason.sh BUILD_FOLDER COMMAND [ARGUMENT...]
set -uo pipefail
build=$1
shift

say() { echo "make: $*" >&2; }
killed_for_memory() { sed -n 's/^oom_kill //p' /proc/vmstat 2>/dev/null; }
# Returns whether a few MiB can be written to $1.
has_space() {
  mkdir -p "$1" 2>/dev/null && head -c 8388608 /dev/zero 2>/dev/null >"$1/.space_$$"
  local status=$?
  rm -f "$1/.space_$$"
  return $status
}

interrupted=false
trap 'interrupted=true' INT TERM
killed_before=$(killed_for_memory)
"$@"
status=$?
((status == 0)) && ! $interrupted && exit 0

if $interrupted || ((status > 128 && status != 137)); then
  say "interrupted; the same command goes on from here"
  exit 130
fi
for folder in "$build" "${TMPDIR:-/tmp}"; do
  if ! has_space "$folder" 2>/dev/null; then
    say "nothing can be written to $folder ($(df -hP "$folder" 2>/dev/null | awk 'NR == 2 {print $4 " free of " $2}')): free space there; the same command then goes on from here"
    exit "$status"
  fi
done
if [[ $(killed_for_memory) != "$killed_before" ]]; then
  say "the system ended a process for want of memory: the same command with JOBS=1 goes on from here with less"
fi
exit "$status"
