#!/usr/bin/env bash
# Makes the Debian package core5g-upf, a UPF under systemd, of programs that are built: the same programs give the same
# package, to the octet.
#
#   hack/package.sh <version> <architecture> <folder of upf-u, upf-c, upfctl> <folder for the package> [sysroot]
#
# <version> is SemVer's; sysroot is the folder with the packages that upf-u of another architecture is linked to
# (hack/sysroot.sh). Environment:
#   SOURCE_DATE_EPOCH  the date of its files; that of the last commit when not given
#   CORE5G_MAINTAINER  who answers for it: Name <address>
set -euo pipefail
umask 022
export LC_ALL=C
cd "$(dirname "$0")/.."

fail() {
	echo "package: $*" >&2
	exit 1
}
(($# == 4 || $# == 5)) || fail "usage: hack/package.sh <version> <architecture> <folder of programs> <folder for the package> [sysroot]"
version=$1 arch=$2 programs=$3 out=$4 sysroot=${5-}
case $arch in
amd64) prefix='' triplet=x86_64-linux-gnu ;;
arm64) prefix='' triplet=aarch64-linux-gnu ;;
*) fail "architecture $arch: write amd64 or arm64" ;;
esac
[[ -z $sysroot ]] || prefix=$triplet-
for program in upf-u upf-c upfctl; do
	[[ -x $programs/$program ]] || fail "$programs/$program is not there: make -C upf upf-u, make bin"
done
for tool in dpkg-deb "${prefix}objdump" "${prefix}strip" gzip; do
	command -v "$tool" >/dev/null || fail "$tool is missing: hack/install-tools.sh upf"
done
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null)} || true
[[ -n $SOURCE_DATE_EPOCH ]] || fail "SOURCE_DATE_EPOCH is not set, and there is no commit to have a date of"
export SOURCE_DATE_EPOCH
maintainer=${CORE5G_MAINTAINER:-core5g maintainers <maintainers@core5g.dev>}
# A release candidate comes before its release: SemVer says so with a hyphen, Debian with a tilde.
debian=${version/-/\~}
debian=${debian//-/.}

# What upf-u has linked in statically.
linked_in=(libdpdk-dev libibverbs-dev)

# libraries <program>: the Debian packages that it needs, with the version of libc6 whose symbols it has.
libraries() {
	local name found libc
	libc=$("${prefix}objdump" -T "$1" | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1)
	"${prefix}objdump" -p "$1" | sed -n 's/^ *NEEDED *//p' | while read -r name; do
		[[ $name != ld-linux* ]] || continue
		found=$(dpkg-query --admindir="$sysroot/var/lib/dpkg" -S "*/$triplet/$name" 2>/dev/null | head -n 1 | cut -d : -f 1)
		[[ -n $found ]] || fail "no Debian package of this machine has $name, which $1 is linked to"
		[[ $found != libc6 ]] || found="libc6 (>= $libc)"
		echo "$found"
	done | sort -u | paste -sd , | sed 's/,/, /g'
}

# licences <folder>: of what of others is linked into the programs.
licences() {
	local program path release folder file
	for program in upf-c upfctl; do go version -m "$programs/$program"; done | awk '$1 == "dep" && $2 !~ /^core5g\.dev\// {print $2, $3}' | sort -u |
		while read -r path release; do
			folder=$(go list -m -f '{{.Dir}}' "$path")
			for file in "$folder"/{LICENSE,LICENCE,COPYING,NOTICE}*; do
				[[ ! -f $file ]] || install -D -m 644 "$file" "$1/$path@$release/${file##*/}"
			done
			[[ -d $1/$path@$release ]] || fail "$path $release has no licence"
		done
	install -D -m 644 "$(go env GOROOT)/LICENSE" "$1/go/LICENSE"
	local library
	for library in "${linked_in[@]}"; do install -D -m 644 "/usr/share/doc/$library/copyright" "$1/$library/copyright"; done
}

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
root=$work/root
doc=$root/usr/share/doc/core5g-upf
while IFS= read -r file; do
	mode=644
	[[ ! -x upf/package/root/$file ]] || mode=755
	install -D -m "$mode" "upf/package/root/$file" "$root/$file"
done < <(cd upf/package/root && find . -type f)
install -D -m 755 "$programs/upf-u" "$programs/upf-c" -t "$root/usr/sbin"
install -D -m 755 "$programs/upfctl" -t "$root/usr/bin"
"${prefix}strip" --remove-section=.comment --remove-section=.note "$root/usr/sbin/upf-u"
# What systemd is told beside the units is a site's to say.
for half in u c; do
	mkdir -p "$root/usr/lib/systemd/system/core5g-upf-$half.service.d"
	ln -s "/etc/core5g-upf/upf-$half.conf" "$root/usr/lib/systemd/system/core5g-upf-$half.service.d/site.conf"
done
install -D -m 644 upf/README.md docs/upf/external.md NOTICE -t "$doc"
install -m 644 upf/package/copyright "$doc/copyright"
install -D -m 644 upf/package/lintian-overrides "$root/usr/share/lintian/overrides/core5g-upf"
licences "$doc/licences"
gzip -9n <CHANGELOG.md >"$doc/NEWS.md.gz"
gzip -9n >"$doc/changelog.gz" <<CHANGES
core5g-upf ($debian) stable; urgency=medium

  * Of core5g $version; NEWS.md.gz has what is new.

 -- $maintainer  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
CHANGES

mkdir "$root/DEBIAN"
install -m 755 upf/package/{postinst,prerm,postrm} -t "$root/DEBIAN"
(cd "$root" && find etc -type f | sort | sed 's|^|/|') >"$root/DEBIAN/conffiles"
(cd "$root" && find etc usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
size=$(cd "$root" && find etc usr -type f -printf '%s\n' | awk '{kib += int(($1 + 1023) / 1024)} END {print kib}')
libraries=$(libraries "$root/usr/sbin/upf-u")
[[ $libraries == *libc6* ]] || fail "upf-u is linked to no libc6: ${libraries:-nothing}"
# Debian's names for what is linked in.
linked=$(dpkg-query --admindir="$sysroot/var/lib/dpkg" -W -f '${source:Package} (= ${source:Version})\n' "${linked_in[@]}" | sort -u | paste -sd , | sed 's/,/, /g')
sed -e "s/@version@/$debian/" -e "s/@linked@/$linked/" -e "s/@arch@/$arch/" -e "s/@size@/$size/" -e "s/@libraries@/$libraries/" \
	-e "s/@maintainer@/${maintainer//\//\\/}/" upf/package/control >"$root/DEBIAN/control"
find "$root" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
# More threads would cut what is compressed elsewhere. Whoever checks a release reads the control file without xz.
dpkg-deb --root-owner-group -Zxz --threads-max=1 --no-uniform-compression --build "$root" "$out/core5g-upf_${version}_$arch.deb" >/dev/null
echo "$out/core5g-upf_${version}_$arch.deb"
