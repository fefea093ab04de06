#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what peer.sh runs: oneDNN 2.6.3, PyTorch 1.13.0 with OpenBLAS 0.3.21 and the ONNX library, of Debian 12, and
# ONNX Runtime and (for x86-64) llama.cpp of npm in the versions of package.json.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tools/install.sh

need libdnnl-dev g++ python3-torch python3-onnx python3-numpy libgfortran5
command -v node >/dev/null || need nodejs
command -v npm >/dev/null || need npm
modules=conformance/bench/peers/node_modules
[ -d $modules/onnxruntime-node ] && { [ -d $modules/@node-llama-cpp/linux-x64-vulkan ] || [ "$(uname -m)" != x86_64 ]; } ||
  quietly npm install --no-package-lock --no-audit --no-fund --prefix conformance/bench/peers

folder=${PEER_FOLDER:-build-peers}
if [ ! -d "$folder/openblas" ]; then
  mkdir -p "$folder"
  archives=$(mktemp -d)
  (cd "$archives" && quietly apt-get download libopenblas0-pthread)
  dpkg -x "$archives"/*.deb "$folder/openblas"
  rm -r "$archives"
fi
