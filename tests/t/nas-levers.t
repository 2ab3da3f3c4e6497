#!/bin/bash
# SPDX-License-Identifier: MIT
# hooks/nas-levers under each shell that a NAS may have, against a fake /sys and /proc below a folder. What runs is the
# script's own text; three of its lines are other: where the tree is, where programs are, and the one write into sysfs,
# which a double of md takes that refuses what md refuses. The real md: tests/rig/t/floor.t.
set -u
if ! command -v pgrep >/dev/null; then
	echo "1..0 # SKIP needs pgrep (procps)"
	exit 0
fi
SCRIPT=hooks/nas-levers
TOP=$(mktemp -d)
PATIENCE=60

# ---- the double of md: FILE VALUE ----
cat >"$TOP/kernel" <<'KERNEL'
#!/bin/bash
PATH=/usr/bin:/bin
file=$1 value=$2 md=${1%/*} name=${1##*/}
root=${md%/sys/block/*} array=${md#*/sys/block/} array=${array%/md}
echo "$array $name $value" >>"$root/writes"
grep -qxF "$name" "$root/refuse" 2>/dev/null && exit 1
action=$(cat "$md/sync_action" 2>/dev/null)
was=$root/run/nas-levers/$array.was
progress() { # WORD SECTORS: what mdstat says
	local line=
	[ -z "$1" ] || line="      [==>..................]  $1 = 12.5% ($(($2 / 2))/4194304) finish=1.2min speed=1200K/sec"
	printf '%s\n' "Personalities : [raid1] [raid6]" \
		"md9 : active raid1 sdb1[1] sda1[0]" "      2048 blocks super 1.2 [2/2] [UU]" \
		"      [>....................]  check =  1.0% (77/2048) finish=1.2min speed=1200K/sec" "" \
		"$array : active raid6 sdd3[4] sdc3[2] sdb3[1] sda3[0]" \
		"      204800 blocks super 1.2 level 6, 512k chunk, algorithm 2 [4/4] [UUUU]" \
		"$line" "" "unused devices: <none>" >"$root/proc/mdstat"
}
case $name in
sync_speed_min)
	[ -e "$was/speed" ] || echo "$*" >>"$root/unrecorded"
	case $value in
	system) echo "1000 (system)" >"$file" ;;
	[1-9]*) echo "$value (local)" >"$file" ;;
	*) exit 1 ;;
	esac
	;;
stripe_cache_size)
	[ -e "$was/stripe" ] || echo "$*" >>"$root/unrecorded"
	[ "$value" -gt 16 ] && [ "$value" -le 32768 ] || exit 1
	if [ -e "$root/busy" ]; then rm "$root/busy"; echo 2000 >"$file"; else echo "$value" >"$file"; fi
	;;
sync_action)
	case $value in
	idle)
		case $action in check | repair) [ -e "$was/check" ] || echo "$*" >>"$root/unrecorded" ;; esac
		echo idle >"$file"
		cat "$root/mark" >"$md/sync_min" # curr_resync_completed: sixteenths
		progress ""
		;;
	check | repair)
		[ "$action" = idle ] || exit 1
		echo "$value" >"$file"
		progress "$value" "$(cat "$md/sync_min")"
		;;
	*) exit 1 ;;
	esac
	;;
sync_min)
	[ "$action" = idle ] && [ $((value % ($(cat "$md/chunk_size") / 512))) = 0 ] || exit 1
	echo "$value" >"$file"
	;;
*) exit 1 ;;
esac
KERNEL
chmod +x "$TOP/kernel"

