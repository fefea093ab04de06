# SPDX-License-Identifier: Apache-2.0
# Sourced by demo.sh and test.sh: `need PACKAGE...` installs the Debian packages that are missing.

need() {
  local missing=() package
  for package in "$@"; do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
  done
  [ ${#missing[@]} -eq 0 ] && return
  local root=()
  [ "$(id -u)" -eq 0 ] || root=(sudo)
  echo "Installing ${missing[*]}" >&2
  local log
  log=$(mktemp)
  if ! { "${root[@]}" apt-get update -q &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"; } \
    >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
  fi
  rm -f "$log"
}

build_packages=(gcc libc6-dev meson ninja-build pkg-config libxnnpack-dev libpthreadpool-dev libpng-dev
  libjpeg-dev libcjson-dev)

# quietly COMMAND...: shows what it prints only if it fails.
quietly() {
  local log
  log=$(mktemp)
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    return 1
  fi
  rm -f "$log"
}
