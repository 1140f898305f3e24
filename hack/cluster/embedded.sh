# shellcheck shell=bash
# The embedded provider: hack/tools/cmd/embedded on this machine. Sourced by hack/cluster.sh, which sets $repo.

: "${repo:?}"

embedded=$repo/out/bin/embedded
hugepages=${CORE5G_HUGEPAGES:-512}
host_ip=${CORE5G_HOST_IP:-10.213.0.1}
instance=${CORE5G_INSTANCE:-}
# A clone has the usual cluster and named ones side by side. A name becomes part of a path, so it is looked at before anything else.
[[ $instance =~ ^[a-z0-9]{0,11}$ ]] || say_and_fail "CORE5G_INSTANCE is \"$instance\"; it must be up to 11 lower-case letters and digits."
state=$repo/out/cluster${instance:+-$instance}
nodes=${CORE5G_NODES:-0}
link=c5g-${instance:-host}
infra_images=(pause cluster-dns)

embedded() {
	local verb=$1
	shift
	"$embedded" "$verb" -state "$state" -host-ip "$host_ip" -hugepages "$hugepages" -instance "$instance" -nodes "$nodes" "$@"
}

cluster_preflight() {
	local os
	os=$(uname -s)
	[[ $os == Linux ]] || say_and_fail "the embedded cluster needs Linux, and this is $os; use a Linux machine, or CORE5G_CLUSTER=kind."
	((EUID == 0)) || say_and_fail "the embedded cluster makes namespaces and control groups, for which it must be root; run the same command with sudo."
	[[ $hugepages =~ ^[0-9]+$ ]] || say_and_fail "CORE5G_HUGEPAGES is \"$hugepages\"; it must be a number of 2 MiB pages."
	[[ $nodes =~ ^[0-5]$ ]] || say_and_fail "CORE5G_NODES is \"$nodes\"; it must be a number of nodes, 1 to 5."
	require_go

	local missing
	if ! missing=$("$repo/hack/install-tools.sh" --check cluster) && ! command -v apt-get >/dev/null; then
		say_and_fail "this machine lacks ${missing//$'\n'/, } and has no apt-get; install them with its own package manager."
	fi
	grep -qw overlay /proc/filesystems || modprobe overlay 2>/dev/null ||
		say_and_fail "the kernel has no overlay file system, which containers need; load the module overlay or use another kernel."
	[[ -c /dev/net/tun ]] || modprobe tun 2>/dev/null ||
		say_and_fail "there is no /dev/net/tun, which the simulated phone needs; load the module tun or use another kernel."
	[[ -e /sys/fs/cgroup/cgroup.controllers || -d /sys/fs/cgroup/memory ]] ||
		say_and_fail "no control groups are mounted below /sys/fs/cgroup; mount them (a container needs --privileged --cgroupns=host)."

	# A cluster that runs has its hugepages and its addresses.
	[[ -x $embedded && -e $state/pid ]] && return 0

	preflight_disk
	preflight_hugepages
	preflight_addresses
}

# The first build fills Go's caches with 6 GB; the cluster itself keeps images, logs and etcd.
preflight_disk() {
	local need_gib=2 free_gib
	[[ -x $repo/out/bin/kube ]] || need_gib=10
	free_gib=$(($(df -k --output=avail "$repo" | tail -n 1) / 1024 / 1024))
	((free_gib >= need_gib)) || say_and_fail "$need_gib GiB of disk must be free below $repo, and $free_gib GiB are; free some."
}

preflight_hugepages() {
	local file=/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages have free_kib need_kib
	[[ -w $file ]] || say_and_fail "the kernel offers no hugepages of 2 MiB, which the UPF needs; use a kernel with CONFIG_HUGETLBFS on a machine that is not a restricted container."
	# A further cluster takes its pages beside those that are there.
	have=0
	[[ -n $instance ]] || have=$(<"$file")
	free_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
	# 2 GiB for Kubernetes and the core beside the pages.
	local want=$((hugepages * (nodes > 0 ? nodes : 1)))
	need_kib=$(((want > have ? want - have : 0) * 2048 + 2 * 1024 * 1024))
	((free_kib >= need_kib)) || say_and_fail "$((need_kib / 1024)) MiB of memory must be free for the cluster and its hugepages, and $((free_kib / 1024)) MiB are; free some, or set CORE5G_HUGEPAGES lower (now $hugepages, for each node)."
}

preflight_addresses() {
	local other=${instance:+another}
	if ip link show "$link" >/dev/null 2>&1 && [[ ! -e $state/pid ]]; then
		say_and_fail "another embedded cluster runs on this machine (link $link is there); take it down in the clone where it was brought up, or with \`${instance:+CORE5G_INSTANCE=$instance }hack/cluster.sh down --force\`; or give this one ${other:-a} name with CORE5G_INSTANCE and addresses with CORE5G_HOST_IP."
	fi
	# A route that covers the node's address, other than the default route, belongs to something else.
	local route
	route=$(ip -4 route show match "$host_ip" 2>/dev/null | grep -v '^default' | grep -v " $link " | head -n 1 || true)
	[[ -z $route ]] || say_and_fail "the addresses $host_ip/30 are taken on this machine (route ${route%% *}); set CORE5G_HOST_IP to the first address of a free /30."
}

cluster_up() {
	cluster_preflight
	"$repo/hack/install-tools.sh" cluster
	"$repo/hack/tools/build.sh" kube cni multus cluster
	"$repo/out/bin/image" -root "$repo" "${infra_images[@]}" >/dev/null
	local archives=("${infra_images[@]/#/$repo/out/images/}")
	embedded up "${archives[@]/%/.tar}"
}

cluster_down() {
	local force=false
	[[ ${1:-} != --force ]] || force=true
	if [[ ! -d $state ]] && ! $force; then
		echo "nothing to take down"
		return 0
	fi
	((EUID == 0)) || say_and_fail "only root can take the embedded cluster down; run the same command with sudo."
	# The tool of this checkout, which may be newer than the cluster; the one that brought it up where none can be built.
	"$repo/hack/tools/build.sh" cluster || [[ -x $embedded ]]
	embedded down -force="$force"
}

cluster_status() {
	[[ -x $embedded ]] || say_and_fail "no cluster is up."
	embedded status
}

cluster_node() {
	[[ -x $embedded ]] || say_and_fail "no cluster is up; \`CORE5G_NODES=3 hack/cluster.sh up\` makes one."
	embedded node "$@"
}

cluster_kubeconfig() {
	[[ -f $state/kubeconfig ]] || say_and_fail "no cluster is up; \`hack/cluster.sh up\` makes one."
	echo "$state/kubeconfig"
}

cluster_load_image() {
	[[ -x $embedded ]] || say_and_fail "no cluster is up; \`hack/cluster.sh up\` makes one."
	embedded load "$@"
}
