#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: peer.sh onednn|onnxruntime|pytorch [--installed]
#
# Runs the network that `webnn bench --vs='peer.sh NAME'` measures with another library, on the same weights and inputs,
# checks that the results are the same, and prints the milliseconds of the fastest run. WEBNN_GRAPH and WEBNN_THREADS come
# from `webnn bench`; WEBNN is the program webnn (build/tools/webnn); PEER_SECONDS how long it runs (0.3); PEER_FOLDER
# where models and programs are kept (build-peers). Exit code 77: the library has no such network or, with --installed,
# is not there: install.sh brings it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
name=$1
webnn=${WEBNN:-$root/build/tools/webnn}
folder=${PEER_FOLDER:-$root/build-peers}
python=/usr/bin/python3 # Debian's, which sees Debian's modules

installed() {
  $python -c 'import numpy, onnx' || return
  case $name in
    onednn) [ -f /usr/include/oneapi/dnnl/dnnl.hpp ] && command -v g++ ;;
    onnxruntime) command -v node && [ -d "$here/node_modules/onnxruntime-node" ] ;;
    pytorch) $python -c 'import torch' ;;
    *) false ;;
  esac
}

if [ "${2:-}" = --installed ]; then
  installed >/dev/null 2>&1 || { echo "skipped: $name is not installed" && exit 77; }
  exit 0
fi

model=$folder/${WEBNN_GRAPH//\//_}
if [ ! "$model/model.onnx" -nt "$webnn" ]; then
  mkdir -p "$folder"
  $python "$here/model.py" "$webnn" "$WEBNN_GRAPH" "$model" >&2
fi
export OMP_NUM_THREADS=$WEBNN_THREADS OPENBLAS_NUM_THREADS=$WEBNN_THREADS

case $name in
  onednn)
    if [ ! "$folder/onednn" -nt "$here/onednn.cpp" ]; then
      g++ -O2 -std=c++17 -o "$folder/onednn.new" "$here/onednn.cpp" -ldnnl && mv "$folder/onednn.new" "$folder/onednn"
    fi
    $python "$here/onednn.py" "$model"
    exec "$folder/onednn" "$model"
    ;;
  onnxruntime) exec node "$here/onnxruntime.mjs" "$model" "$here" ;;
  pytorch)
    # Debian's PyTorch takes the BLAS that the system has. OpenBLAS is only for it: installed, it would serve everything.
    [ ! -d "$folder/openblas" ] || export LD_LIBRARY_PATH=$folder/openblas/usr/lib/x86_64-linux-gnu/openblas-pthread
    exec $python -W ignore "$here/pytorch.py" "$model"
    ;;
esac
