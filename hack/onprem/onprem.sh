#!/usr/bin/env bash
# An emulated two-socket server with SR-IOV NICs, as a second node of the embedded cluster.
#
#   hack/onprem/onprem.sh up                 build, boot, join; or find it up
#   hack/onprem/onprem.sh down               switch it off and take its Node away
#   hack/onprem/onprem.sh reboot             power cycle: the same node comes back
#   hack/onprem/onprem.sh status             0 when its Node is Ready and has VFs
#   hack/onprem/onprem.sh exec COMMAND…      run a command on it, as root
#   hack/onprem/onprem.sh load-image FILE…   give it images: docker archives, out/images/*.tar
#
# README.md beside this file tells what it is made of and which variables change it.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
out=$repo/out/onprem
run=$out/run
cluster=$repo/out/cluster${CORE5G_INSTANCE:+-$CORE5G_INSTANCE}
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

node=core5g-onprem
address=10.214.0.2 # of the node, on a link of its own with the sandbox of the embedded cluster
gateway=10.214.0.1
pods=10.244.1.0/24
vfs=${CORE5G_ONPREM_VFS:-2}   # a PF
cpus=${CORE5G_ONPREM_CPUS:-4} # of both sockets
memory=2688                   # MiB; above 2816 some versions of QEMU cut the addresses of VFs short
# One thread for all emulated CPUs boots in 26 s where the machine is busy, and in 130 s with a thread for each.
threads=${CORE5G_ONPREM_THREADS:-single} # or multi
pages=${CORE5G_ONPREM_HUGEPAGES:-96} # of 2 MiB, a socket
vlan=${CORE5G_ONPREM_N3_VLAN:-}     # tag of N3 on the server's cable; none: untagged
mtu=${CORE5G_ONPREM_N3_MTU:-1500}   # that N3's switch lets through
images=(pause prerequisites/sriov-device-plugin node-agent upf-u upf-c ran)
resources=(n3_socket0 n6_socket0 n3_socket1 n6_socket1) # manifests/prerequisites/sriov.yaml

fail() {
	echo "onprem: $*" >&2
	exit 1
}

say() { printf '  %5ds  %s\n' "$SECONDS" "$*"; }

sandbox() {
	local pid=
	[[ ! -f $cluster/pid ]] || read -r pid _ <"$cluster/pid"
	[[ -n $pid && -d /proc/$pid ]] ||
		fail "the embedded cluster is not up; bring it up with \`hack/cluster.sh up\`."
	echo "$pid"
}

# inside runs a command in the network and process namespaces of the cluster's sandbox.
inside() { nsenter --target "$sandbox" --net --pid -- "$@"; }

kubectl() { "$repo/out/bin/kubectl" --kubeconfig "$cluster/kubeconfig" "$@"; }

remote() {
	inside ssh -q -i "$run/key" -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o ConnectTimeout=5 -o ServerAliveInterval=5 "root@$address" "$@"
}

# await SECONDS WHAT COMMAND… asks until the command succeeds.
await() {
	local limit=$1 what=$2 begin=$SECONDS
	shift 2
	until "$@" >/dev/null 2>&1; do
		((SECONDS - begin < limit)) || return 1
		running || return 2
		sleep 0.5
	done
	say "$what"
}

# ---- the machine -------------------------------------------------------------------------------

# QEMU's pid is one of the sandbox's process namespace: when the cluster goes down, so does it.
running() { [[ -S $run/monitor ]] && [[ -f $run/pid ]] && inside kill -0 "$(<"$run/pid")" 2>/dev/null; }

tap() {
	local name=$1 bridge=$2
	inside ip link show "$name" >/dev/null 2>&1 || inside ip tuntap add "$name" mode tap
	if [[ -n $bridge ]]; then
		# The CNI plug-in of the simulated gNB's pod takes the bridge that it finds.
		inside ip link show "$bridge" >/dev/null 2>&1 || inside ip link add "$bridge" type bridge
		inside ip link set "$bridge" up
		inside ip link set "$name" master "$bridge"
	fi
	inside ip link set "$name" up
}

