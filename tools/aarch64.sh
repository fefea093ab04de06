# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by test.sh. `aarch64_root FOLDER` unpacks what the library links to, built for AArch64, into FOLDER and writes
# FOLDER/cross.ini for meson: Debian's cross compiler builds, QEMU runs. Nothing is installed: packages of a second
# architecture would otherwise have to agree with all that is there.

aarch64_root() {
  local root=$1 compiler=/usr/aarch64-linux-gnu libraries package
  command -v aarch64-linux-gnu-gcc >/dev/null && command -v qemu-aarch64-static >/dev/null || return 1
  [ -f "$root/cross.ini" ] && return
  mkdir -p "$root/lists/partial" "$root/packages"
  root=$(realpath "$root")
  libraries="$root/usr/lib/aarch64-linux-gnu:$root/lib/aarch64-linux-gnu"
  local apt=(apt-get -q -oAPT::Architecture=arm64 -oAPT::Architectures=arm64 -oDir::State::Lists="$root/lists"
    -oDir::State::status=/dev/null)
  quietly "${apt[@]}" update &&
    (cd "$root/packages" && quietly "${apt[@]}" download libcjson-dev libcjson1 libcpuinfo0 libjpeg-dev libjpeg62-turbo-dev \
      libjpeg62-turbo libpng-dev libpng16-16 libpthreadpool-dev libpthreadpool0 libxnnpack-dev libxnnpack0 zlib1g \
      zlib1g-dev) || return 1
  for package in "$root"/packages/*.deb; do
    dpkg -x "$package" "$root" || return 1
  done
  cat >"$root/cross.ini" <<END
[binaries]
c = 'aarch64-linux-gnu-gcc'
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '$compiler', '-E', 'LD_LIBRARY_PATH=$libraries']
[built-in options]
c_args = ['-I$root/usr/include', '-I$root/usr/include/aarch64-linux-gnu']
c_link_args = ['-L$root/usr/lib/aarch64-linux-gnu', '-Wl,-rpath-link,$libraries']
[properties]
pkg_config_libdir = '$root/usr/lib/aarch64-linux-gnu/pkgconfig'
sys_root = '$root'
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
END
}
