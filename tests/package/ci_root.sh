#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the steps of ci/, as they stand, in a new Debian 12: they build a project, and install headroom from its package.
#
#   tests/package/ci_root.sh WORK_FOLDER [FOLDER_OF_DEBS]       default: makes them with `make deb`
#
# Only GitHub is not there: ci_steps.py checks out and keeps artifacts, and `gh` answers from a file.
# Exit codes: 0 success; 1 failure; 77 cannot be tried here.
set -euo pipefail
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
. "$source/tools/debian_root.sh"
root=$1/root
debs=${2:-$source/build/deb}
[[ -n ${2:-} ]] || make -C "$source" deb HEADROOM_TORCH=OFF
trap 'remove_root "$root"' EXIT
make_root bookworm "$root"

mkdir "$root/stubs"
cp -r "$source/ci" "$root/ci"
cp "$(ls -t "$debs"/headroom_*.deb | head -n 1)" "$source/tests/package/ci_steps.py" "$root/stubs/"
(echo "#!/usr/bin/python3"; cat "$source/tests/cli/ci_command.py") >"$root/usr/local/bin/gh"
cat >"$root/usr/local/bin/pipx" <<'END'
#!/bin/sh
set -e
[ "$1" = install ]
exec apt-get install -y -qq --no-install-recommends /stubs/headroom_*.deb >/dev/null
END
cp "$root/usr/local/bin/pipx" "$root/usr/local/bin/pip"
chmod +x "$root"/usr/local/bin/*
SHOWN=1 try_in_root "$root" apt-get update -qq
SHOWN=1 try_in_root "$root" apt-get install -y -qq --no-install-recommends git cmake make gcc libc6-dev jq unzip python3-yaml
in_root "$root" STUBS=/stubs python3 /stubs/ci_steps.py /ci /work
