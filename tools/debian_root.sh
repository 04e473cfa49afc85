# SPDX-License-Identifier: Apache-2.0
# Sourced by scripts that work in a new minimal Debian or Ubuntu. Needs root, debootstrap and the network.

skip() { echo "skipped: $*"; exit 77; }

# Mounts and processes end with the child, also when it is killed. In the background, so that a signal to this shell is
# handled at once.
apart_child=
apart() {
  unshare --mount --pid --fork --kill-child "$@" </dev/null &
  apart_child=$!
  local status=0
  wait "$apart_child" || status=$?
  apart_child=
  return "$status"
}
trap 'exit 130' INT TERM

# remove_root ROOT: also ends what runs in it. For a trap on EXIT.
remove_root() {
  if [[ -n $apart_child ]]; then
    kill -KILL "$apart_child" 2>/dev/null || true
    wait "$apart_child" 2>/dev/null || true
  fi
  rm -rf --one-file-system "$1"
}

apt_proxy=$(apt-config dump --format '%v' Acquire::http::Proxy 2>/dev/null || true)

# make_root SUITE ROOT: SUITE is bookworm, trixie, noble ...; ends the script with 77 if it cannot be made here.
# DEBIAN_MIRROR: default that of apt here. DEBIAN_ARCHITECTURE: another machine's, under qemu-user-static. BARE_ROOT: a root to
# copy instead.
make_root() {
  local suite=$1 root=$2 components=main script= mirror
  ((EUID == 0)) || skip "a new Debian needs root"
  command -v debootstrap >/dev/null || skip "a new Debian needs debootstrap (apt-get install debootstrap)"
  apart true 2>/dev/null || skip "this container may not make namespaces"
  rm -rf --one-file-system "$root"
  mkdir -p "$(dirname "$root")"
  if [[ -n ${BARE_ROOT:-} ]]; then
    cp -a "$BARE_ROOT" "$root"
  else
    mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' "Codename: $suite" 'Origin: Debian' 2>/dev/null | head -n 1)}
    mirror=${mirror:-http://deb.debian.org/debian}
    case $mirror in *ubuntu*) components=main,universe ;; esac
    [[ -e /usr/share/debootstrap/scripts/$suite ]] || script=gutsy
    if ! apart env ${apt_proxy:+"http_proxy=$apt_proxy"} debootstrap --variant=minbase ${DEBIAN_ARCHITECTURE:+"--arch=$DEBIAN_ARCHITECTURE"} --components="$components" "$suite" "$root" "$mirror" $script >"$root.log" 2>&1; then
      tail -n 3 "$root.log"
      skip "debootstrap cannot fetch $suite from $mirror"
    fi
  fi
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
}

# in_root ROOT [NAME=VALUE]... COMMAND [ARGUMENT]...: with a clean environment. cuda_toolkit (find_cuda_toolkit): seen at
# /usr/local/cuda.
in_root() {
  local root=$1
  shift
  cuda_toolkit=${cuda_toolkit:-} apart bash -c 'mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --rbind /sys "$0/sys" || exit
    if [[ -n $cuda_toolkit ]]; then mkdir -p "$0/usr/local/cuda" && mount --bind "$cuda_toolkit" "$0/usr/local/cuda" || exit; fi
    exec chroot "$0" env -i "$@"' "$root" \
    ${apt_proxy:+"http_proxy=$apt_proxy"} HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# Sets cuda_toolkit to the CUDA toolkit of this system; empty without nvcc.
find_cuda_toolkit() {
  cuda_toolkit=$(readlink -f "${CUDA_HOME:-/usr/local/cuda}") && [[ -x $cuda_toolkit/bin/nvcc ]] || cuda_toolkit=
}

# try_in_root ROOT [NAME=VALUE]... COMMAND [ARGUMENT]...: shows the last lines (SHOWN, default 4), or all of a failure, which ends the script.
try_in_root() {
  echo "+ ${*:2}"
  if ! in_root "$@" >"$1.output" 2>&1; then
    cat "$1.output"
    echo "failed: ${*:2}"
    exit 1
  fi
  tail -n "${SHOWN:-4}" "$1.output"
}