trunking() { [[ -f $run/trunk.pid ]] && inside kill -0 "$(<"$run/trunk.pid")" 2>/dev/null; }

# trunk starts the switch port that tags N3 (trunk/doc.go). As QEMU, it ends with the sandbox.
trunk() {
	! trunking || return 0
	rm -f "$run/trunk.pid"
	setsid nsenter --target "$sandbox" --net --pid -- "$repo/out/bin/trunk" -tap c5g-onprem-n3 -vlan "$vlan" \
		-local "$run/n3.trunk" -server "$run/n3.qemu" -pid "$run/trunk.pid" >"$run/trunk.log" 2>&1 </dev/null &
	local child=$!
	until [[ -s $run/trunk.pid ]]; do
		kill -0 "$child" 2>/dev/null || fail "N3 is not tagged: $(tail -n 3 "$run/trunk.log")"
		sleep 0.1
	done
}

links() {
	tap c5g-onprem ""
	inside ip addr replace "$gateway/30" dev c5g-onprem
	inside ip route replace "$pods" via "$address"
	tap c5g-onprem-n3 c5g-n3
	tap c5g-onprem-n6 c5g-n6
	# The bridge's own, too: else it takes the smallest of its ports.
	inside ip link set c5g-onprem-n3 mtu "$mtu"
	inside ip link set c5g-n3 mtu "$mtu"
	[[ -z $vlan ]] || trunk
}

# data makes the disk that outlives a reboot: who the node is, and its first images.
data() {
	local tree=$run/data image number=0 authority
	authority=$(sha256sum <"$cluster/pki/ca.crt")
	# The identity of a cluster that has gone is of no use to the next.
	[[ ! -f $run/data.ext4 || $(<"$run/authority") != "$authority" ]] || return 0
	rm -rf "$run"
	mkdir -p "$run"
	echo "$authority" >"$run/authority"
	mkdir -p "$tree/ssh" "$tree/images"
	ssh-keygen -q -t ed25519 -N "" -C core5g -f "$run/key"
	cp "$run/key.pub" "$tree/ssh/authorized_keys"
	"$repo/out/bin/embedded" join -state "$cluster" -node "$node" -node-address "$address" -pods "$pods" "$tree/node"
	for image in "${images[@]}"; do
		number=$((number + 1))
		[[ ! -f $repo/out/images/$image.tar ]] || cp "$repo/out/images/$image.tar" "$tree/images/$number-${image##*/}.tar"
	done
	mke2fs -q -t ext4 -E lazy_itable_init=1,root_owner=0:0 -d "$tree" "$run/data.ext4" 6G >/dev/null
	rm -rf "$tree"
}

