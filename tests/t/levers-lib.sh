# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# What tests of the throttle share, after gate-lib.sh: jobs with a process of their own, and their keepers.

# job NAME [MEMBERS]: a vzdump with a process of its own asks; its ticket in T_NAME, its worker in W_NAME.
job() {
	local who
	sleep 1000 &
	STARTED+=("$!")
	who=$(worker "$!")
	declare -g "P_$1=$!" "W_$1=$who"
	ask "$who${2:+, $2}"
	declare -g "T_$1=$(get 'a["ticket"]')"
}

# guest NAME VMID [TYPE]: the hook tells that a guest's backup begins.
guest() {
	local ticket=T_$1 who=W_$1
	api POST /v1/report "{\"ticket\": ${!ticket}, ${!who}, \"phase\": \"backup-start\", \"guest\": $2, \"guest_type\": \"${3:-qemu}\", \"storage\": \"backup\", \"node\": \"pve1\"}"
}

end() {
	local ticket=T_$1 who=W_$1
	api POST /v1/report "{\"ticket\": ${!ticket}, ${!who}, \"phase\": \"job-end\"}"
}

# keep NAME VMID [MEMBERS]: its keeper asks and does what it is told; what is in force in K_NAME, its rate in R_NAME.
keep() {
	local ticket=T_$1 who=W_$1 path=K_$1 rate=R_$1
	api POST /v1/keep "$(python3 -c '
import json, sys
body = json.loads("{%s}" % sys.argv[1])
body.update({"ticket": int(sys.argv[2]), "node": "pve1", "storage": "backup", "guest": int(sys.argv[3]), "fleecing": False,
    "path": sys.argv[4], "rate": int(sys.argv[5]), "n_jobs": 1, "moved": 20000000, "ending": False, "trouble": ""})
body.update(json.loads("{%s}" % sys.argv[6]))
print(json.dumps(body))' "${!who}" "${!ticket}" "$2" "${!path:-free}" "${!rate:-0}" "${3:-}")"
	declare -g "K_$1=$(get 'a["path"]')" "R_$1=$(get 'a["rate"]')"
}

keeps() { # NAME VMID PATH...: the keeper is told one of these
	local name=$1 vmid=$2 path=K_$1
	shift 2
	keep "$name" "$vmid"
	[[ " $* " == *" ${!path} "* ]]
}