# ---- one suite, for one shell, in one process ----
N=0
result() { # STATUS NAME [DETAIL]
	N=$((N + 1))
	if [ "$1" = 0 ]; then
		echo "ok - $SH: $2"
	else
		echo "not ok - $SH: $2"
		printf '%s\n' "${3:-}" | sed 's/^/# /'
	fi
}
is() { # NAME WANTED GOT
	[ "$2" = "$3" ]
	result $? "$1" "wanted: $2
got:    $3"
}
like() { # NAME PATTERN GOT
	printf '%s\n' "$3" | grep -Eq -- "$2"
	result $? "$1" "wanted: $2
got:    $3"
}
wait_until() { # CMD...
	local i
	for ((i = 0; i < PATIENCE * 5; i++)); do
		"$@" && return 0
		sleep 0.2
	done
	return 1
}
order() {
	# shellcheck disable=SC2086 # busybox ash is two words
	env -i SSH_ORIGINAL_COMMAND="$1" $SHELL_WORDS "$ROOT/nas-levers"
}
sysfs() { cat "$ROOT/sys/block/${2:-md2}/md/$1"; }
speed_is() { [ "$(sysfs sync_speed_min)" = "$1" ]; }
stripe_is() { [ "$(sysfs stripe_cache_size)" = "$1" ]; }
action_is() { [ "$(sysfs sync_action)" = "$1" ]; }
noted() { find "$ROOT/run/nas-levers" -mindepth 1 -name "${1:-*.was}" 2>/dev/null | sed 's/.*levers.//' | sort | tr '\n' ' '; }
nothing_noted() { [ -z "$(noted)" ]; }
keepers() { pgrep -f "$ROOT/nas-levers"; } # no order runs when this is asked
no_keeper() { [ -z "$(keepers)" ]; }
uptime_s() { cut -d. -f1 /proc/uptime; }
tree() { find "$ROOT/sys" -type f -exec cat {} + | cksum; }

array() { # NAME LEVEL DISKS
	local md=$ROOT/sys/block/$1/md
	mkdir -p "$md"
	echo "$2" >"$md/level"
	echo "$3" >"$md/raid_disks"
	echo "1000 (system)" >"$md/sync_speed_min"
	echo "200000 (system)" >"$md/sync_speed_max"
	echo idle >"$md/sync_action"
	echo 0 >"$md/sync_min"
	echo 524288 >"$md/chunk_size"
	[ "$2" = raid1 ] || echo 256 >"$md/stripe_cache_size"
}

setup() {
	ROOT=$TOP/$(echo "$SH" | tr ' ' -)
	mkdir -p "$ROOT/run" "$ROOT/proc" "$ROOT/bin"
	: >"$ROOT/writes"
	echo 0 >"$ROOT/mark"
	printf 'MemTotal:        1024000 kB\nMemFree:          12 kB\n' >"$ROOT/proc/meminfo"
	printf 'Personalities : [raid6]\nunused devices: <none>\n' >"$ROOT/proc/mdstat"
	array md2 raid6 "5 (4)"
	array md3 raid6 4
	array md1 raid1 2
	array md_d0 raid5 3
	SHELL_WORDS=$SH
	local path=/usr/sbin:/usr/bin:/sbin:/bin applet lines=2
	if [ "$SH" = "busybox ash" ]; then
		path=$ROOT/bin lines=3
		for applet in ls mv rm mkdir rmdir ln id sleep cat; do
			ln -s "$(command -v busybox)" "$ROOT/bin/$applet"
		done
		SHELL_WORDS="$(command -v busybox) ash"
	fi
	sed -e "s|^root=\$|root=$ROOT|" -e "s|^PATH=.*|PATH=$path|" \
		-e "s|^\t{ echo \"\$2\" >\"\$1\"; } 2>/dev/null\$|\t$TOP/kernel \"\$1\" \"\$2\" 2>/dev/null|" \
		"$SCRIPT" >"$ROOT/nas-levers"
	is "nothing else of the script is other" "$lines" "$(diff "$SCRIPT" "$ROOT/nas-levers" | grep -c '^>')"
}

