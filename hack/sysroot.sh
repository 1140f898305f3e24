#!/usr/bin/env bash
# Unpacks the Debian packages of another architecture that images are made of: the libraries that upf-u
# is linked to, Java's modules, Redis, busybox. Nothing of them runs, and nothing is installed: this machine's
# packages and their lists stay as they are.
#
#   hack/sysroot.sh arm64          out/arm64/root, with dpkg's lists of what is in it
#
# The packages are of the release that this machine runs, from CORE5G_DEBIAN_MIRROR, or from where this
# machine has its own. A folder of the same packages is passed over.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages=(libdpdk-dev libyaml-dev libssl-dev libcmocka-dev libc6-dev busybox-static openjdk-17-jdk-headless redis-server redis-tools)

arch=${1-}
if (($# != 1)) || [[ ! $arch =~ ^(amd64|arm64)$ ]]; then
	echo "usage: hack/sysroot.sh amd64|arm64" >&2
	exit 2
fi
out=$repo/out/$arch
root=$out/root
work=$out/root.work
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[[ -n $codename ]] || {
	echo "sysroot: this machine's /etc/os-release names no release of Debian" >&2
	exit 1
}

now=$({ cat "${BASH_SOURCE[0]}"; echo "$codename ${CORE5G_DEBIAN_MIRROR-}"; } | sha256sum)
if [[ -f $out/root.stamp && $(<"$out/root.stamp") == "$now" ]]; then
	exit 0
fi
echo "unpacking the $arch packages: ${packages[*]}" >&2
rm -rf "$root" "$work" "$out/root.stamp"
mkdir -p "$root/var/lib/dpkg/info" "$work/state/lists/partial" "$work/cache/archives/partial" "$work/parts"
: >"$work/status"

# apt with lists and archives of its own, which takes all packages for absent.
sources=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/parts")
if [[ -n ${CORE5G_DEBIAN_MIRROR-} ]]; then
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $CORE5G_DEBIAN_MIRROR/debian $codename main" >"$work/parts/debian.list"
else
	# Of this machine's sources those of Debian; others seldom have the architecture.
	for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
		case $list in
		*.list) ! grep -qsE "^deb .* $codename(-[a-z]+)? " "$list" || cp "$list" "$work/parts/" ;;
		*.sources) ! grep -qsE "^Suites:.*\b$codename\b" "$list" || cp "$list" "$work/parts/" ;;
		esac
	done
fi
foreign_apt() {
	nice apt-get -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
		"${sources[@]}" -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Acquire::Languages=none \
		-o APT::Sandbox::User=root -y -q --no-install-recommends "$@"
}
if ! foreign_apt update >"$work/log" 2>&1 || ! foreign_apt install --download-only "${packages[@]}" >>"$work/log" 2>&1; then
	tail -n 10 "$work/log" >&2
	echo "sysroot: the packages of $arch could not be had; CORE5G_DEBIAN_MIRROR names a mirror that has them" >&2
	exit 1
fi

# What dpkg would write, so that the bills of materials name the packages of another architecture too.
printf '1\n' >"$root/var/lib/dpkg/info/format"
printf '%s\n' "$(dpkg --print-architecture)" "$arch" | sort -u >"$root/var/lib/dpkg/arch"
for deb in "$work"/cache/archives/*.deb; do
	dpkg-deb -x "$deb" "$root"
	name=$(dpkg-deb -f "$deb" Package)
	[[ $(dpkg-deb -f "$deb" Multi-Arch) != same ]] || name+=:$arch
	dpkg-deb --fsys-tarfile "$deb" | tar -tf - | sed -e 's|^\.||' -e 's|/$||' -e 's|^$|/.|' >"$root/var/lib/dpkg/info/$name.list"
	{
		dpkg-deb -f "$deb" | sed '1a Status: install ok installed'
		echo
	} >>"$root/var/lib/dpkg/status"
done
rm -rf "$work" "$root"/usr/share/{doc,man,locale}
echo "$now" >"$out/root.stamp"
