# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
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

# want PACKAGE...: as need, for what tests can do without: says so where it cannot be had.
want() {
  local package
  for package in "$@"; do
    (need "$package") >/dev/null 2>&1 || echo "There is no $package: tests that use it are skipped" >&2
  done
}

# want_modules FOLDER: what package.json of a folder of conformance names, unless all of it is there.
want_modules() {
  local folder=conformance/$1
  npm ls --silent --prefix "$folder" >/dev/null 2>&1 ||
    npm install --silent --no-package-lock --no-audit --no-fund --prefix "$folder" >/dev/null 2>&1 ||
    echo "npm cannot install what $folder/package.json names: its tests are skipped" >&2
}

# want_clients: what the tests of navigator.ml use. A Node that is there is taken as it is.
want_clients() {
  command -v node >/dev/null || want nodejs
  local prefix
  prefix=$(node -p 'require("path").resolve(process.execPath, "../..")' 2>/dev/null) || return 0
  [ -f "$prefix/include/node/node_api.h" ] || want libnode-dev
  command -v npm >/dev/null || want npm
  command -v chromium >/dev/null || want chromium
  want python3-onnx
}

# want_models: what the inputs are made with of networks that people use.
want_models() {
  command -v npm >/dev/null || want nodejs npm
  want python3-onnx python3-numpy python3-pil fonts-dejavu-core espeak-ng
}

# want_peers: what npm has for the tests of both, and the libraries that benchmarks compare with.
want_peers() {
  local folder
  for folder in js/ort js/litert models bench/peers; do
    want_modules $folder
  done
  conformance/bench/peers/install.sh || echo "Tests of the libraries that benchmarks compare with are skipped" >&2
}

# shellcheck disable=SC2034 # for scripts that source this
build_packages=(gcc libc6-dev meson ninja-build pkg-config libxnnpack-dev libpthreadpool-dev libpng-dev zlib1g-dev
  libjpeg-dev libcjson-dev libvulkan-dev libvulkan1 libshaderc-dev glslang-dev spirv-tools g++)

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
