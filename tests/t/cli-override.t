#!/bin/bash
# SPDX-License-Identifier: MIT
# override and nas: every scope, every end, every mistake; and the NAS verbs that ask the gate or need none.

# shellcheck source=tests/t/cli-lib.sh
. tests/t/cli-lib.sh

[ "$(id -u)" = 0 ] || skip_all 'needs root, to overrule and to let go'

fresh
nas_rebuild
mkdir -p "$SCRATCH/conf.d"
cat >"$SCRATCH/conf.d/ssh.conf" <<TEXT
nas = ( { name = "far"; via = "ssh"; host = "127.0.0.1"; port = 9; user = "watch"; key_file = "$SCRATCH/id"; known_hosts = "$SCRATCH/known"; } );
TEXT
gate_start
wait_for 20 operation_is recovery

# --- add: every scope -----------------------------------------------------------------------------
ask '"guests": [101], "guest": 101'
T=$(get 'a["ticket"]')
# scope TEXT JQ ARGS...: said, and in JSON.
scope() {
	local text=$1 filter=$2
	shift 2
	rg override add allow --for 2h --reason why "$@"
	exits 0 && says "^override [0-9]+: allow for $text, until [-0-9]+ [0-9]+:[0-9]+$" || return 1
	rg override list --output-format json
	j "[.overrides[] | select($filter)] | length >= 1" true
}
ok '--node' scope 'node pve9' '.node == "pve9"' --node pve9
ok '--nas' scope 'nas far' '.nas == "far"' --nas far
ok '--storage' scope 'storage other' '.storage == "other"' --storage other
ok '--guest' scope 'guest 900' '.guest == 900' --guest 900
ok 'several' scope 'guest 901, storage other, node pve9' '.guest == 901 and .storage == "other" and .node == "pve9"' --guest 901 --storage other --node pve9
rg tickets
ok 'none of them is about the held job' says "^T$T +held"
ok '--ticket' scope "ticket T$T" ".ticket == $T" --ticket "T$T"
gone() { rg tickets && says "^T$T +released" >/dev/null; }
ok 'which is let go by it' wait_for 20 gone
ok 'no scope is everything' scope everything '(.guest // .storage // .nas // .node // .ticket) == null'
rg check backup
ok 'which counts' eval 'exits 0 && says "^allow, step 2" && says "override [0-9]+ by root says allow: why"'
rg override list
ok 'list: what, for what, until when, by whom' says '^[0-9]+ +allow +guest 901, storage other, node pve9 +[-0-9]+ [0-9:]+ +root$'
ok 'and why' says '^    why$'

# --- verdicts and ends ----------------------------------------------------------------------------
for verdict in deny hold throttle allow; do
	rg override add $verdict --storage backup --for 30min --reason "try $verdict" --output-format json
	ok "$verdict" eval "exits 0 && j .verdict $verdict && j '.until_utc_ms - .created_utc_ms | . > 1790000 and . < 1800001' true"
	rg check backup --output-format json
	ok "$verdict counts" j .verdict $verdict
done
rg override add hold --guest 902 --until "$(date -d '+1 day' '+%Y-%m-%d 07:00')" --reason 'until the morning'
ok '--until' eval 'exits 0 && says "until $(date -d "+1 day" "+%Y-%m-%d") 07:00$"'

rg override add hold --guest 903 --until "$(date -d '-2 hours' +%H:%M)" --reason 'the time of day' --output-format json
ok '--until with a time of day: the next one' eval 'exits 0 && j "(.until_utc_ms - .created_utc_ms) / 3600000 | . > 21.9 and . < 22.1" true'

