#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds against PyPI's current torch and runs the tests that need torch.
#
#   tools/test_torch2.sh [CTEST ARGUMENT...]
#
#   TORCH2          pip requirement for the virtual environment build/torch2_python (default: torch; torch==2.8.0)
#   HEADROOM_TORCH  an existing torch folder, or python: nothing is installed
#   HEADROOM_TORCH_GLOO  sources of its gloo (docs/how-to/torch.md): without them the tests of several ranks are skipped
#   CMAKE_ARGS      more options for cmake
#
# Exit codes: ctest's; 2 if the build failed.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$root/build/torch2
environment=$root/build/torch2_python
wanted=${TORCH2:-torch}
python=${PYTHON:-python3}
# pip downloads PyPI torch's CUDA packages, although they are not used here.
needed_gb=9

refuse() {
  echo "test-torch2: $*" >&2
  exit 2
}

install_torch() {
  local free_gb
  mkdir -p "$root/build"
  free_gb=$(df --output=avail -BG "$root/build" | tail -1 | tr -dc 0-9)
  ((free_gb >= needed_gb)) || refuse "$root/build has $free_gb GB free, and torch with what it asks for takes $needed_gb:" \
    "make room, or name a torch that is there: HEADROOM_TORCH=/path/to/site-packages/torch make test-torch2"
  "$python" -m venv "$environment" ||
    refuse "$python makes no virtual environment (the reason is above): apt-get install python3-venv, or PYTHON=another"
  echo "test-torch2: installing $wanted into $environment (some 3 GB to fetch)" >&2
  "$environment/bin/python3" -m pip install --quiet --no-cache-dir --disable-pip-version-check "$wanted" ||
    refuse "pip could not install $wanted (the reason is above; is there a network?): again later, TORCH2=torch==VERSION for" \
      "another, or HEADROOM_TORCH=/path/to/site-packages/torch for one that is there"
}

torch_folder() {
  "$environment/bin/python3" -c 'import importlib.util as u; s = u.find_spec("torch"); print(s.submodule_search_locations[0])'
}

"$root/tools/setup.sh" build library python test
torch=${HEADROOM_TORCH:-AUTO}
if [[ $torch == AUTO || $torch == ON || $torch == OFF ]]; then
  marker=$environment/installed.txt
  if [[ ! -f $marker || $(<"$marker") != "$wanted" ]]; then
    rm -f "$marker"
    install_torch
    echo "$wanted" >"$marker"
  fi
  torch=$(torch_folder)
fi

options=(-DHEADROOM_TORCH="$torch" -DHEADROOM_TORCH_GLOO="${HEADROOM_TORCH_GLOO:-}" -DHEADROOM_CUDA=OFF -DHEADROOM_EXAMPLES=OFF)
read -r -a more <<<"${CMAKE_ARGS:-}"
options+=("${more[@]}")
command -v ccache >/dev/null && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCMAKE_C_COMPILER_LAUNCHER=ccache)
cd "$root"
cmake --preset release -B "$build" "${options[@]}" || refuse "cmake could not configure $build (the reason is above)"
cmake --build "$build" ${JOBS:+--parallel "$JOBS"} --target headroom_torch_tests || refuse "it does not build (the reason is above)"

selected=(-L torch)
if [[ -z ${HEADROOM_TORCH_GLOO:-} ]]; then
  selected+=(-LE ranks)
  echo "test-torch2: without HEADROOM_TORCH_GLOO the tests of several ranks are left out (docs/how-to/torch.md)" >&2
fi
PYTHON="$python" exec tools/run_tests.sh "$build" "${selected[@]}" "$@"
