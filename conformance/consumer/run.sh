#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh BUILD_DIRECTORY
#
# Installs the library from a build directory into a temporary folder and builds and runs a program against it, once
# with the shared and once with the static library, with meson, with the compiler and pkg-config alone, and with CMake if it
# is there.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT INT TERM

meson install -C "$build" --no-rebuild --quiet --destdir "$stage/root"
file=$(find "$stage/root" -name webnn.pc)
[ -n "$file" ] || { echo "webnn.pc was not installed" >&2; exit 1; }

# The files say the prefix of the build; here it is below the temporary folder.
prefix=$(sed -n 's/^prefix=//p' "$file")
sed -i "s|^prefix=.*|prefix=$stage/root$prefix|" "$(dirname "$file")"/webnn*.pc
PKG_CONFIG_PATH=$(dirname "$file")
libraries=$(dirname "$(find "$stage/root" -name 'libwebnn.so')")
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH

for static in false true; do
    meson setup "$stage/build-$static" "$here" -Dprefer_static=$static >"$stage/log" 2>&1 ||
        { cat "$stage/log" >&2; exit 1; }
    ninja -C "$stage/build-$static" >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
    "$stage/build-$static/consumer"
    [ ! -f "$(dirname "$file")/webnn-model.pc" ] || "$stage/build-$static/model"
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
if pkg-config --exists webnn-model; then
    # shellcheck disable=SC2046
    $cc -std=c11 "$here/model.c" -o "$stage/model" $(pkg-config --cflags --libs webnn-model)
    "$stage/model"
fi

if command -v cmake >/dev/null; then
    cmake -S "$here" -B "$stage/build-cmake" -DCMAKE_PREFIX_PATH="$stage/root$prefix" >"$stage/log" 2>&1 &&
        cmake --build "$stage/build-cmake" >"$stage/log" 2>&1 || { cat "$stage/log" >&2; exit 1; }
    "$stage/build-cmake/consumer"
    # Another series will not do.
    sed 's/webnn 0.1 REQUIRED/webnn 0.0 REQUIRED/' "$here/CMakeLists.txt" >"$stage/CMakeLists.txt"
    cp "$here/main.c" "$stage"
    if cmake -S "$stage" -B "$stage/build-other" -DCMAKE_PREFIX_PATH="$stage/root$prefix" >/dev/null 2>&1; then
        echo "CMake takes webnn for version 0.0" >&2
        exit 1
    fi
fi
pages="doc/webnn/INTEGRATION.md doc/webnn/examples.md"
[ ! -f "$stage/root$prefix/bin/webnn" ] || pages="$pages man/man1/webnn.1 bash-completion/completions/webnn"
for page in $pages; do
    [ -f "$stage/root$prefix/share/$page" ] || { echo "$page was not installed" >&2; exit 1; }
done
