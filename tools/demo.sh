#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the library, and reads handwritten digits with it.
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/install.sh

need "${build_packages[@]}"
[ -f build/build.ninja ] || { echo "Configuring build/" >&2; quietly meson setup build; }
echo "Building" >&2
quietly ninja -C build
exec build/tools/webnn run --draw --top=3 --labels=tools/digits/labels.txt tools/digits/digits.webnn tools/digits/images/*.png