test_refused() {
	local before line
	before=$(tree)
	while IFS= read -r line; do
		like "refused: '$line'" '^error ' "$(order "$line")"
	done <<-'ORDERS'

		sh
		look
		look md2 md3
		look md7
		look md
		look md_
		look sda
		look mdx
		look md2; rm -rf /
		look md2 && reboot
		look $(reboot)
		look `reboot`
		look md2|sh
		look ../md2
		look md2/../md3
		look md_../../x
		look md*
		look ~
		look "md2"
		look md2\
		floor md2 5000 - 60 60
		floor md2 5000 -
		floor md2 0 - 60
		floor md2 -1 - 60
		floor md2 05000 - 60
		floor md2 5e3 - 60
		floor md2 10000001 - 60
		floor md2 99999999999999999999 - 60
		floor md2 18446744073709551617 - 60
		floor md2 - - 60
		floor md2 - 16 60
		floor md2 - 32769 60
		floor md2 5000 - 9
		floor md2 5000 - 7201
		floor md2 5000 - 0x60
		floor md2 system - 60
		floor md9 5000 - 60
		free
		free md2 md3
		pause md2
		pause md2 9
		pause md2 60
		resume md2 1
		moved md2
		keeper
		Look md2
		by
		by pve1
		by pve1 look
		by - look md2
		by -x look md2
		by _x look md2
		by pve1 by pve2 look md2
		by any floor md2 5000 - 60
		by any pause md2 60
		by aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa look md2
	ORDERS
	like "refused: a line break" '^error ' "$(order $'look md2\nfloor md2 5000 - 60')"
	like "refused: a tab" '^error ' "$(order $'look\tmd2')"
	like "refused: bytes that are no ASCII" '^error ' "$(order $'look md2\xc3\xa9')"
	like "refused: a very long line" '^error ' "$(order "look md_$(printf 'a%.0s' $(seq 300))")"
	is "each with one line" 1 "$(order "$(printf 'look md2\nfoo')" | wc -l)"
	is "and status 1" 1 "$(order nonsense >/dev/null; echo $?)"
	is "nothing of it was written" "" "$(cat "$ROOT/writes")"
	is "nothing has changed" "$before" "$(tree)"
	is "nothing is written down" "" "$(noted)"
	is "what is said by arguments does not count once an order came" 1 \
		"$(env -i SSH_ORIGINAL_COMMAND= $SHELL_WORDS "$ROOT/nas-levers" floor md2 5000 - 60 | grep -c '^error')"
	is "an environment's variables move nothing" "ok moved=-" \
		"$(env -i root=/x state=/x array=md9 held=yes notes=md2 SSH_ORIGINAL_COMMAND=moved $SHELL_WORDS "$ROOT/nas-levers")"
}

test_look() {
	is "look" "ok array=md2 level=raid6 disks=5 memory_kib=1024000 speed_min=1000 speed_min_kind=system stripe_cache=256 operation=idle" \
		"$(order "look md2")"
	is "look at a level without a stripe cache" \
		"ok array=md1 level=raid1 disks=2 memory_kib=1024000 speed_min=1000 speed_min_kind=system operation=idle" "$(order "look md1")"
	like "look at an array with a name" '^ok array=md_d0 level=raid5 ' "$(order "look md_d0")"
	is "status 0" 0 "$(order "look md2" >/dev/null; echo $?)"
	like "by hand, by arguments" '^ok array=md2 ' "$(env -i $SHELL_WORDS "$ROOT/nas-levers" look md2)"
}

test_floor() {
	local said
	said=$(order "floor md2 5000 4096 3600")
	like "floor: what is there after it" '^ok array=md2 .*speed_min=5000 speed_min_kind=local stripe_cache=4096 operation=idle undo_s=3(600|59[0-9])$' "$said"
	is "in sysfs" "5000 (local) 4096" "$(sysfs sync_speed_min) $(sysfs stripe_cache_size)"
	is "in a folder for us alone" "drwx------" "$(stat -c %A "$ROOT/run/nas-levers")"
	is "what was there stands in it" "system 256" "$(cat "$ROOT/run/nas-levers/md2.was/speed") $(cat "$ROOT/run/nas-levers/md2.was/stripe")"
	is "one keeper" 1 "$(keepers | wc -l)"
	is "moved says which" "ok moved=md2" "$(order moved)"
	order "floor md2 8000 - 7200" >/dev/null
	is "another floor leaves the cache" "8000 (local) 4096" "$(sysfs sync_speed_min) $(sysfs stripe_cache_size)"
	like "and renews" 'undo_s=7(200|1[0-9][0-9])$' "$(order "look md2")"
	is "still one keeper" 1 "$(keepers | wc -l)"
	like "free" '^ok .*speed_min=1000 speed_min_kind=system stripe_cache=256 operation=idle$' "$(order "free md2")"
	is "all as it was" "1000 (system) 256" "$(sysfs sync_speed_min) $(sysfs stripe_cache_size)"
	is "nothing is written down any more" "" "$(noted)"
	like "free where nothing is moved" '^ok array=md2 ' "$(order "free md2")"
	is "nothing was written without having been written down" "" "$(cat "$ROOT/unrecorded" 2>/dev/null)"
}

