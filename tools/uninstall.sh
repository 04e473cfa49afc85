#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Removes the files of a manifest of `cmake --install`, below DESTDIR, and the folders named headroom that are then empty.
#
#   tools/uninstall.sh MANIFEST
set -euo pipefail
manifest=$1
if [[ ! -s $manifest ]]; then
  echo "uninstall: there is no $manifest: only the tree that \`make install\` was called in can uninstall" >&2
  exit 2
fi
# CMake ends no last line.
mapfile -t files < <(sed "s:^:${DESTDIR:-}:" "$manifest")
present=0
folders=()
for file in "${files[@]}"; do
  [[ ! -e $file && ! -L $file ]] || present=$((present + 1))
  folder=$(dirname "$file")
  if [[ $file == *.py ]]; then rm -rf -- "$folder/__pycache__"; fi
  [[ ${folder#"${DESTDIR:-}"} == */headroom* ]] || continue
  folders+=("$folder")
  while [[ $(basename "$folder") != headroom* ]]; do
    folder=$(dirname "$folder")
    folders+=("$folder")
  done
done
rm -f -- "${files[@]}"
# Deeper folders first.
printf '%s\n' "${folders[@]}" | sort -ru | xargs -d '\n' rmdir --ignore-fail-on-non-empty -- 2>/dev/null || true
echo "removed $present of ${#files[@]} files${DESTDIR:+ below $DESTDIR}"
