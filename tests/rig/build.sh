#!/bin/bash
# SPDX-License-Identifier: MIT
# Builds the machine of the rig: a NAS with a real md driver, out of this Debian's own packages.
#
# usage: build.sh [OUTDIR]        (default: build/rig below the root of the repository)
#
# Leaves in OUTDIR:
#   vmlinuz, initrd.gz      Debian's cloud kernel; busybox, mdadm, dropbear, the load tool and the sink in one initramfs
#   hdd                     the server of disks that seek, for this machine
#   id_ed25519{,.pub}       the key that all users of the NAS accept
#   host1.pub, host2.pub    the two host keys that the NAS can show (`rig.hostkey=2` on the kernel's command line
#                           selects the second), known before it boots so that known_hosts can be written first
# Keys stay the same over rebuilds. Nothing is done when nothing that goes into the image has changed.
# Packages that the rig needs on this machine are installed through apt-get, as root or through sudo; with
# RIG_NO_INSTALL set to anything, a missing one is an error instead. RIG_REBUILD set to anything builds again.
set -euo pipefail
export LC_ALL=C PATH="$PATH:/usr/sbin:/sbin"

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${1:-$here/../../build/rig}

# Loaded at boot by guest-init, in this order; what they depend on comes along.
modules="virtio_pci virtio_blk virtio_net md-mod raid0 raid1 raid10 raid456 linear"

die() {
	printf 'rig: %s\n' "$1" >&2
	exit 1
}

# sudo may ask for a password only where somebody can answer.
sudo=(sudo)
[ -t 0 ] || sudo+=(-n)

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		"${sudo[@]}" "$@"
	else
		echo "E: neither root nor sudo" >&2
		return 1
	fi
}

# The Debian package of each command that building or starting needs and that is not here.
missing_packages() {
	local pair
	for pair in qemu-system-x86_64:qemu-system-x86 cpio:cpio depmod:kmod ssh:openssh-client gcc:gcc readelf:binutils \
		xz:xz-utils; do
		command -v "${pair%%:*}" >/dev/null || echo "${pair##*:}"
	done
	[ -e /usr/include/stdlib.h ] || echo libc6-dev
}

# What apt-get said last, its own error lines first.
apt_error() { # LOG
	grep -m 1 '^E:' "$1" || tail -n 1 "$1"
}

lists_update() {
	[ -z "${RIG_NO_INSTALL:-}" ] || return 1
	as_root apt-get update -qq >"$work/update.log" 2>&1
}

# Runs an apt-get command; once more with new package lists if it fails: there may be none yet, or they are old.
with_lists() { # LOG CMD...
	local log=$1
	shift
	"$@" >"$log" 2>&1 </dev/null && return 0
	lists_update && "$@" >"$log" 2>&1 </dev/null
}