test_floor_edges() {
	local said
	echo "3000 (local)" >"$ROOT/sys/block/md3/md/sync_speed_min"
	order "floor md3 9000 - 3600" >/dev/null
	is "above an earlier local value" "9000 (local)" "$(sysfs sync_speed_min md3)"
	order "free md3" >/dev/null
	is "which comes back" "3000 (local)" "$(sysfs sync_speed_min md3)"
	echo "6000 (local)" >"$ROOT/sys/block/md3/md/sync_speed_max"
	like "never above sync_speed_max" 'speed_min=6000 ' "$(order "floor md3 9000 - 3600")"
	echo "4444 (local)" >"$ROOT/sys/block/md3/md/sync_speed_min"
	order "free md3" >/dev/null
	is "what somebody else has set since is left" "4444 (local)" "$(sysfs sync_speed_min md3)"
	like "no stripe cache in a mirror" '^error md1 has no stripe cache' "$(order "floor md1 5000 4096 3600")"
	is "then the floor is put back too" "1000 (system)" "$(sysfs sync_speed_min md1)"
	like "a floor alone goes" 'speed_min=5000 ' "$(order "floor md1 5000 - 3600")"
	order "free md1" >/dev/null
	echo stripe_cache_size >"$ROOT/refuse"
	like "md refuses" '^error stripe_cache_size of md2 does not take 4096' "$(order "floor md2 5000 4096 3600")"
	rm "$ROOT/refuse"
	is "nothing is left of it" "1000 (system) 256 " "$(sysfs sync_speed_min) $(sysfs stripe_cache_size) $(noted)"
	order "floor md2 5000 - 3600" >/dev/null
	echo sync_speed_min >"$ROOT/refuse"
	like "md refuses another floor" '^error ' "$(order "floor md2 7000 - 3600")"
	rm "$ROOT/refuse"
	wait_until speed_is "1000 (system)"
	result $? "then what was there comes back, at last by the keeper" "$(sysfs sync_speed_min)"
	order "floor md2 - 4096 3600" >/dev/null
	: >"$ROOT/busy"
	like "a busy cache shrinks as it can" '^error md2 does not take back' "$(order "free md2")"
	wait_until nothing_noted
	is "and is tried again" "256 " "$(sysfs stripe_cache_size) $(noted)"
	order "floor md2 5000 - 3600" >/dev/null
	echo "an earlier boot" >"$ROOT/run/nas-levers/md2.was/instance"
	is "what an earlier boot wrote down counts no more" "ok moved=-" "$(order moved)"
	array md2 raid6 "5 (4)"
	array md3 raid6 4
}

test_folder() {
	rm -rf "$ROOT/run/nas-levers"
	mkdir "$ROOT/elsewhere"
	ln -s "$ROOT/elsewhere" "$ROOT/run/nas-levers"
	like "a link in place of the folder" '^error .*not a folder for us alone' "$(order "floor md2 5000 - 60")"
	rm "$ROOT/run/nas-levers"
	mkdir -m 755 "$ROOT/run/nas-levers"
	like "a folder that others may read" '^error .*not a folder for us alone' "$(order "floor md2 5000 - 60")"
	rmdir "$ROOT/run/nas-levers"
	is "nothing was written" "1000 (system)  " "$(sysfs sync_speed_min) $(ls "$ROOT/elsewhere") $(noted)"
	mv "$ROOT/run" "$ROOT/gone"
	mkdir -p "$ROOT/tmp"
	like "without /run another is used" 'speed_min=5000' "$(order "floor md2 5000 - 60")"
	is "a folder for us alone" "drwx------" "$(stat -c %A "$ROOT/tmp/nas-levers")"
	order "free md2" >/dev/null
	mv "$ROOT/gone" "$ROOT/run"
	rm -rf "$ROOT/tmp"
	wait_until no_keeper
	result $? "a keeper without its folder ends"
	rm -f "$ROOT/unrecorded" # the double looks below run only
}

