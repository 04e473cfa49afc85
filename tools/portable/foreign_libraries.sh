#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian's libraries for another machine (packages/library.txt, python.txt) into a folder; the system stays as it is.
#
#   foreign_libraries.sh ARCHITECTURE FOLDER       for example: arm64 build/wheels/aarch64/root
set -euo pipefail
architecture=$1
folder=$2
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
apt=$folder/apt
mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/sources.list.d"
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $release" 'Origin: Debian' | head -n 1)
for suite in "$release" "$release-updates"; do echo "deb ${mirror:-http://deb.debian.org/debian} $suite main"; done >"$apt/sources.list"
: >"$apt/status"
options=(-qq -o "APT::Architecture=$architecture" -o "APT::Architectures=$architecture" -o "Dir::State=$apt" -o "Dir::State::lists=$apt/lists"
  -o "Dir::State::status=$apt/status" -o "Dir::Cache=$apt" -o "Dir::Etc::sourcelist=$apt/sources.list"
  -o "Dir::Etc::sourceparts=$apt/sources.list.d" -o "APT::Install-Recommends=false" -o "Debug::NoLocking=true")
apt-get "${options[@]}" update
mapfile -t packages < <(awk '!/^#/ && NF { print $1 }' "$source/packages/library.txt" "$source/packages/python.txt" | grep '^lib.*-dev$\|^zlib1g-dev$')
apt-get "${options[@]}" install --download-only --yes --no-install-recommends "${packages[@]}" >/dev/null
for package in "$apt"/archives/*.deb; do
  # The C and C++ libraries are the compiler's own.
  case ${package##*/} in libc6* | linux-libc-dev* | libstdc++* | libgcc* | gcc-* | cpp-* | perl* | dpkg* | tar_* | python3* | lib*san*) continue ;; esac
  dpkg-deb --extract "$package" "$folder"
done
