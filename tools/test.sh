#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing, builds the library in every way that it promises to build, and runs all tests. Ends with
# the line "N passed, N failed, N skipped"; what failed and why something was skipped stands above it. Builds are kept
# in build-test/ for the next time. WPT=FOLDER names a checkout of web-platform-tests, which is run as it is then.
set -uo pipefail
cd "$(dirname "$0")/.." || exit
. tools/install.sh
. tools/aarch64.sh

need "${build_packages[@]}" clang libclang-rt-14-dev binutils python3-minimal python3-numpy python3-torch \
  mesa-vulkan-drivers vulkan-validationlayers
want gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
want_clients
want_models
want clang-format
want abigail-tools graphviz libonnx-testdata
want_peers & # only tests wait for these
# Models of all operators, for what reads ONNX.
models=$(dpkg -L libonnx-testdata 2>/dev/null | awk '/\/data$/ && !found++') && export ONNX_MODELS=$models
failed=()

# configure NAME COMPILER [MESON OPTIONS]: makes build-test/NAME; warnings are errors.
configure() {
  local name=$1 compiler=$2
  shift 2
  [ -f "build-test/$name/build.ninja" ] ||
    quietly env CC="$compiler" meson setup "build-test/$name" -Dwerror=true "$@" || { failed+=("$name"); return 1; }
}

# build NAME COMPILER [MESON OPTIONS]: configures and builds all of it.
build() {
  echo "== $1: building" >&2
  configure "$@" || return 1
  quietly ninja -C "build-test/$1" || { failed+=("$1"); return 1; }
}

# check_some NAME [MESON TEST OPTIONS]: builds what some tests of a configured build need, and runs these.
check_some() {
  local name=$1
  shift
  echo "== $name: building and testing" >&2
  quietly meson test -C "build-test/$name" --quiet --print-errorlogs "$@" || failed+=("$name")
}

# check NAME [MESON TEST OPTIONS]: runs the tests of a build.
check() {
  local name=$1
  shift
  echo "== $name: testing" >&2
  meson test -C "build-test/$name" --no-rebuild --quiet --print-errorlogs "$@" >&2 || failed+=("$name")
}

mkdir -p build-test
rm -f build-test/*/meson-logs/testlog*.json
export LSAN_OPTIONS="suppressions=$PWD/conformance/leaks.txt:print_suppressions=0"
# What has been freed stays mapped, and shadows are cleared in place: each mapping would wait for all processors. What drivers
# keep for a thread is a block of malloc, which sanitizers take for one of an older glibc where it begins 16 bytes into a page:
# they read its size in front of it and crash, one time in 256, unless they leave such blocks to malloc.
export ASAN_OPTIONS=detect_leaks=1:malloc_context_size=8:handle_sigill=1:allocator_release_to_os_interval_ms=-1:clear_shadow_mmap_threshold=1073741824:intercept_tls_get_addr=0
export TSAN_OPTIONS=halt_on_error=1:intercept_tls_get_addr=0
# Tests on lavapipe compile many shaders and run each a few times: most of their time is LLVM's. What one build has compiled
# the others find, wherever home is.
export GALLIVM_PERF=nopt MESA_SHADER_CACHE_DIR=$PWD/build-test/shaders
# Compilers of shaders allocate and free small pieces most of the time: what a thread keeps of them saves a seventh of that.
export GLIBC_TUNABLES=glibc.malloc.tcache_count=60000

# Where WNN_NON_TEMPORAL_BYTES is small, outputs are written past the caches (cpu/simd/non_temporal.h) that are too small for it
# elsewhere, and where WNN_TABLE_ELEMENTS is, functions of float16 are looked up (cpu/elementwise/table.c).
# What sanitizers tell needs the lines only, which compile in three quarters of the time of all that debuggers know, and
# without half of the optimizations in two fifths of that; gcc takes a third less with the simplest way to choose registers.
# Undefined behaviour is a trap, of which AddressSanitizer tells the line: its own reports make code twice as large, with
# 800,000 addresses that every program that starts has to find, and a library with 6 MB that are searched for leaks when it ends.
# Without -fsanitize-undefined-trap-on-error they say what it is.
trap=-fsanitize-undefined-trap-on-error
traps="-g1 $trap"
registers='-fira-region=one -fira-algorithm=priority'
sanitize=(--buildtype=debugoptimized -Doptimization=1 -Db_lundef=false -Dc_args=-g1)
build release gcc && wait && check release
build plain gcc -Doptimization=1 -Dxnnpack=disabled -Dvulkan=disabled -Dc_args='-DWNN_NON_TEMPORAL_BYTES=1 -DWNN_TABLE_ELEMENTS=1' && check plain --suite=webnn:vectors --suite=webnn:unit
# gcc compiles the kernels with sanitizers in a third of the time that clang takes, and looks into vectors; clang has libFuzzer.
build address gcc "${sanitize[@]}" -Db_sanitize=address,undefined -Dc_link_args=$trap \
  -Dc_args="$traps $registers -DWNN_NON_TEMPORAL_BYTES=256 -DWNN_TABLE_ELEMENTS=64" && check address --timeout-multiplier=6 --no-suite=webnn:package
build clang clang "${sanitize[@]}" -Doptimization=0 -Db_sanitize=address,undefined -Dc_args="$traps" && check clang --timeout-multiplier=6 --suite=webnn:libfuzzer
# Without libraries that MemorySanitizer has not compiled, but for those that read vectors; with selections that clang makes
# branches of where it optimizes less, also those of lanes that are dropped.
configure memory clang "${sanitize[@]}" -Doptimization=2 -Db_sanitize=memory -Dxnnpack=disabled -Dvulkan=disabled -Dtools=disabled -Djs=disabled &&
  check_some memory --timeout-multiplier=6 'own vectors on cpu' 'random graphs' 'random graphs of edges' cpu_conv_edges \
    cpu_chains cpu_gather cpu_gemm_nbit cpu_int8 cpu_interleave cpu_lanes cpu_movement cpu_rows cpu_winograd
configure thread gcc "${sanitize[@]}" -Db_sanitize=thread -Dc_args="-g1 $registers" && check_some thread --timeout-multiplier=6 --suite=webnn:threads
configure coverage gcc --buildtype=debug -Db_coverage=true -Dc_args=-DWNN_PLAIN && check_some coverage --suite=webnn:validation --suite=webnn:coverage
if aarch64_root build-test/aarch64-root; then
  configure aarch64 aarch64-linux-gnu-gcc --cross-file build-test/aarch64-root/cross.ini -Dvulkan=disabled &&
    check_some aarch64 --timeout-multiplier=8 'own vectors on cpu' compiler_memory compiler_passes cpu_chains cpu_gemm_nbit \
      cpu_int8 cpu_lanes cpu_rows cpu_vmath cpu_winograd cpu_xnnpack cpu_xnnpack_rules lib runtime_alloc runtime_constants
else
  echo "There is no compiler, emulator or library for AArch64: its build is skipped" >&2
fi

python3 conformance/tally.py build-test "${failed[@]}"