test_at_once() {
	local i pids=()
	for i in 1 2 3 4 5 6 7 8; do
		order "floor md$((2 + i % 2)) ${i}000 4096 3600" >"$ROOT/said$i" &
		pids+=($!)
	done
	wait "${pids[@]}"
	is "eight orders at once" 8 "$(cat "$ROOT"/said? | grep -c '^ok array=md[23] .*speed_min_kind=local')"
	is "one keeper" 1 "$(keepers | wc -l)"
	is "what was there before the first stands" "system system 256 256" \
		"$(cat "$ROOT"/run/nas-levers/md[23].was/speed "$ROOT"/run/nas-levers/md[23].was/stripe | tr '\n' ' ' | sed 's/ $//')"
	echo "999999 1" >"$ROOT/run/nas-levers/lock"
	like "a lock that a dead order left" '^ok ' "$(order "free md2")"
	echo "999999 1" >"$ROOT/run/nas-levers/lock"
	echo "999998 1" >"$ROOT/run/nas-levers/lock.breaker"
	like "and one that died while it removed another's" '^ok ' "$(order "free md2")"
	order "free md3" >/dev/null
	is "both are as they were" "1000 (system) 1000 (system) 256 256" \
		"$(sysfs sync_speed_min) $(sysfs sync_speed_min md3) $(sysfs stripe_cache_size) $(sysfs stripe_cache_size md3)"
	is "and no lock is left" "" "$(noted 'lock*')$(noted 'self*')"
}

test_deadline() {
	local until keeper
	until=$(($(uptime_s) + 10))
	like "moved" 'speed_min=5000 speed_min_kind=local stripe_cache=4096 ' "$(order "floor md2 5000 4096 10")"
	order "floor md3 5000 - 3600" >/dev/null
	wait_until speed_is "1000 (system)"
	result $? "nobody renews: the NAS puts back by itself" "$(sysfs sync_speed_min)"
	[ "$(uptime_s)" -ge "$until" ]
	result $? "not before its time"
	wait_until stripe_is 256
	is "the cache as well, and only what is past its time" "256 4 5000 (local)" \
		"$(sysfs stripe_cache_size) $(sysfs raid_disks md3) $(sysfs sync_speed_min md3)"
	order "floor md2 5000 - 10" >/dev/null
	until=$(($(uptime_s) + 10))
	keeper=$(keepers)
	# shellcheck disable=SC2086
	kill -KILL $keeper
	wait_until eval '[ "$(uptime_s)" -gt '"$until"' ]'
	is "the keeper was killed: nothing happens by itself" "5000 (local)" "$(sysfs sync_speed_min)"
	like "the next order, whatever it is, puts back first" 'speed_min=1000 speed_min_kind=system .*operation=idle$' "$(order "look md2")"
	is "and starts a keeper for the rest" 1 "$(keepers | wc -l)"
	order "free md3" >/dev/null
	wait_until no_keeper
	result $? "which ends when nothing is moved"
}

