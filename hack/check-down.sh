#!/usr/bin/env bash
# Takes the cluster down and looks for what it may have left: processes, mounts, links, network
# namespaces and control groups. The embedded provider only; the others own their clusters. What belongs to a
# cluster of another clone (CORE5G_INSTANCE) is not of this one.
set -euo pipefail
cd "$(dirname "$0")/.."
instance=${CORE5G_INSTANCE:-}
[[ ! -f out/cluster/instance ]] || instance=$(<out/cluster/instance)
own=core5g${instance:+-$instance}
make down
if [[ ${CORE5G_CLUSTER:-embedded} != embedded ]]; then
	exit 0
fi

# others prints the control groups of other clusters, and with the argument "links" their links.
others() {
	local group name
	while read -r group; do
		name=${group##*/}
		[[ $name != "$own" ]] || continue
		if [[ ${1-} == links ]]; then
			name=${name#core5g}
			echo "c5g-${name:+${name#-}}"
		else
			echo "$name"
		fi
	done < <(find /sys/fs/cgroup -maxdepth 2 -type d -name 'core5g*' 2>/dev/null) | sed 's/^c5g-$/c5g-host/' | sort -u
}

processes() {
	local pid groups
	while read -r pid; do
		groups=$(tr ':/' '\n' 2>/dev/null <"/proc/$pid/cgroup") || continue
		grep -qxFf <(others) <<<"$groups" || ps -o pid=,ppid=,lstart=,stat=,cgroup=,args= -p "$pid" || true
	done < <(pgrep '^(embedded|kube$|kube-|kubelet|containerd|etcd|upf-)' 2>/dev/null)
}

# find_left fills left with what is still there, a paragraph a kind.
find_left() {
	left=
	report processes "$(processes)"
	report mounts "$(grep -E 'core5g|kubelet|containerd|k8s.io' /proc/self/mounts || true)"
	report links "$(ip -o link | grep -E 'c5g|core5g|cni|veth' | grep -vwFf <(others links) || true)"
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
