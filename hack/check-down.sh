#!/usr/bin/env bash
# Takes the cluster down and looks for what it may have left: processes, mounts, links, network
# namespaces and control groups. The embedded provider only; the others own their clusters. What belongs to a
# cluster of another name (CORE5G_INSTANCE) is not of this one.
set -euo pipefail
cd "$(dirname "$0")/.."
instance=${CORE5G_INSTANCE:-}
own=core5g${instance:+-$instance}
make down
if [[ ${CORE5G_CLUSTER:-embedded} != embedded ]]; then
	exit 0
fi

# other_links prints the links of other clusters, which their control groups name.
other_links() {
	local group name
	while read -r group; do
		name=${group##*/core5g}
		[[ core5g$name == "$own" ]] || echo "c5g-${name:+${name#-}}"
	done < <(find /sys/fs/cgroup -maxdepth 2 -type d -name 'core5g*' 2>/dev/null) | sed 's/^c5g-$/c5g-host/' | sort -u
}

# others says whether a process is one of a cluster of another name.
others() { grep -oE '/core5g(-[a-z0-9]+)?/' "/proc/$1/cgroup" 2>/dev/null | grep -qvxF "/$own/"; }

# processes prints those of this clone's programs that still run; one that has ended and waits for its parent to
# take note has no program any more. What else ran in the cluster's control groups keeps these from going.
processes() {
	local exe pid
	while read -r exe; do
		pid=${exe#/proc/}
		pid=${pid%%/*}
		! others "$pid" || continue
		ps -o pid=,ppid=,lstart=,args= -p "$pid" || true
	done < <(find /proc -maxdepth 2 -name exe -lname "$PWD/out/*" 2>/dev/null)
}

# find_left fills left with what is still there, a paragraph a kind.
find_left() {
	left=
	report processes "$(processes)"
	report mounts "$(grep -E 'core5g|kubelet|containerd|k8s.io' /proc/self/mounts || true)"
	report links "$(ip -o link | grep -E 'c5g|core5g|cni|veth' | grep -vwFf <(other_links) || true)"
	report 'network namespaces' "$(ip netns list | grep -E 'core5g|cni' || true)"
	report 'control groups' "$(find /sys/fs/cgroup -maxdepth 2 -type d \( -name 'kubepods*' -o -name "$own" \) 2>/dev/null || true)"
}

report() {
	[[ -z $2 ]] || left+="make down left $1:"$'\n'"$2"$'\n'
}

# The kernel takes network namespaces apart after the last process in them has gone.
deadline=$((SECONDS + 10))
find_left
while [[ -n $left ]] && ((SECONDS < deadline)); do
	sleep 0.2
	find_left
done
[[ -z $left ]] || {
	printf '%s' "$left" >&2
	exit 1
}