# What a gate has moved is its own until it is put back; what nobody put a name to is everybody's.
test_owners() {
	local until
	like "floor by one gate" 'speed_min=5000 .*undo_s=3(600|59[0-9])$' "$(order "by pve1-0a floor md2 5000 4096 3600")"
	is "moved says so to it" "ok moved=md2" "$(order "by pve1-0a moved")"
	is "and not to another" "ok moved=-" "$(order "by pve2-0b moved")"
	is "nor to one without a name" "ok moved=-" "$(order moved)"
	is "but to who asks for anyone's" "ok moved=md2" "$(order "by any moved")"
	like "another who looks is told whose it is, and for how long; nothing of his is undone" \
		'stripe_cache=4096 operation=idle by=pve1-0a by_s=3(600|59[0-9])$' "$(order "by pve2-0b look md2")"
	like "another's floor is refused" \
		'^error other=pve1-0a undo_s=3(600|59[0-9]) md2 is moved by another: not touched$' "$(order "by pve2-0b floor md2 9000 - 60")"
	like "and another's free" '^error other=pve1-0a undo_s=3' "$(order "by pve2-0b free md2")"
	like "also without a name" '^error other=pve1-0a undo_s=3' "$(order "free md2")"
	like "a floor without a name too" '^error other=pve1-0a ' "$(order "floor md2 9000 - 60")"
	is "all stands as it was set" "5000 (local) 4096" "$(sysfs sync_speed_min) $(sysfs stripe_cache_size)"
	like "and as long" 'undo_s=3(600|5[0-9][0-9])$' "$(order "by pve1-0a look md2")"
	like "the array beside it is another's to move" 'speed_min=7000 ' "$(order "by pve2-0b floor md3 7000 - 3600")"
	is "each is told its own" "ok moved=md2 ok moved=md3" "$(order "by pve1-0a moved") $(order "by pve2-0b moved")"
	like "who has moved it renews" 'speed_min=6000 .*undo_s=7(200|1[0-9][0-9])$' "$(order "by pve1-0a floor md2 6000 - 7200")"
	like "and frees" '^ok .*speed_min_kind=system stripe_cache=256 operation=idle$' "$(order "by pve1-0a free md2")"
	is "then it is anyone's" "6000 (local)" "$(order "by pve2-0b floor md2 6000 - 10" >/dev/null; sysfs sync_speed_min)"
	until=$(($(uptime_s) + 10))
	like "while it is moved" '^error other=pve2-0b ' "$(order "by pve1-0a floor md2 8000 - 60")"
	wait_until eval '[ "$(uptime_s)" -gt '"$until"' ]'
	like "no longer than its time" 'speed_min=8000 ' "$(order "by pve1-0a floor md2 8000 - 60")"
	like "who asks for anyone's frees it" '^ok .*speed_min_kind=system ' "$(order "by any free md2")"
	order "by any free md3" >/dev/null

	like "what was moved without a name is everybody's" 'speed_min=9000 ' \
		"$(order "floor md2 5000 - 60" >/dev/null; order "by pve1-0a floor md2 9000 - 60")"
	like "and has one then" '^error other=pve1-0a ' "$(order "by pve2-0b free md2")"
	order "by pve1-0a floor md2 - 4096 3600" >/dev/null
	: >"$ROOT/busy"
	like "what could not be put back in time may be put back by all" '^ok .*stripe_cache=256 ' \
		"$(order "by pve1-0a free md2" >/dev/null; order "by pve2-0b free md2")"

	checking check 5000192 0
	like "a check that one gate has interrupted" 'paused_at=5000192 undo_s=3' "$(order "by pve1-0a pause md2 3600")"
	like "another does not let go on" '^error other=pve1-0a undo_s=3' "$(order "by pve2-0b resume md2")"
	like "nor keep for longer" '^error other=pve1-0a undo_s=3' "$(order "by pve2-0b pause md2 7200")"
	like "he may set a floor" 'speed_min=5000 .*operation=idle check_by=pve1-0a check_by_s=3[0-9]* undo_s=60$' "$(order "by pve2-0b floor md2 5000 - 60")"
	is "both have moved something of it then" "ok moved=md2 ok moved=md2" "$(order "by pve1-0a moved") $(order "by pve2-0b moved")"
	order "by pve2-0b free md2" >/dev/null
	is "it still rests" idle "$(sysfs sync_action)"
	like "until who has interrupted it lets it go on" 'operation=check$' "$(order "by pve1-0a resume md2")"
	order "by pve1-0a pause md2 3600" >/dev/null
	like "or somebody for anyone" 'operation=check$' "$(order "by any resume md2")"
	is "nothing is written down any more" "" "$(noted)"
	echo idle >"$ROOT/sys/block/md2/md/sync_action"
	wait_until no_keeper
}

checking() { # WORD SECTORS MARK
	echo "${3:-0}" >"$ROOT/mark"
	echo "$2" >"$ROOT/sys/block/md2/md/sync_min"
	"$TOP/kernel" "$ROOT/sys/block/md2/md/sync_action" "$1"
}

