#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds and runs the unit tests on Debian 13, with gcc and clang, in a debootstrapped folder (build/trixie; made once, kept).
# Needs root (or sudo) and Debian's packages.
set -euo pipefail
cd "$(dirname "$0")/.."
run=; [ "$(id -u)" -eq 0 ] || run=sudo
command -v debootstrap >/dev/null || { $run apt-get update -q >/dev/null; $run apt-get install -y -q debootstrap >/dev/null; }
root=$PWD/build/trixie
# The mirror that this machine uses itself.
mirror=$({ cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
	awk '$1 == "URIs:" && !/security/ {print $2; exit} $1 == "deb" && !/security/ {sub(/\[[^]]*\] */, ""); print $2; exit}')
mkdir -p build
if [ ! -e "$root/.ready" ]; then
	$run rm -rf "$root"
	packages=$(sed -nE 's/^(build)="(.*)"$/\2/p' tests/deps.sh | tr ' ' ',')
	$run debootstrap --variant=minbase --include="$packages,libcmocka-dev,clang,ca-certificates" trixie "$root" "$mirror" >build/trixie.log 2>&1 ||
		{ echo "debootstrap failed, see build/trixie.log" >&2; exit 1; }
	$run touch "$root/.ready"
fi
$run rm -rf "$root/src"
$run mkdir -p "$root/src"
git ls-files -z | $run tar --null -T - -cf - | $run tar -C "$root/src" -xf -
# A mount namespace of its own: /proc, which some tests read, is there and leaves with it.
# shellcheck disable=SC2016 # expanded inside
$run unshare --mount bash -c 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" bash -c "$1"' "$root" '
	set -e; cd /src
	make -s -j2 all units B=b-gcc WERROR=-Werror
	make -s -j2 all units B=b-clang CC=clang WERROR=-Werror
	BUILD=b-gcc bash tests/run.sh b-gcc/unit/test_*'
