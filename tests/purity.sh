#!/bin/bash
# SPDX-License-Identifier: MIT
# The purity wall and the one way of imports. usage: tests/purity.sh BUILD   (BUILD holds the compiled objects)
# Prints one line for each breach; silent and 0 where there is none.
set -u
cd "$(dirname "$0")/.." || exit 2
b=${1:-build}
breaches=0
breach() {
	printf '%s\n' "$*"
	breaches=$((breaches + 1))
}

# includes FOLDER OPEN CLOSE: "file:line header" for each include written with these quotes.
includes() {
	find "$1" -name '*.[ch]' -exec grep -HnoE "^[[:space:]]*#[[:space:]]*include[[:space:]]*$2[^$3]+$3" {} + |
		sed -E "s/^([^:]*:[0-9]*):.*include[[:space:]]*.(.*).\$/\1 \2/"
}

# What pure code may read: no header that brings files, clocks, memory or logs.
system='^(string|stdio|stdbool|stddef|stdint|stdarg|inttypes|limits)\.h$'
ours='^(base/(err|moment|units)\.h|md/[a-z0-9_]+\.h|core/[a-z0-9_]+\.h)$'
for folder in src/md src/core; do
	while read -r at header; do
		[[ $header =~ $system ]] || breach "$at: pure code includes <$header>"
	done < <(includes $folder '<' '>')
	while read -r at header; do
		[[ $header =~ $ours ]] || breach "$at: pure code includes \"$header\""
	done < <(includes $folder '"' '"')
done

# What its objects may call: each other, base's sentences and units, and what only moves bytes. No
# allocation (strdup), no state (strtok), no locale's or error's words (strerror), no unbounded copy.
calls='^(mem(cpy|move|set|cmp|chr|rchr|mem)|bcmp|str(cmp|ncmp|len|nlen|chr|rchr|str|spn|cspn|pbrk)|v?snprintf)$'
fortified='^(__(mem(cpy|move|set)|v?snprintf)_chk|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_)$'
objects() {
	for source in "$@"; do printf '%s\n' "$b/${source%.c}.o"; done
}
mapfile -t pure < <(objects src/md/*.c src/core/*.c)
mapfile -t lent < <(objects src/base/err.c src/base/units.c src/base/when.c)
built=1
for object in "${pure[@]}" "${lent[@]}"; do
	[ -f "$object" ] && continue
	breach "$object is not built"
	built=0
done
if [ "$built" -eq 1 ]; then
	declare -A own
	while read -r name; do own[$name]=1; done < <(nm --defined-only -g "${pure[@]}" "${lent[@]}" | awk 'NF == 3 {print $3}')
	for object in "${pure[@]}"; do
		while read -r name; do
			[ -n "${own[$name]-}" ] && continue
			[[ $name =~ $calls || $name =~ $fortified ]] || breach "$object: pure code calls $name()"
		done < <(nm -u "$object" | awk '{print $2}')
		# Nor does it remember anything between two calls.
		while read -r name; do
			breach "$object: pure code keeps state in '$name'"
		done < <(nm -f sysv "$object" | awk -F'|' '$7 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $7 !~ /^\.data\.rel\.ro/ && $1 !~ /^\./ {print $1}')
	done
fi

# One way: a folder imports what is below it, or beside it without a circle; nobody imports programs.
declare -A rank=([base]=0 [md]=1 [core]=2 [conf]=3 [store]=3 [wire]=3 [http]=3 [nas]=4 [proxmox]=4 [client]=4 [gate]=5 [cli]=5 [hooks]=5)
edges=
for folder in src/*/ hooks/; do
	folder=${folder%/}
	name=${folder##*/}
	if [ -z "${rank[$name]-}" ]; then
		breach "$folder has no place among the folders"
		continue
	fi
	while read -r at header; do
		[[ $header == */* ]] || continue
		other=${header%%/*}
		[ "$other" = "$name" ] && continue
		[ "$name/$other" = hooks/inner ] && continue
		[ "$name/$other" = hooks/.. ] && continue
		if [ -z "${rank[$other]-}" ]; then
			breach "$at: \"$header\" is of no folder that has a place"
		elif [ "${rank[$other]}" -gt "${rank[$name]}" ] || [ "${rank[$other]}" -eq 5 ]; then
			breach "$at: $name must not import \"$header\""
		else
			edges+="$name $other"$'\n'
		fi
	done < <(includes "$folder" '"' '"')
done
circle=$(printf '%s' "$edges" | sort -u | tsort 2>&1 >/dev/null | sed 's/^tsort: //')
[ -z "$circle" ] || breach "imports go in a circle: ${circle//$'\n'/ }"

# Each third-party header in one folder only (openssl where hashes are made, and where http needs it).
third() { # third PATTERN FOLDER...
	local pattern=$1 at header
	shift
	while read -r at header; do
		[[ $header =~ $pattern ]] || continue
		for place in "$@"; do
			[[ $at == "$place"* ]] && continue 2
		done
		breach "$at: <$header> belongs to $*"
	done < <(includes src '<' '>'; includes hooks '<' '>')
}
third '^jansson' src/base/json.h
third '^libconfig' src/conf/
third '^sqlite3' src/store/
third '^openssl/' src/store/ src/http/
third '^curl/' src/http/
third '^libssh' src/nas/
third '^microhttpd' src/gate/
third '^systemd/' src/gate/

[ "$breaches" -eq 0 ]