qemu() {
	local program=(qemu-system-x86_64)
	if [[ -x $out/qemu/usr/bin/qemu-system-x86_64 ]]; then
		# It is of the guest's Debian, and runs with that one's loader and libraries.
		local libraries=usr/lib/x86_64-linux-gnu
		program=("$out/tree/$libraries/ld-linux-x86-64.so.2" --library-path "$out/qemu/$libraries:$out/tree/$libraries"
			"$out/qemu/usr/bin/qemu-system-x86_64" -L "$out/qemu/usr/share/qemu" -L "$out/qemu/usr/share/seabios")
	fi
	local half=$((memory / 2)) sockets=2 cell plane cable nics=() line pid
	for cell in 0 1; do
		nics+=(-device "pxb-pcie,id=pxb$cell,bus=pcie.0,bus_nr=$((32 + 32 * cell)),numa_node=$cell")
		for plane in 3 6; do
			nics+=(-device "pcie-root-port,id=port$cell$plane,bus=pxb$cell,chassis=$((10 * cell + plane)),slot=$plane"
				-netdev "hubport,id=hub$plane$cell,hubid=$plane"
				-device "igb,bus=port$cell$plane,netdev=hub$plane$cell,mac=02:c5:67:00:0$plane:0$cell,romfile=")
		done
	done
	for plane in 3 6; do
		cable="tap,id=cable$plane,ifname=c5g-onprem-n$plane,script=no,downscript=no"
		[[ $plane != 3 || -z $vlan ]] ||
			cable="dgram,id=cable3,local.type=unix,local.path=$run/n3.qemu,remote.type=unix,remote.path=$run/n3.trunk"
		nics+=(-netdev "$cable" -netdev "hubport,id=hub$plane,hubid=$plane,netdev=cable$plane")
	done
	# maxcpus=1: guest/boot brings the others online when the VFs are there. tsc=reliable: else every look
	# at the clock leaves the emulated CPU.
	line="console=ttyS0 quiet mitigations=off nopti nokaslr audit=0 apparmor=0 selinux=0 no_timer_check"
	line+=" random.trust_cpu=on intel_iommu=on iommu=pt hugepagesz=2M hugepages=0:$pages,1:$pages tsc=reliable maxcpus=1"
	line+=" panic=-1 core5g.node=$node core5g.address=$address/30 core5g.gateway=$gateway core5g.vfs=$vfs"
	rm -f "$run/monitor" "$run/pid"
	nsenter --target "$sandbox" --net --pid -- "${program[@]}" -name core5g-onprem \
		-M q35 -accel "tcg,thread=$threads,tb-size=1024" -cpu Haswell-noTSX,-x2apic \
		-smp "$cpus,sockets=$sockets,cores=$((cpus / sockets)),threads=1" -m "${memory}M" \
		-object "memory-backend-ram,id=cell0,size=${half}M" -object "memory-backend-ram,id=cell1,size=${half}M" \
		-numa "node,nodeid=0,cpus=0-$((cpus / 2 - 1)),memdev=cell0" \
		-numa "node,nodeid=1,cpus=$((cpus / 2))-$((cpus - 1)),memdev=cell1" -numa dist,src=0,dst=1,val=21 \
		-device intel-iommu,intremap=on,caching-mode=on \
		-netdev tap,id=management,ifname=c5g-onprem,script=no,downscript=no \
		-device virtio-net-pci,bus=pcie.0,netdev=management,mac=02:c5:67:00:00:01,romfile= \
		-drive "if=none,id=root,format=raw,file=$out/root.ext4,snapshot=on,cache=unsafe" \
		-device virtio-blk-pci,bus=pcie.0,num-queues=1,drive=root \
		-drive "if=none,id=data,format=raw,file=$run/data.ext4,cache=unsafe" \
		-device virtio-blk-pci,bus=pcie.0,num-queues=1,drive=data \
		-device virtio-rng-pci,bus=pcie.0 "${nics[@]}" \
		-kernel "$out/vmlinuz" -initrd "$out/initrd" -append "$line" \
		-nodefaults -display none -serial "file:$run/console.log" \
		-monitor "unix:$run/monitor,server=on,wait=off" -pidfile "$run/pid" -daemonize 2>"$run/qemu.log" ||
		fail "QEMU does not start: $(tail -n 3 "$run/qemu.log")"
	# On a machine that is busy with other things, the emulated CPUs get their share; one that waits for long
	# is taken for dead by what runs on it.
	pid=$(pgrep -f -- "-pidfile $run/pid") || return 0
	echo -10 2>/dev/null >"/proc/$pid/autogroup" || renice -n -10 -p "$pid" >/dev/null || true
}

# boot starts QEMU and waits for the VFs. Its enumeration of PCI devices aborts now and then: once more then.
boot() {
	local try
	for try in 1 2 3; do
		qemu
		if await 240 "booted, VFs made" grep -q "core5g: .* ready: " "$run/console.log"; then
			return 0
		fi
		say "the machine did not boot (try $try): $(tail -n 1 "$run/qemu.log" "$run/console.log" | tr '\n' ' ')"
		off
	done
	fail "the machine does not boot; its console is in out/onprem/run/console.log"
}