install_missing() {
	local missing
	mapfile -t missing < <(missing_packages)
	[ ${#missing[@]} -gt 0 ] || return 0
	[ -z "${RIG_NO_INSTALL:-}" ] ||
		die "packages are missing and RIG_NO_INSTALL is set: apt-get install ${missing[*]}"
	with_lists "$work/install.log" as_root env DEBIAN_FRONTEND=noninteractive \
		apt-get install -y -qq --no-install-recommends "${missing[@]}" ||
		die "could not install ${missing[*]} (as root, or with sudo): $(apt_error "$work/install.log")"
}

# What an image is made from: the same sum, the same image. A newer kernel package alone does not make it stale.
inputs_sum() {
	{
		cat "$here/build.sh" "$here/guest-init" "$here/load.c" "$here/sink.c" "$here/hdd.c"
		cat /etc/debian_version
		cat "$out/id_ed25519.pub" "$out/host1.pub" "$out/host2.pub"
	} 2>/dev/null | sha256sum | cut -d ' ' -f 1
}

up_to_date() {
	local file
	[ -z "${RIG_REBUILD:-}" ] || return 1
	for file in vmlinuz initrd.gz hdd id_ed25519 host1.pub host2.pub stamp; do
		[ -s "$out/$file" ] || return 1
	done
	[ "$(cat "$out/stamp")" = "$(inputs_sum)" ]
}

# Packages are only unpacked below $work, never installed. tar through a link keeps merged /usr whole.
unpack() { # DIR DEB...
	local dir=$1 deb link
	shift
	mkdir -p "$dir"/usr/{bin,sbin,lib,lib64}
	for link in bin sbin lib lib64; do
		ln -sfn "usr/$link" "$dir/$link"
	done
	for deb in "$@"; do
		dpkg-deb --fsys-tarfile "$deb" | tar -x --keep-directory-symlink --no-same-owner -C "$dir" ||
			die "could not unpack $(basename "$deb")"
	done
}

# The library packages that PACKAGE... depend on, and theirs.
packages_of_libraries() {
	local direct
	mapfile -t direct < <(apt-cache depends "$@" | sed -n 's/^ *Depends: \(lib[^ ]*\|zlib1g\)$/\1/p' | sort -u)
	apt-cache depends --recurse --no-pre-depends --no-recommends --no-suggests --no-conflicts --no-breaks \
		--no-replaces --no-enhances "${direct[@]}" | grep -E '^(lib[^ ]*|zlib1g)$' | sort -u
}

# The newest kernel, and all that goes into the image, as files in $work/debs.
fetch() {
	local kernel libs
	kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/^ *Depends: \(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
	[ -n "$kernel" ] || { echo "E: no kernel behind linux-image-cloud-amd64" >&2 && return 1; }
	mapfile -t libs < <(packages_of_libraries dropbear-bin mdadm)
	rm -rf "$work/debs"
	mkdir "$work/debs"
	cd "$work/debs" && apt-get download -q "$kernel" busybox-static mdadm dropbear-bin "${libs[@]}"
}

download() {
	(with_lists "$work/download.log" fetch) ||
		die "could not download the rig's packages from Debian's main section for amd64: $(apt_error "$work/download.log")"
	unpack "$work/kernel" "$work"/debs/linux-image-*.deb
	rm "$work"/debs/linux-image-*.deb
	unpack "$work/packages" "$work"/debs/*.deb
}

# A module with everything below it, unpacked: busybox cannot read compressed ones everywhere.
install_modules() { # RELEASE
	local release=$1 from="$work/kernel" file to
	depmod -b "$from" "$release" || die "depmod failed for kernel $release"
	for module in $modules; do
		modprobe -S "$release" -d "$from" --show-depends "$module" 2>/dev/null || true
	done | awk '$1 == "insmod" { print $2 }' | sort -u >"$work/modules.list"
	while read -r file; do
		to="$root/lib/modules/$release/${file#*"/modules/$release/"}"
		mkdir -p "$(dirname "$to")"
		case $file in
		*.xz) xz -dc "$file" >"${to%.xz}" ;;
		*.gz) gzip -dc "$file" >"${to%.gz}" ;;
		*) cp "$file" "$to" ;;
		esac
	done <"$work/modules.list"
	for module in virtio_blk virtio_net raid456; do
		grep -q "/$module\.ko" "$work/modules.list" || die "kernel $release has no module $module"
	done
	cp "$from/lib/modules/$release"/modules.{order,builtin}* "$root/lib/modules/$release/"
	depmod -b "$root" "$release"
}

# The libraries that a program names, and theirs, from the unpacked packages.
install_libraries() { # PROGRAM
	local name found
	for name in $(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p') ld-linux-x86-64.so.2; do
		[ ! -e "$root/usr/lib/x86_64-linux-gnu/$name" ] || continue
		found=$(find "$work/packages/usr/lib" "$work/packages/usr/lib64" -name "$name" | head -n 1)
		[ -n "$found" ] || die "no library $name in the packages that $(basename "$1") depends on"
		cp -L "$found" "$root/usr/lib/x86_64-linux-gnu/$name"
		install_libraries "$found"
	done
	cp -L "$root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$root/usr/lib64/"
}

make_keys() {
	local dropbearkey n
	[ -s "$out/id_ed25519.pub" ] || rm -f "$out/id_ed25519"
	[ -s "$out/id_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -C rig -f "$out/id_ed25519" </dev/null
	chmod 600 "$out/id_ed25519"
	dropbearkey=$(find "$work/packages/usr/bin" -name dropbearkey | head -n 1)
	for n in 1 2; do
		[ -s "$out/host$n.key" ] && [ -s "$out/host$n.pub" ] && continue
		rm -f "$out/host$n.key"
		# Through the packages' own loader and libraries: this machine has no dropbear.
		"$root/usr/lib64/ld-linux-x86-64.so.2" --library-path "$root/usr/lib/x86_64-linux-gnu" \
			"$dropbearkey" -t ed25519 -f "$out/host$n.key" 2>/dev/null | grep '^ssh-ed25519 ' |
			cut -d ' ' -f 1,2 >"$out/host$n.pub"
		[ -s "$out/host$n.pub" ] || die "dropbearkey made no host key"
	done
}

# root runs the rig, `watch` is what a gate logs in as, `mdstat` gets the one forced command and nothing else.
make_users() {
	printf '%s\n' root:x:0:0:root:/root:/bin/sh watch:x:1000:1000::/home/watch:/bin/sh \
		mdstat:x:1001:1001::/home/mdstat:/bin/sh >"$root/etc/passwd"
	printf '%s\n' root:x:0: watch:x:1000: mdstat:x:1001: >"$root/etc/group"
	printf '%s:*:19000:0:99999:7:::\n' root watch mdstat >"$root/etc/shadow"
	echo /bin/sh >"$root/etc/shells"
	mkdir -p "$root"/{root,home/watch,home/mdstat}/.ssh
	cp "$out/id_ed25519.pub" "$root/root/.ssh/authorized_keys"
	cp "$out/id_ed25519.pub" "$root/home/watch/.ssh/authorized_keys"
	sed 's/^/command="cat \/proc\/mdstat",no-pty,no-port-forwarding,no-agent-forwarding,no-X11-forwarding /' \
		"$out/id_ed25519.pub" >"$root/home/mdstat/.ssh/authorized_keys"
	chmod -R go= "$root"/{root,home/watch,home/mdstat}
	cp "$out"/host[12].key "$root/etc/dropbear/"
	chmod 600 "$root"/etc/dropbear/*
}

compile() { # NAME PROGRAM [OPTION...]
	gcc -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra "${@:3}" -o "$2" "$here/$1.c" || die "could not compile tests/rig/$1.c"
}

build() {
	local release
	download
	mkdir -p "$root"/{usr/lib/x86_64-linux-gnu,etc/dropbear,proc,sys,dev,tmp,run}
	unpack "$root" "$work"/debs/busybox-static_*.deb
	cp "$work"/packages/usr/sbin/{mdadm,dropbear} "$root/usr/sbin/"
	rm -rf "${root:?}/usr/share"
	ln -sf busybox "$root/usr/bin/sh"
	install_libraries "$root/usr/sbin/mdadm"
	install_libraries "$root/usr/sbin/dropbear"
	install_libraries "$(find "$work/packages/usr/bin" -name dropbearkey | head -n 1)"
	release=$(cd "$work/kernel/lib/modules" && echo *)
	install_modules "$release"
	make_keys
	make_users
	compile load "$root/usr/bin/load" -static
	compile sink "$root/usr/bin/sink" -static
	compile hdd "$work/hdd"
	install -m 755 "$here/guest-init" "$root/init"
	tr " " "\n" <<<"$modules" >"$root/etc/modules"
	(cd "$root" && find . -print0 | cpio --null -o -H newc --quiet -R 0:0 | gzip -1) >"$work/initrd.gz"
	mv "$work/initrd.gz" "$out/initrd.gz"
	cp "$work/kernel/boot/vmlinuz-$release" "$work/vmlinuz"
	mv "$work/vmlinuz" "$out/vmlinuz"
	mv "$work/hdd" "$out/hdd"
	inputs_sum >"$out/stamp"
	echo "rig: built kernel $release and an initramfs of $(($(stat -c %s "$out/initrd.gz") / 1024)) KiB in $out"
}

[ "$(uname -m)" = x86_64 ] || die "the rig's machine is x86_64, this one is $(uname -m)"
command -v apt-get >/dev/null || die "the rig is made from Debian's packages, and there is no apt-get here"
mkdir -p "$out" 2>/dev/null || die "cannot make the folder $out"
out=$(cd "$out" && pwd)
exec 9>"$out/lock"
flock 9
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
chmod 755 "$work"
root=$work/root
install_missing
up_to_date || build
