#!/bin/sh
# Sets up Swift on a Debian machine: a root of its own with trixie's `swiftlang`, trimmed to what compiling and testing need (1.9 GB).
# Safe to repeat: a root that works is left alone, a half-made one is made again. Needs to be run as root. Prints the root's folder.
#
#   ONCEWIRE_SWIFT_ROOT   where the root goes; default /var/lib/oncewire/swift-trixie
#
# A root, and not the unpacked packages: the compiler's driver starts its other half by itself, with the C library of the machine, which
# is too old for it on Debian 12.
set -eu

root=${ONCEWIRE_SWIFT_ROOT:-/var/lib/oncewire/swift-trixie}
part=$root.part
mark=.made-by-oncewire
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
needed_kb=$((4 * 1024 * 1024))

say() { echo "toolchain: $*" >&2; }
fail() { say "$*"; exit 1; }

# The compiler finds its libraries through /proc, so one must be mounted; in a mount namespace of its own, which ends with the command.
works() {
    [ -x "$1/usr/bin/swiftc" ] || return 1
    # shellcheck disable=SC2016 # expanded by the inner shell
    unshare --mount --propagation private sh -c 'mount -t proc proc "$1/proc" && chroot "$1" /usr/bin/swiftc --version' sh "$1" \
        >/dev/null 2>&1
}

[ "$(uname -s)" = Linux ] || fail "this is for Linux; elsewhere use the Swift of the system"
[ "$(id -u)" = 0 ] || fail "making a root of Debian needs root"
case $root in
    /*/*) ;;
    *) fail "ONCEWIRE_SWIFT_ROOT must be an absolute path, not in /: $root" ;;
esac

mkdir -p "$(dirname "$root")"
# One at a time; the lock goes with the process.
exec 9>"$root.lock"
flock 9

if works "$root"; then
    echo "$root"
    exit 0
fi

if ! command -v mmdebstrap >/dev/null 2>&1 || [ ! -r "$keyring" ]; then
    say "installing mmdebstrap"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >&2
    apt-get install -y -qq --no-install-recommends mmdebstrap debian-archive-keyring >&2 9>&-
fi

free_kb=$(df -Pk "$(dirname "$root")" | awk 'NR == 2 { print $4 }')
[ "$free_kb" -ge "$needed_kb" ] || fail "4 GB must be free under $(dirname "$root"); there are $((free_kb / 1024)) MB"

# A folder that this script did not make is not this script's to remove.
for old in "$part" "$root"; do
    if [ -e "$old" ] && [ ! -e "$old/$mark" ]; then
        fail "$old is there, does not work as a root, and was not made by this script: remove it, or set ONCEWIRE_SWIFT_ROOT"
    fi
done
# What an earlier run left. Nothing is ever mounted there in our namespace; --one-file-system is the second lock on that door.
rm -rf --one-file-system "$part" "$root"
mkdir "$part"
touch "$part/$mark"

say "making $root"
lib=/usr/libexec/swift
mmdebstrap --variant=minbase --mode=root --keyring="$keyring" --components=main \
    --include=swiftlang,libc6-dev,ca-certificates \
    --dpkgopt='path-exclude=/usr/share/doc/*' \
    --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' \
    --dpkgopt='path-exclude=/usr/share/info/*' \
    --dpkgopt='path-exclude=*/lib/swift_static/*' \
    --dpkgopt='path-exclude=*/lib/swift/embedded/*' \
    --dpkgopt='path-exclude=*/bin/sourcekit-lsp' \
    --dpkgopt='path-exclude=*/bin/clangd' \
    --dpkgopt='path-exclude=*/bin/docc' \
    --dpkgopt='path-exclude=*/bin/swift-format' \
    --dpkgopt="path-exclude=$lib/*/share/docc/*" \
    --skip=check/empty \
    trixie "$part" >&2 9>&-
rm -rf --one-file-system "$part/var/cache/apt" "$part/var/lib/apt/lists"
mkdir -p "$part/var/cache/apt/archives/partial" "$part/var/lib/apt/lists/partial"

works "$part" || fail "swiftc does not answer in $part"
mv "$part" "$root"
say "ready"
echo "$root"
