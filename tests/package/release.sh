#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes a release of the last commit twice, in two folders: the files must be the same. Then installs them in new systems.
#
#   tests/package/release.sh WORK_FOLDER
#
# Needs root, debootstrap, PyPI and the network. Exit codes: 0 success; 1 failure; 77 cannot be tried here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
. "$here/../../tools/debian_root.sh"
rm -rf "$1"
mkdir -p "$1"
work=$(cd "$1" && pwd)
# Paths of different length.
clones=("$work/a" "$work/another_clone")
for clone in "${clones[@]}"; do git clone --quiet "$here/../.." "$clone"; done
for clone in "${clones[@]}"; do
  start=$SECONDS
  make -C "$clone" dist >"$work/log" 2>&1 || [[ -e $(echo "$clone"/build/dist/*/SHA256SUMS) ]] || { tail -n 40 "$work/log"; exit 1; }
  grep "dist: left out" "$work/log" || true
  echo "make dist: $((SECONDS - start)) s"
done
dist=$(echo "${clones[0]}"/build/dist/*)
cat "$dist/SHA256SUMS"
diff "$dist/SHA256SUMS" "${clones[1]}"/build/dist/*/SHA256SUMS
(cd "$dist" && sha256sum --quiet --strict -c SHA256SUMS)

tried() { "$@" || { status=$?; ((status == 77)) || exit "$status"; }; }
for wheel in "$dist"/headroom-*.whl; do
  tried "$here/wheel_roots.sh" "$wheel"
done
for suite in bookworm:12 trixie:13; do
  mkdir "$work/${suite%:*}"
  cp "$dist"/*~deb"${suite#*:}"u*.deb "$work/${suite%:*}/" 2>/dev/null || { echo "skipped: no packages for ${suite%:*}"; continue; }
  tried "$here/bare_root.sh" "$work/${suite%:*}" "${suite%:*}"
done
