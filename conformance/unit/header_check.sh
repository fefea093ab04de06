#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: header_check.sh [CC [CXX]]
#
# Compiles every public header alone as C11 and as C++17, without a warning, and runs the uses of its INIT macros.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
include=$here/../../include
cc=${1:-cc}
cxx=${2:-c++}
out=$(mktemp)
trap 'rm -f "$out"' EXIT INT TERM
flags="-Wall -Wextra -Wshadow -Wundef -Werror -pedantic -I$include"

for header in "$include"/webnn/*.h; do
    name=$(basename "$header" .h)
    test=$here/header_$name.c
    [ -f "$test" ] || { echo "there is no $test" >&2; exit 1; }
    for macro in $(sed -n 's/^#define \(WNN_[A-Z0-9_]*_INIT\)\>.*/\1/p' "$header"); do
        grep -qw "$macro" "$test" || { echo "$test does not use $macro" >&2; exit 1; }
    done
    # shellcheck disable=SC2086
    $cc -std=c11 -Wstrict-prototypes $flags "$test" -o "$out" && "$out"
    # shellcheck disable=SC2086
    $cxx -std=c++17 -x c++ $flags "$test" -o "$out" && "$out"
done
