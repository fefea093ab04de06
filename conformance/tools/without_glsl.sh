#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: without_glsl.sh WEBNN
#
# Where libwebnn-glsl is not beside the program, a context on a GPU is refused with its name, and the CPU works.
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT INT TERM
cp "$1" "$folder/webnn"
unset LD_LIBRARY_PATH
# With a sanitizer the program is linked to its internals.
internal=$(dirname "$1")/../libwebnn-internal.so
if [ -e "$internal" ]; then
    cp "$internal" "$folder"
    export LD_LIBRARY_PATH="$folder"
fi
if said=$("$folder/webnn" bench --backend=gpu --time=0.01 relu:4 2>&1); then
    echo "a context without a compiler of shaders: $said" >&2
    exit 1
fi
case $said in
*libwebnn-glsl.so*"not there"*) ;;
*) echo "the refusal says: $said" >&2; exit 1 ;;
esac
"$folder/webnn" bench --time=0.01 relu:4 >/dev/null
