#!/bin/bash
# SPDX-License-Identifier: MIT
# Installs what a build or its tests need and this machine lacks, from Debian's packages, as root or through sudo.
# usage: tests/deps.sh build|check|rig [-n]     (-n: only say what is missing, exit 1 if anything is)
set -euo pipefail
build="gcc make pkg-config libc6-dev libsqlite3-dev libcurl4-openssl-dev libssh-dev libconfig-dev libjansson-dev libmicrohttpd-dev libsystemd-dev libssl-dev"
check="libcmocka-dev openssl clang llvm clang-format clang-tidy cppcheck shellcheck gcovr openssh-server openssh-client sqlite3 jq curl perl-base python3 socat util-linux procps iproute2"
rig="qemu-system-x86 cpio kmod openssh-client busybox-static curl jq sqlite3 python3 util-linux socat"
case "${1-}" in
build) want=$build ;;
check) want="$build $check libclang-rt-$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -1)-dev" ;;
rig) want="$build $rig" ;;
*) echo "usage: tests/deps.sh build|check|rig [-n]" >&2; exit 2 ;;
esac
missing() {
	local p
	for p in $want; do
		[ "$p" = libclang-rt--dev ] && continue
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
	done
}
lack=$(missing)
if [ -z "$lack" ]; then exit 0; fi
echo "missing packages:" $lack
if [ "${2-}" = -n ]; then exit 1; fi
run=
if [ "$(id -u)" -ne 0 ]; then
	run=$(command -v sudo) || { echo "install them as root: apt-get install" $lack >&2; exit 1; }
fi
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -q >/dev/null
# The list for clang's runtime is known only once apt's lists are there.
[ "$1" = check ] && want="$build $check libclang-rt-$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p' | head -1)-dev" && lack=$(missing)
# shellcheck disable=SC2086 # a list of words
$run env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $lack >/dev/null
echo "installed:" $lack
