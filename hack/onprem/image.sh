#!/usr/bin/env bash
# Builds what the emulated server boots from, below out/onprem, from Debian packages alone:
#
#   qemu/        QEMU 10, unpacked and not installed; a QEMU of this machine that has the igb device is taken
#                instead
#   tree/        Debian 13: kernel, containerd, runc, nft, iproute2, dropbear, busybox
#   vmlinuz, initrd, root.ext4    made of the tree, of guest/, and of the programs in out/bin and out/cni
#
# Each is passed over when its inputs are those of the last build.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
here=$repo/hack/onprem
out=$repo/out/onprem
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

mirror=${CORE5G_DEBIAN_MIRROR:-http://deb.debian.org}

say() { printf '  %5ds  %s\n' "$SECONDS" "$*"; }

# fresh STAMP DIGEST tells whether the last build had these inputs.
fresh() { [[ -f $out/$1.stamp && $(<"$out/$1.stamp") == "$2" ]]; }

digest() { sha256sum | cut -d' ' -f1; }

# ---- QEMU --------------------------------------------------------------------------------------

has_igb() { "$@" -device help 2>/dev/null | grep -q '^name "igb"'; }

# apt-get for the guest's Debian, with lists and archives of its own: the machine's stay as they are.
guest_apt() {
	nice apt-get -o Dir::State="$work/state" -o Dir::State::status="$out/tree/var/lib/dpkg/status" \
		-o Dir::Etc::SourceList="$work/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::Cache="$work/cache" -o APT::Sandbox::User=root -y -q --no-install-recommends "$@"
}

# The machine's Debian may have an older one: what is unpacked is of the guest's, and runs with its libraries.
build_qemu() {
	local now work deb
	now=$({ sed -n '/^build_qemu()/,/^}/p' "${BASH_SOURCE[0]}"; cat "$out/tree.stamp"; } | digest)
	! fresh qemu "$now" || return 0
	if command -v qemu-system-x86_64 >/dev/null && has_igb qemu-system-x86_64; then
		say "QEMU is the machine's own: $(command -v qemu-system-x86_64)"
		return 0
	fi
	work=$out/qemu.work
	rm -rf "$work" "$out/qemu"
	mkdir -p "$work/state/lists/partial" "$work/cache/archives/partial" "$out/qemu"
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror/debian trixie main" >"$work/sources.list"
	if ! guest_apt update >"$work/log" 2>&1 || ! guest_apt install --download-only qemu-system-x86 >>"$work/log" 2>&1; then
		tail -n 5 "$work/log" >&2
		echo "onprem: QEMU could not be had from $mirror; install a QEMU with the igb device (8.0 or later) yourself" >&2
		return 1
	fi
	for deb in "$work"/cache/archives/*.deb; do
		dpkg-deb -x "$deb" "$out/qemu"
	done
	rm -rf "$work" "$out"/qemu/usr/share/{doc,man,icons,locale}
	echo "$now" >"$out/qemu.stamp"
	say "QEMU unpacked"
}

# ---- the guest's Debian ------------------------------------------------------------------------

packages=containerd,runc,iproute2,nftables,conntrack,kmod,dropbear-bin,busybox-static

build_tree() {
	local now status=0
	now=$({ sed -n '/^build_tree()/,/^}/p' "${BASH_SOURCE[0]}"; echo "$packages $mirror"; } | digest)
	! fresh tree "$now" || return 0
	"$repo/hack/install-tools.sh" onprem
	rm -rf "$out/tree"
	mkdir -p "$out"
	# The kernel package is unpacked and not installed, which needs no initramfs-tools.
	# Mounts of its own: a /proc that stayed in the tree would become part of the disk.
	# shellcheck disable=SC2016 # $1 is mmdebstrap's
	unshare --mount --propagation private mmdebstrap --quiet --variant=minbase --mode=root --keyring=/usr/share/keyrings \
		--include="$packages" --aptopt='APT::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/i18n/*' \
		--customize-hook='chroot "$1" sh -c "cd /tmp && apt-get download -qq \$(apt-cache depends linux-image-amd64 | sed -n \"s/.*Depends: \\(linux-image-[^ ]*\\).*/\\1/p\" | head -n 1)"' \
		--customize-hook='dpkg-deb -x "$1"/tmp/linux-image-*.deb "$1"' \
		--customize-hook='rm -rf "$1"/tmp/*.deb "$1"/var/lib/apt/lists "$1"/boot/System.map* "$1"/usr/share/zoneinfo' \
		--customize-hook='cd "$1"/usr/lib/modules/*/kernel && rm -rf sound drivers/gpu drivers/media drivers/staging drivers/infiniband drivers/iio drivers/usb drivers/scsi drivers/hwmon drivers/input drivers/platform drivers/mtd net/bluetooth net/mac80211 net/wireless drivers/net/wireless drivers/net/usb drivers/bluetooth' \
		--customize-hook='chroot "$1" depmod "$(ls "$1"/usr/lib/modules)"' \
		trixie "$out/tree" "$mirror/debian" >"$out/tree.log" 2>&1 || status=$?
	if ((status != 0)); then
		tail -n 10 "$out/tree.log" >&2
		echo "onprem: the guest's Debian could not be made (log: out/onprem/tree.log)" >&2
		return 1
	fi
	echo "$now" >"$out/tree.stamp"
	say "Debian of the guest made, $(du -sm "$out/tree" | cut -f1) MB"
}

# ---- kernel, initrd, disk ----------------------------------------------------------------------

# The initrd loads what the disk needs and goes over to it.
build_initrd() {
	local version work module
	version=$(basename "$out"/tree/usr/lib/modules/*)
	work=$out/initrd.work
	rm -rf "$work"
	mkdir -p "$work"/{bin,modules,proc,dev,disk}
	cp "$out/tree/usr/bin/busybox" "$work/bin/"
	install -m 755 "$here/guest/init" "$work/init"
	while read -r module; do
		xz -dc "$out/tree$module" >"$work/modules/$(basename "$module" .xz)"
		basename "$module" .xz >>"$work/modules/order"
	done < <(chroot "$out/tree" modprobe -S "$version" -a --show-depends virtio_pci virtio_blk ext4 |
		awk '/^insmod/ && !seen[$2]++ {print $2}')
	(cd "$work" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$out/initrd"
	rm -rf "$work"
	cp "$out"/tree/boot/vmlinuz-* "$out/vmlinuz"
}

build_disk() {
	local now program
	now=$({ cat "$out/tree.stamp" "${BASH_SOURCE[0]}" "$here"/guest/*; stat -Lc '%n %s %Y' "$repo/out/bin/kube" "$repo"/out/cni/*; } | digest)
	! fresh root "$now" || return 0
	build_initrd
	rm -rf "$out/tree/opt/core5g"
	mkdir -p "$out"/tree/opt/core5g/{bin,cni} "$out"/tree/{etc/dropbear,root/.ssh,var/lib/data}
	cp "$repo/out/bin/kube" "$out/tree/opt/core5g/bin/"
	for program in kubelet kube-proxy kubectl; do
		ln -sfn kube "$out/tree/opt/core5g/bin/$program"
	done
	cp "$repo"/out/cni/* "$out/tree/opt/core5g/cni/"
	install -m 755 "$here/guest/boot" "$here/guest/daemon" "$out/tree/opt/core5g/"
	install -m 644 "$here/guest/inittab" "$out/tree/etc/inittab"
	rm -f "$out/root.ext4"
	mke2fs -q -t ext4 -O ^has_journal -m 0 -d "$out/tree" "$out/root.ext4" 1G >/dev/null
	echo "$now" >"$out/root.stamp"
	say "disk of the guest made"
}

mkdir -p "$out"
build_tree
build_qemu
build_disk
