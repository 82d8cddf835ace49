# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# To be sourced: need <what>=<package>...; <what> is a command, or a path that must exist.
# As root, what is missing comes from apt; otherwise the one command to run is printed.
need() {
  missing=
  for pair in "$@"; do
    what=${pair%%=*}
    case $what in
      /*) [ -e "$what" ] || missing="$missing ${pair#*=}" ;;
      *) command -v "$what" >/dev/null 2>&1 || missing="$missing ${pair#*=}" ;;
    esac
  done
  [ -n "$missing" ] || return 0
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "Please install what Debian calls:$missing" >&2
    exit 1
  fi
  if [ "$(id -u)" != 0 ]; then
    echo "Some packages are missing. This installs them:" >&2
    echo "    sudo apt-get install -y --no-install-recommends$missing" >&2
    exit 1
  fi
  echo "Installing:$missing"
  log=$(mktemp)
  if ! { apt-get -q update && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    echo "apt could not install:$missing" >&2
    exit 1
  fi
  rm -f "$log"
}

# The version of the newest clang here, or of the one that this system offers.
clang_version() {
  for version in 22 21 20 19 18 17 16; do
    if command -v clang++-$version >/dev/null 2>&1; then
      echo $version
      return
    fi
  done
  case $(. /etc/os-release 2>/dev/null && echo "${VERSION_ID:-}") in
    12) echo 16 ;;
    *) echo 19 ;;
  esac
}
