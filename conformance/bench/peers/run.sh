#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# usage: run.sh [BENCH OPTIONS] [GRAPH...]
#
# Installs other libraries, builds this one, and writes a report like tools/BENCHMARK.txt to benchmark.txt: this library
# and the others take turns on the same networks, on one thread and on all processors. Nothing else of the machine should
# be at work. Ten minutes.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. tools/install.sh

need "${build_packages[@]}"
conformance/bench/peers/install.sh
[ -f build/build.ninja ] || quietly meson setup build
quietly ninja -C build tools/webnn
vs=()
for peer in onednn onnxruntime pytorch; do
  vs+=("--vs=conformance/bench/peers/peer.sh $peer")
done
graphs=(mobilenet_v1 mobilenet_v2 resnet50 bert_layer gru lstm matmul:512x512x512)
for word in "$@"; do
  [ "${word#--}" != "$word" ] || graphs=() # the caller's own
done
export PEER_SECONDS=0.3
exec build/tools/webnn bench --time=$PEER_SECONDS --rounds=4 --report=benchmark.txt "${vs[@]}" "$@" "${graphs[@]}"