off() {
	local pid
	[[ -f $run/pid ]] || return 0
	pid=$(<"$run/pid")
	inside kill -9 "$pid" 2>/dev/null || true
	while inside kill -0 "$pid" 2>/dev/null; do sleep 0.1; done
	rm -f "$run/pid" "$run/monitor"
}

# ---- verbs -------------------------------------------------------------------------------------

node_ready() { [[ $(kubectl get node "$node" -o 'jsonpath={.status.conditions[?(@.type=="Ready")].status}') == True ]]; }

vfs_allocatable() {
	local resource offered
	for resource in "${resources[@]}"; do
		offered=$(kubectl get node "$node" -o "jsonpath={.status.allocatable.core5g\\.dev/$resource}")
		((${offered:-0} > 0)) || return 1
	done
}

onprem_up() {
	sandbox=$(sandbox)
	if running; then
		if [[ -n $vlan ]]; then trunking; else ! trunking; fi ||
			fail "it is up with another CORE5G_ONPREM_N3_VLAN; \`hack/onprem/onprem.sh down\` first."
		say "already up"
	else
		"$repo/hack/onprem/image.sh"
		"$repo/hack/tools/build.sh" sriov onprem
		"$repo/out/bin/image" -root "$repo" -recipes images/prerequisites sriov-device-plugin >/dev/null
		kubectl apply --server-side --force-conflicts -f "$repo/manifests/prerequisites/sriov.yaml" >/dev/null
		data
		links
		boot
	fi
	await 120 "answers" remote true || fail "the machine does not answer at $address; its console is in out/onprem/run/console.log"
	await 300 "node $node is Ready" node_ready || fail "node $node does not become Ready; look at \`hack/onprem/onprem.sh exec tail /var/log/kubelet.log\`"
	await 300 "VFs of both sockets allocatable" vfs_allocatable || fail "the device plug-in offers no VFs; look at \`kubectl -n kube-system logs daemonset/sriov-device-plugin\`"
}

onprem_down() {
	[[ -d $run ]] || return 0
	if [[ -f $cluster/pid ]] && sandbox=$(sandbox 2>/dev/null); then
		off
		! trunking || inside kill "$(<"$run/trunk.pid")" || true
		kubectl delete node "$node" --ignore-not-found >/dev/null 2>&1 || true
		for link in c5g-onprem c5g-onprem-n3 c5g-onprem-n6; do
			inside ip link del "$link" 2>/dev/null || true
		done
	fi
	rm -rf "$run"
	say "switched off"
}

onprem_reboot() {
	sandbox=$(sandbox)
	running || fail "it is not up; \`hack/onprem/onprem.sh up\` boots it."
	off
	boot
	await 120 "answers" remote true || fail "the machine does not answer at $address"
}

onprem_status() {
	sandbox=$(sandbox)
	running || fail "it is not up; \`hack/onprem/onprem.sh up\` boots it."
	kubectl get node "$node" -o wide
	node_ready || fail "node $node is not Ready."
	vfs_allocatable || fail "node $node has no VFs; look at \`kubectl -n kube-system logs daemonset/sriov-device-plugin\`"
}

onprem_load() {
	local archive
	sandbox=$(sandbox)
	running || fail "it is not up; \`hack/onprem/onprem.sh up\` boots it."
	for archive in "$@"; do
		[[ -f $archive ]] || fail "there is no image archive $archive; build it with out/bin/image first."
		remote ctr -n k8s.io images import - <"$archive"
	done
}

usage() {
	sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2
	exit 2
}

(($#)) || usage
verb=$1
shift
((EUID == 0)) || fail "it makes disks, links and namespaces, for which it must be root; run the same command with sudo."
case $verb in
up | down | reboot | status)
	(($# == 0)) || usage
	"onprem_$verb"
	;;
exec)
	(($#)) || usage
	sandbox=$(sandbox)
	remote "$@"
	;;
load-image)
	(($#)) || usage
	onprem_load "$@"
	;;
*) usage ;;
esac
