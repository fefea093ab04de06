#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh BUILD_DIRECTORY
#
# Installs the library from a build directory into a temporary folder and builds and runs a program against it, once
# with the shared and once with the static library, with meson and with the compiler and pkg-config alone.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT INT TERM

meson install -C "$build" --no-rebuild --quiet --destdir "$stage/root"
file=$(find "$stage/root" -name webnn.pc)
[ -n "$file" ] || { echo "webnn.pc was not installed" >&2; exit 1; }

# The file says the prefix of the build; here it is below the temporary folder.
prefix=$(sed -n 's/^prefix=//p' "$file")
sed -i "s|^prefix=.*|prefix=$stage/root$prefix|" "$file"
PKG_CONFIG_PATH=$(dirname "$file")
libraries=$(dirname "$(find "$stage/root" -name 'libwebnn.so')")
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH

for static in false true; do
    meson setup "$stage/build-$static" "$here" -Dprefer_static=$static >"$stage/log" 2>&1 ||
        { cat "$stage/log" >&2; exit 1; }
    ninja -C "$stage/build-$static" >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
    "$stage/build-$static/consumer"
done
if ldd "$stage/build-true/consumer" | grep -q libwebnn; then
    echo "the static program needs libwebnn.so" >&2
    exit 1
fi
ldd "$stage/build-false/consumer" | grep -q "$libraries/libwebnn.so"

cc=${CC:-cc}
# shellcheck disable=SC2046
$cc -std=c11 "$here/main.c" -o "$stage/plain" $(pkg-config --cflags --libs webnn)
"$stage/plain"
