#!/usr/bin/env bash
# Unpacks Debian packages of another architecture, or of another release. Nothing is installed: this machine's
# packages and their lists stay as they are.
#
#   hack/sysroot.sh arm64          out/arm64/root, with dpkg's lists of what is in it: what images are made of,
#                                  which is the libraries that upf-u is linked to, Java's modules, Redis, busybox
#   hack/sysroot.sh amd64 trixie   out/trixie-amd64/root, of Debian 13: what upf-u and its vectors are linked to
#
# The packages are of the release that is named, else of the one that this machine runs; from
# CORE5G_DEBIAN_MIRROR, or from where this machine has its own. A folder of the same packages is passed over.
set -euo pipefail

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
packages=(libdpdk-dev libibverbs-dev libyaml-dev libssl-dev libcmocka-dev libc6-dev)
images=(busybox-static openjdk-17-jdk-headless redis-server redis-tools)

arch=${1-} release=${2-}
if (($# < 1 || $# > 2)) || [[ ! $arch =~ ^(amd64|arm64)$ || ! ${release:-none} =~ ^[a-z]+$ ]]; then
	echo "usage: hack/sysroot.sh amd64|arm64 [release of Debian: its code name]" >&2
	exit 2
fi
# shellcheck source=/dev/null
codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
[[ -n $codename ]] || {
	echo "sysroot: this machine's /etc/os-release names no release of Debian" >&2
	exit 1
}
if [[ -n $release ]]; then
	out=$repo/out/$release-$arch
else
	out=$repo/out/$arch release=$codename
	packages+=("${images[@]}")
fi
root=$out/root
work=$out/root.work

now=$({ cat "${BASH_SOURCE[0]}"; echo "$codename ${CORE5G_DEBIAN_MIRROR-}"; } | sha256sum)
if [[ -f $out/root.stamp && $(<"$out/root.stamp") == "$now" ]]; then
	exit 0
fi
echo "unpacking the $arch packages of $release: ${packages[*]}" >&2
rm -rf "$root" "$work" "$out/root.stamp"
mkdir -p "$root/var/lib/dpkg/info" "$work/state/lists/partial" "$work/cache/archives/partial" "$work/parts"
: >"$work/status"

# apt with lists and archives of its own, which takes all packages for absent.
sources=(-o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/parts")
if [[ -n ${CORE5G_DEBIAN_MIRROR-} ]]; then
	echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $CORE5G_DEBIAN_MIRROR/debian $release main" >"$work/parts/debian.list"
else
	# Of this machine's sources those of Debian, which have its other releases, too; others seldom have the architecture.
	for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
		case $list in
		*.list) ! grep -qsE "^deb .* $codename(-[a-z]+)? " "$list" || cp "$list" "$work/parts/" ;;
		*.sources) ! grep -qsE "^Suites:.*\b$codename\b" "$list" || cp "$list" "$work/parts/" ;;
		esac
	done
	sed -i -E "/^deb |^Suites:/s/\b$codename\b/$release/g" "$work"/parts/*
fi
foreign_apt() {
	nice apt-get -o Dir::State="$work/state" -o Dir::State::status="$work/status" -o Dir::Cache="$work/cache" \
		"${sources[@]}" -o APT::Architecture="$arch" -o APT::Architectures="$arch" -o Acquire::Languages=none \
		-o APT::Sandbox::User=root -y -q --no-install-recommends "$@"
}
fail() {
	tail -n 10 "$work/log" >&2
	echo "sysroot: $1; CORE5G_DEBIAN_MIRROR names a mirror that has them" >&2
	exit 1
}
# What could not be had is missed below; of a release that is served some lists do.
foreign_apt update >"$work/log" 2>&1 || true
compgen -G "$work/state/lists/*_dists_${release}_main_binary-${arch}_Packages*" >/dev/null ||
	fail "${CORE5G_DEBIAN_MIRROR:-the mirror of this machine} serves no packages of Debian's $release for $arch"
foreign_apt install --download-only "${packages[@]}" >>"$work/log" 2>&1 || fail "the packages of $release for $arch could not be had"

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
# Since Debian 13 packages have nothing in /bin and /lib, which are links to below /usr.
for folder in bin lib lib64 sbin; do
	[[ -e $root/$folder || ! -d $root/usr/$folder ]] || ln -s "usr/$folder" "$root/$folder"
done
rm -rf "$work" "$root"/usr/share/{doc,man,locale}
echo "$now" >"$out/root.stamp"