# --- mistakes -------------------------------------------------------------------------------------
ok 'no verdict' mistake 'name one verdict: rebuildgate override add allow' override add --for 2h --reason x
ok 'two' mistake 'name one verdict' override add allow deny --for 2h --reason x
ok 'a typo' mistake "'alow' is no verdict: say allow, throttle, hold or deny" override add alow --for 2h --reason x
ok 'no reason' mistake 'say why, for the record: --reason' override add allow --for 2h
ok 'an empty one' mistake 'say why, for the record: --reason' override add allow --for 2h --reason ''
ok 'a blank one' mistake 'reason' override add allow --for 2h --reason '  '
ok 'no end' mistake 'say until when it counts: --for 2h, or --until' override add allow --reason x
ok 'two ends' mistake 'say --for or --until, not both' override add allow --reason x --for 2h --until 23:00
ok 'no span' mistake "--for: " override add allow --reason x --for 2
ok 'no time' mistake '--until: ' override add allow --reason x --until soon
ok 'an end in the past' mistake 'an override must end in the future' override add allow --reason x --until '2020-01-01 07:00'
ok 'no time at all' mistake 'an override must end in the future' override add allow --reason x --for 0
ok 'no ticket' mistake '--ticket: ' override add allow --reason x --for 2h --ticket Tx
ok 'no guest' mistake '--guest: ' override add allow --reason x --for 2h --guest vm101
ok 'no such NAS: what is known' mistake "There is no NAS 'nas9': known are nas1, far" override add allow --reason x --for 2h --nas nas9
ok 'a storage of another NAS' mistake "Storage 'backup' is on nas1, not on far: this would never count" override add allow --reason x --for 2h --nas far --storage backup
ok 'a storage of none' mistake "Storage 'bakcup' is on no NAS in the settings, so not on far: this would never count" override add allow --reason x --for 2h --nas far --storage bakcup
rg override add hold --storage bakcup --guest 904 --for 2h --reason 'a typo, or one that is mapped to nothing'
ok 'a storage that is in no settings counts, with a warning' eval 'exits 0 && says "^override [0-9]+: hold for guest 904, storage bakcup"'
ok 'which says what is known' says "^warning: the settings know no storage 'bakcup' \(known are backup\): this counts only for jobs that name it so$"
rg override add hold --storage backup --guest 904 --for 2h --reason 'a known one' --output-format json
ok 'none for a known one' j .warning null
ok 'no such option' mistake "there is no option '--vm'" override add allow --reason x --for 2h --vm 101
ok 'nothing to do' mistake 'say one of add, list, cancel' override
ok 'something else' mistake "there is no 'override remove': say one of add, list, cancel" override remove 3

# --- cancel ---------------------------------------------------------------------------------------
rg override list --output-format json
ID=$(jq -r '[.overrides[] | select(.storage == "backup")][0].id' "$OUT")
rg override cancel "$ID"
ok 'cancel' eval 'exits 0 && says "^override $ID is cancelled$"'
rg override list --output-format json
ok 'it is in force no more' j "[.overrides[] | select(.id == $ID)] | length" 0
rg override list --all
ok 'but in the list of all' says "^$ID +"
ok 'with when and by whom' says '^    cancelled at [-0-9]+ [0-9:]+ by root$'
rg override cancel "$ID"
ok 'only once' eval 'exits 1 && wrong "$ID"'
ok 'no number' mistake 'name one override by its number, as rebuildgate override list shows it' override cancel
ok 'a word' mistake 'name one override by its number' override cancel all
rg override list --output-format json
for id in $(jq -r '.overrides[].id' "$OUT"); do rg override cancel "$id"; done
rg override list
ok 'none left' says '^no override is in force$'

