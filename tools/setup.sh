#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs the missing packages of packages/PART.txt; silent if none is missing.
#
#   tools/setup.sh [--check] PART...      --check: only report what is missing
#
# Exit codes: 0 all there; 2 something is missing and cannot be (with --check: is not) installed.
set -euo pipefail

lists="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/packages"
check_only=false
if [[ ${1:-} == --check ]]; then
  check_only=true
  shift
fi
if (($# == 0)); then
  echo "usage: tools/setup.sh [--check] PART...   parts: $(cd "$lists" && echo *.txt | sed 's/\.txt//g')" >&2
  exit 2
fi

packages=()
declare -A probe
for part in "$@"; do
  if [[ ! -f $lists/$part.txt ]]; then
    echo "setup: no list of packages '$part' (looked for $lists/$part.txt)" >&2
    exit 2
  fi
  while read -r package kind name _; do
    [[ -z $package || $package == \#* ]] && continue
    packages+=("$package")
    probe[$package]="$kind $name"
  done <"$lists/$part.txt"
done

with_apt=false
if command -v apt-get >/dev/null && command -v dpkg-query >/dev/null; then with_apt=true; fi

# Tools may have any origin; libraries must be the package or known to pkg-config.
present() {
  local kind name
  read -r kind name <<<"${probe[$1]}"
  case $kind in
    command) command -v "$name" >/dev/null ;;
    pkg-config) command -v pkg-config >/dev/null && pkg-config --exists "$name" ;;
    file) [[ -e $name ]] ;;
    *) echo "setup: packages/: '$1' has no probe (command NAME | pkg-config MODULE | file PATH)" >&2; exit 2 ;;
  esac
}

find_missing() {
  missing=()
  local package installed=""
  if $with_apt; then
    installed=$(dpkg-query -W -f '|${Package}|${db:Status-Status}|\n' "${packages[@]}" 2>/dev/null || true)
  fi
  for package in "${packages[@]}"; do
    [[ $installed == *"|$package|installed|"* ]] || present "$package" || missing+=("$package")
  done
}

explain_missing() {
  local package
  {
    echo "setup: not found on this machine:"
    for package in "${missing[@]}"; do
      printf '  %-22s (looked for: %s)\n' "$package" "${probe[$package]}"
    done
  } >&2
}

find_missing
((${#missing[@]} == 0)) && exit 0

if ! $with_apt; then
  explain_missing
  echo "setup: there is no apt-get here. Install these (the names are Debian's) with your package manager or from" \
    "source so that the probes succeed, then run the command again." >&2
  exit 2
fi
install="apt-get install -y --no-install-recommends ${missing[*]}"
if $check_only; then
  explain_missing
  echo "setup: to install them: $install" >&2
  exit 2
fi

as_root=(env DEBIAN_FRONTEND=noninteractive)
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    explain_missing
    echo "setup: neither root nor sudo. As root, run: $install" >&2
    exit 2
  fi
  # Without a terminal nobody can type a password: fail at once.
  if [[ -t 0 ]]; then as_root=(sudo "${as_root[@]}"); else as_root=(sudo -n "${as_root[@]}"); fi
fi

if ! log=$(mktemp); then
  echo "setup: nothing can be written to ${TMPDIR:-/tmp}: free space there, then run the same command again" >&2
  exit 2
fi
trap 'rm -f "$log" "$log.update"' EXIT
trap 'echo "setup: interrupted; the same command goes on from here" >&2; exit 130' INT TERM

reason() {
  local unknown
  if grep -q 'No space left on device\|enough free space' "$log"; then
    echo "the disk is full: free space for what apt-get keeps in /var/cache/apt and installs in /usr"
  elif grep -q '^sudo: ' "$log"; then
    echo "sudo does not let this user in without a password: run it in a terminal, or as root: $install"
  elif grep -q 'Could not get lock\|Unable to acquire' "$log"; then
    echo "another apt-get or dpkg is at work: wait until it has ended"
  elif grep -q 'resolv\|Could not connect\|Connection \|unreachable\|timed out' "$log"; then
    echo "no network: the packages' servers cannot be reached. Connect this machine, or name its proxy in http_proxy"
  elif unknown=$(sed -n 's/^E: Unable to locate package //p; s/^E: Package .\([^ ]*\). has no installation candidate/\1/p' "$log" | sort -u) &&
      [[ -n $unknown ]]; then
    echo "this system's archives do not have ${unknown//$'\n'/, }: headroom is made for Debian 12; on another system install" \
      "them from elsewhere so that the probes of packages/ succeed"
  else
    tail -n 3 "$log"
    echo "that is what it said. To see it all: $install"
  fi
}

apt_install() {
  "${as_root[@]}" apt-get install -y -qq -o DPkg::Lock::Timeout=300 --no-install-recommends "${missing[@]}" </dev/null >"$log" 2>&1
}

echo "setup: installing ${missing[*]}" >&2
# Fetches package lists only if the present ones are missing or too old.
if ! apt-get install -s -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 || ! apt_install; then
  if command -v dpkg >/dev/null; then "${as_root[@]}" dpkg --configure -a </dev/null >"$log" 2>&1 || true; fi
  # For apt-get an unfetchable list is only a warning.
  if ! "${as_root[@]}" apt-get update -qq </dev/null >"$log" 2>&1 || grep -q '^W: Failed to fetch' "$log"; then
    echo "setup: the lists of packages cannot be fetched ($(reason | tail -n 1)); going on with those at hand" >&2
    cp "$log" "$log.update"
  fi
  if ! apt_install; then
    # Without lists every package is unknown: report why the lists are missing.
    if [[ -e $log.update ]] && grep -q 'Unable to locate' "$log"; then cp "$log.update" "$log"; fi
    {
      echo "setup: apt-get could not install what is missing: $(reason)"
      echo "setup: then run the same command again; what is installed by then stays."
    } >&2
    exit 2
  fi
fi

find_missing
if ((${#missing[@]} > 0)); then
  explain_missing
  exit 2
fi