test_pause() {
	local word
	for word in recover resync reshape frozen idle; do
		echo $word >"$ROOT/sys/block/md2/md/sync_action"
		like "no pause for $word" "^error md2 is in '$word': only check and repair" "$(order "pause md2 60")"
	done
	is "it goes on" "idle " "$(sysfs sync_action) $(noted)"
	rm "$ROOT/sys/block/md1/md/sync_action"
	like "no pause without sync_action" '^error md1 has no sync_action' "$(order "pause md1 60")"
	echo idle >"$ROOT/sys/block/md1/md/sync_action"

	checking check 5000500 3145728
	like "pause" '^ok array=md2 .*operation=idle paused_at=5000192 undo_s=(3600|359[0-9])$' "$(order "pause md2 3600")"
	is "idle, the rest is written down" "idle check" "$(sysfs sync_action) $(cat "$ROOT/run/nas-levers/md2.was/check")"
	is "a floor's free does not touch it" "idle" "$(order "free md2" >/dev/null; sysfs sync_action)"
	like "resume" '^ok array=md2 .*operation=check$' "$(order "resume md2")"
	is "from where it was, to a whole chunk" "5000192 0" "$(sysfs sync_min) $((5000192 % 1024))"
	is "nothing is written down any more" "" "$(noted)"
	like "resume again is nothing" '^ok .*operation=check$' "$(order "resume md2")"

	echo 6291456 >"$ROOT/mark"
	sed -i 's/^ .*check = .*speed=1200.*//' "$ROOT/proc/mdstat"
	order "pause md2 10" >/dev/null
	is "the kernel's own mark where mdstat tells none" "6291456" "$(cat "$ROOT/run/nas-levers/md2.was/check.at")"
	like "a second pause renews" 'undo_s=(3600|359[0-9])$' "$(order "pause md2 3600")"
	order "resume md2" >/dev/null
	echo idle >"$ROOT/sys/block/md2/md/sync_action"

	checking repair 2048000 0
	order "pause md2 10" >/dev/null
	wait_until action_is repair
	result $? "nobody renews: it goes on by itself" "$(sysfs sync_action)"
	is "from where it was" 2048000 "$(sysfs sync_min)"

	echo 0 >"$ROOT/mark"
	order "pause md2 3600" >/dev/null
	echo recover >"$ROOT/sys/block/md2/md/sync_action"
	like "while a recovery runs it rests on" 'operation=recover paused_at=2048000 undo_s=0$' "$(order "resume md2")"
	echo idle >"$ROOT/sys/block/md2/md/sync_action"
	wait_until action_is repair
	result $? "and goes on after it, by itself" "$(sysfs sync_action)"

	order "pause md2 3600" >/dev/null
	echo check >"$ROOT/sys/block/md2/md/sync_action"
	like "somebody else starts one: ours is forgotten" 'operation=check$' "$(order "resume md2")"
	echo sync_action >"$ROOT/refuse"
	like "md refuses" '^error md does not interrupt' "$(order "pause md2 60")"
	rm "$ROOT/refuse"
	is "nothing is written down" "" "$(noted)"
	echo 0 >"$ROOT/mark"
	order "pause md2 3600" >/dev/null
	order "floor md2 5000 - 3600" >/dev/null
	order "resume md2" >/dev/null
	is "a floor and a pause end each for itself" "check 5000 (local)" "$(sysfs sync_action) $(sysfs sync_speed_min)"
	order "free md2" >/dev/null
	is "at the end nothing is moved" "ok moved=-" "$(order moved)"
	is "nothing was written without having been written down" "" "$(cat "$ROOT/unrecorded" 2>/dev/null)"
	wait_until no_keeper
	result $? "and no keeper runs"
}

suite() {
	SH=$1
	setup
	test_refused
	test_look
	test_floor
	test_floor_edges
	test_folder
	test_at_once
	test_deadline
	test_owners
	test_pause
	local pid
	for pid in $(keepers); do
		kill -KILL "$pid"
	done
}

SHELLS=()
MISSING=()
for sh in "busybox ash" dash bash; do
	if command -v "${sh%% *}" >/dev/null; then SHELLS+=("$sh"); else MISSING+=("$sh"); fi
done
PIDS=()
finish() {
	local pid
	for pid in "${PIDS[@]}"; do
		kill -TERM "$pid" 2>/dev/null
	done
	wait
	rm -rf "$TOP"
}
trap finish EXIT
trap 'exit 1' INT TERM
for sh in "${SHELLS[@]}"; do
	suite "$sh" >"$TOP/out-${sh##* }" 2>&1 &
	PIDS+=($!)
done
wait "${PIDS[@]}"
for sh in "${SHELLS[@]}"; do
	cat "$TOP/out-${sh##* }"
done >"$TOP/all"
for sh in "${MISSING[@]}"; do
	echo "ok - $sh # SKIP is not installed here" >>"$TOP/all"
done
awk '/^ok - / { print "ok " ++n substr($0, 3); next } /^not ok - / { print "not ok " ++n substr($0, 7); next }
	{ print ($0 ~ /^#/ ? "" : "# ") $0 } END { print "1.." n }' "$TOP/all"
! grep -q '^not ok' "$TOP/all"
