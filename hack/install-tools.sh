#!/usr/bin/env bash
# Installs the Debian packages that a part of core5g needs and this machine lacks.
#
#   hack/install-tools.sh [--check] [section …]      (no section: all of them but arm64, a cross compiler, and edge and release, of make e2e-edge and e2e-release)
#
# A machine that has everything is left alone, within a tenth of a second. --check installs nothing
# and prints what is missing. No daemon is started: core5g runs its own containerd in its own
# namespaces.
set -euo pipefail

# One line per need: "section package probe". The probe is what is really needed, so that a program
# from elsewhere (Docker's containerd, a newer clang) counts: a command in PATH, `pc:` a pkg-config
# module, `py:` a Python module, or `file:` a path.
needs() {
	cat <<-'LIST'
		cluster  containerd       containerd
		cluster  runc             runc
		cluster  nftables         nft
		cluster  iptables         iptables
		cluster  conntrack        conntrack
		cluster  iproute2         ip
		cluster  util-linux       nsenter
		cluster  procps           pgrep
		cluster  ca-certificates  file:/etc/ssl/certs/ca-certificates.crt

		cluster  busybox-static   file:/bin/busybox

		upf      gcc              gcc
		upf      libc6-dev        file:/usr/include/stdio.h
		upf      make             make
		upf      pkg-config       pkg-config
		upf      libdpdk-dev      pc:libdpdk
		upf      libibverbs-dev   pc:libmlx5
		upf      libyaml-dev      pc:yaml-0.1
		upf      libssl-dev       pc:libcrypto
		upf      libcmocka-dev    pc:cmocka

		database openjdk-17-jdk-headless  jlink
		database maven            mvn

		session-store redis-server redis-server

		subscriber-database postgresql file:/usr/lib/postgresql

		ran      busybox-static   file:/bin/busybox

		policies iptables         file:/usr/sbin/xtables-nft-multi
		policies ipset            ipset

		arm64    gcc-aarch64-linux-gnu  aarch64-linux-gnu-gcc
		arm64    pkg-config       pkg-config
		arm64    make             make
		arm64    qemu-user-static qemu-aarch64-static

		onprem   mmdebstrap       mmdebstrap
		onprem   busybox-static   file:/bin/busybox
		onprem   e2fsprogs        mke2fs
		onprem   xz-utils         xz
		onprem   openssh-client   ssh

		edge     mmdebstrap       mmdebstrap
		edge     lintian          lintian
		edge     apparmor         apparmor_parser
		edge     systemd          systemd-analyze
		edge     util-linux       setpriv
		edge     iproute2         ip
		edge     wireguard-tools  wg
		edge     wireguard-go     wireguard-go

		release  openssl          openssl
		release  minisign         minisign
		release  skopeo           skopeo

		lint     clang-format     clang-format
		lint     clang-tidy       clang-tidy
		lint     shellcheck       shellcheck

		test     python3-venv     py:ensurepip
		test     iputils-ping     ping
		test     iperf3           iperf3
		test     ethtool          ethtool
		test     tcpdump          tcpdump
		test     clang-14         clang-14
		test     libclang-rt-14-dev  file:/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a
		test     valgrind         file:/usr/include/valgrind/callgrind.h
	LIST
}

has() {
	case $1 in
	pc:*) command -v pkg-config >/dev/null && pkg-config --exists "${1#pc:}" ;;
	file:*) [[ -e ${1#file:} ]] ;;
	py:*) command -v python3 >/dev/null && python3 -c "import ${1#py:}" 2>/dev/null ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# The policy tells Debian's package scripts to start no daemon; a machine's own policy stays.
policy=/usr/sbin/policy-rc.d
install_packages() {
	if [[ ! -e $policy ]]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy"
		chmod 755 "$policy"
		trap 'rm -f "$policy"' EXIT
	fi
	export DEBIAN_FRONTEND=noninteractive
	local log status=0
	log=$(mktemp)
	# Old package lists name files that mirrors have dropped, so a failure means: refresh and try again.
	apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1 ||
		{ apt-get update -q >"$log" 2>&1 && apt-get install -y -q --no-install-recommends "$@" >>"$log" 2>&1; } ||
		status=$?
	if ((status != 0)); then
		tail -n 20 "$log" >&2
		echo "install-tools: apt-get could not install: $*" >&2
	fi
	rm -f "$log"
	return "$status"
}

main() {
	local check=false sections=() arg
	for arg in "$@"; do
		case $arg in
		--check) check=true ;;
		cluster | upf | database | session-store | subscriber-database | policies | ran | arm64 | onprem | edge | release | lint | test) sections+=("$arg") ;;
		*)
			echo "usage: hack/install-tools.sh [--check] [cluster|upf|database|session-store|subscriber-database|policies|ran|arm64|onprem|edge|release|lint|test …]" >&2
			return 2
			;;
		esac
	done
	((${#sections[@]})) || sections=(cluster upf database session-store subscriber-database policies ran onprem lint test)

	# The shell forgets a command's old place once packages have come.
	export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
	local missing=() section package probe
	while read -r section package probe; do
		[[ -n $section && " ${sections[*]} " == *" $section "* ]] || continue
		has "$probe" || missing+=("$package")
	done < <(needs)

	((${#missing[@]})) || return 0
	if $check; then
		printf '%s\n' "${missing[@]}"
		return 1
	fi
	if ! command -v apt-get >/dev/null; then
		echo "install-tools: this machine has no apt-get; install these yourself: ${missing[*]}" >&2
		return 1
	fi
	if ((EUID != 0)); then
		echo "install-tools: run it as root, or install these yourself: ${missing[*]}" >&2
		return 1
	fi
	echo "installing ${missing[*]}" >&2
	install_packages "${missing[@]}"
}

main "$@"
