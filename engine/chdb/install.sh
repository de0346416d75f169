#!/usr/bin/env bash
# Installs the engine library (libchdb) from npm into ${LAXITY_LIB_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/laxity/lib}.
# Does nothing when the pinned version is there. Several may run at once: each works in its own temporary folder and the
# last step is a rename. The version and the digests of the packages are in library.txt beside this file; a platform
# without a digest there is checked by npm against the registry's own.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(awk '$1 == "version" {print $2}' "$here/library.txt")
dir=${LAXITY_LIB_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/laxity/lib}
target=$dir/libchdb-$version.so

if [ -s "$target" ]; then
	echo "engine library: $target"
	exit 0
fi

case "$(uname -s)-$(uname -m)" in
Linux-x86_64) platform=linux-x64-gnu ;;
Linux-aarch64 | Linux-arm64) platform=linux-arm64-gnu ;;
Darwin-arm64) platform=darwin-arm64 ;;
Darwin-x86_64) platform=darwin-x64 ;;
*)
	echo "engine library: no build for $(uname -s) $(uname -m); use a remote ClickHouse with --clickhouse DSN" >&2
	exit 1
	;;
esac
command -v npm >/dev/null || { echo "engine library: npm is missing; install Node.js" >&2; exit 1; }

mkdir -p "$dir"
tmp=$(mktemp -d "$dir/.install.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

package=@chdb/lib-$platform@$version
echo "engine library: fetching $package (about 170 MB)"
(cd "$tmp" && npm pack --silent "$package" >/dev/null)
archive=$(echo "$tmp"/*.tgz)

want=$(awk -v p="$platform" '$1 == p {print $2}' "$here/library.txt")
if [ -n "$want" ]; then
	got=sha512-$(node -e 'const h = require("crypto").createHash("sha512");
		require("fs").createReadStream(process.argv[1]).on("data", (d) => h.update(d)).on("end", () => console.log(h.digest("base64")))' "$archive")
	if [ "$got" != "$want" ]; then
		echo "engine library: $package has digest $got, want $want" >&2
		exit 1
	fi
fi

tar -xzf "$archive" -C "$tmp" package/libchdb.so
mv -f "$tmp/package/libchdb.so" "$target"
echo "engine library: $target"