# --- nas ------------------------------------------------------------------------------------------
rg nas list
ok 'nas list: one that is seen' says '^nas1 +ok +(just now|[0-9]+(ms|s) ago) +(now|[0-9]+(ms|s)) +1$'
ok 'one that is not' says '^far +(never|unreachable|refused|auth|key)[a-z-]* '
rg nas list --output-format json
ok 'as JSON' j '.nas | map(.name) | tojson' '["nas1","far"]'
rg nas look nas1
ok 'nas look' eval 'exits 0 && says "^nas1: ok, read (just now|[0-9]+s ago)$" && says "^  md2 +data +raid6 +degraded +recovery +39.9 % "'
rg nas look far
ok 'one that cannot be seen: 1' exits 1
ok 'and why' says '^far: '
rg nas look nas9
ok 'no such NAS' eval 'exits 1 && wrong "There is no NAS .nas9."'
ok 'what no NAS is called' mistake "'nas1/look' is no NAS's name: see rebuildgate nas list" nas look nas1/look
ok 'which NAS' mistake 'name one NAS: rebuildgate nas look NAME' nas look
nas_write <<'TEXT'
Personalities : [raid6] 
unused devices: <none>
TEXT
absent() { rg status && says '^  md2 .*absent' >/dev/null; }
ok 'an array is gone' wait_for 20 absent
rg nas forget nas1 md2
ok 'nas forget' eval 'exits 0 && says "^md2 on nas1 is forgotten$"'
forgotten() { rg status && says_not '^  md2 ' && says 'it has no md array' >/dev/null; }
ok 'it is absent no more' wait_for 20 forgotten
rg nas forget nas1 md7
ok 'no such array' eval 'exits 1 && wrong md7 || exits 2 && wrong md7'
ok 'which array' mistake 'name a NAS and one of its arrays: rebuildgate nas forget NAME ARRAY' nas forget nas1
ok 'no such verb' mistake "there is no 'nas add': say one of list, look, trust, authorized-key, levers-key, forget" nas add x
gate_kill TERM

# --- nas, without a gate --------------------------------------------------------------------------
rg nas authorized-key far --config "$CONF"
ok 'no public key yet: how to make one' eval 'exits 1 && wrong "ssh-keygen -y -f"'
echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample rebuildgate' >"$SCRATCH/id.pub"
rg nas authorized-key far --config "$CONF"
ok 'the line for authorized_keys' says '^command=".*",restrict ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample rebuildgate$'
ok 'is one line' eval '[ "$(wc -l <"$OUT")" = 1 ]'
rg nas authorized-key far --mdstat-only --config "$CONF"
ok '--mdstat-only' says '^command="cat /proc/mdstat",restrict ssh-ed25519 '
mkdir "$SCRATCH/credential"
echo 'nas = ( { name = "far"; host = "127.0.0.1"; key_file = "credential:key"; } );' >"$SCRATCH/credential/a.conf"
rg nas authorized-key far --config "$SCRATCH/credential/a.conf"
ok 'a key in a credential has no public half here' eval 'exits 2 && wrong "is a systemd credential"'
rg nas levers-key far --config "$CONF"
ok 'no levers: what is missing' eval 'exits 2 && wrong "has no levers in .*: write levers"'
mkdir "$SCRATCH/levers"
echo "nas = ( { name = \"far\"; host = \"127.0.0.1\"; key_file = \"$SCRATCH/id\"; levers = { key_file = \"$SCRATCH/levers/id\"; }; } );" \
	>"$SCRATCH/levers/a.conf"
echo 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample levers' >"$SCRATCH/levers/id.pub"
rg nas levers-key far --config "$SCRATCH/levers/a.conf"
ok 'the line of the second key' says '^command="/usr/local/sbin/nas-levers",restrict ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExample levers$'
rg nas levers-key far --path /share/bin/nas-levers --config "$SCRATCH/levers/a.conf"
ok 'where the script lies elsewhere' says '^command="/share/bin/nas-levers",restrict '
ok 'not just anywhere' mistake 'is not where a script can lie' nas levers-key far --path 'nas-levers; sh' --config "$SCRATCH/levers/a.conf"
ok 'a local NAS has no host key' mistake "NAS 'nas1' is local: it has no host key" nas trust nas1 --config "$CONF"
ok 'no such NAS' mistake "there is no NAS 'nas9' in $CONF" nas trust nas9 --config "$CONF"
rg nas trust far --config "$CONF"
ok 'nobody there: failed' eval 'exits 1 && wrong ""'
ok 'nothing recorded' test ! -s "$SCRATCH/known"
done_testing
