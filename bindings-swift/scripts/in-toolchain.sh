#!/bin/sh
# Runs a command in the root that toolchain.sh made, with this checkout at the same path, in the folder where it was started.
#
#   in-toolchain.sh swift test ...
#
#   ONCEWIRE_SWIFT_ROOT   the root; default as in toolchain.sh
#   ONCEWIRE_SWIFT_BIND   one more folder to show at the same path, for example a CARGO_TARGET_DIR outside the checkout
#
# All mounts are in a mount namespace of the command's own and end with it. The environment is clean but for the names below.
set -eu

root=${ONCEWIRE_SWIFT_ROOT:-/var/lib/oncewire/swift-trixie}
checkout=$(cd "$(dirname "$0")/../.." && pwd -P)
extra=${ONCEWIRE_SWIFT_BIND:-}
[ -x "$root/usr/bin/swiftc" ] || { echo "in-toolchain: no Swift in $root: run toolchain.sh" >&2; exit 1; }

# shellcheck disable=SC2016 # expanded by the inner shell
exec unshare --mount --propagation private sh -c '
    set -eu
    root=$1 checkout=$2 extra=$3 folder=$4
    shift 4
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
    for shown in "$checkout" "$extra"; do
        [ -n "$shown" ] || continue
        mkdir -p "$root$shown"
        mount --bind "$shown" "$root$shown"
    done
    exec chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb \
        PKG_CONFIG_PATH="${PKG_CONFIG_PATH:-}" ONCEWIRE_FAULT_SERVER="${ONCEWIRE_FAULT_SERVER:-}" \
        ONCEWIRE_TWIN="${ONCEWIRE_TWIN:-}" \
        MCP_CONFORMANCE_SCENARIO="${MCP_CONFORMANCE_SCENARIO:-}" \
        MCP_CONFORMANCE_PROTOCOL_VERSION="${MCP_CONFORMANCE_PROTOCOL_VERSION:-}" \
        MCP_CONFORMANCE_CONTEXT="${MCP_CONFORMANCE_CONTEXT:-}" \
        sh -c "cd \"\$1\" && shift && exec \"\$@\"" sh "$folder" "$@"
' sh "$root" "$checkout" "$extra" "$(pwd -P)" "$@"
