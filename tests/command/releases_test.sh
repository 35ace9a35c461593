#!/bin/sh
# SPDX-License-Identifier: MIT
# releases_test.sh BUILD_FOLDER: README's commands for developers work on a bare Debian 13, too: `./dev build` builds without
# a warning of its newer compilers, and `./dev test --short` passes. Only with ./dev test --all: it downloads a system and
# its compilers, and builds everything.
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/bare_debian.sh"
long_ones || skip_all "takes long: only with ./dev test --all"
reason=$(why_not_bare 1)
[ -z "$reason" ] || skip_all "$reason"
cd "$scratch" || exit 1
(cd "$source" && git ls-files -z) > tracked 2> git.err || skip_all "what belongs to the project is unknown: $(tail -n 1 git.err)"

# On disk, in a folder of its own: the mounts in it end with the shell that made them. Other users must reach the project.
cat > bare.sh << 'END'
set -eu
mkdir debian
LC_ALL=C mmdebstrap --variant=apt --skip=cleanup/apt/lists trixie debian "$1" 2> made.err
mkdir debian/srv/dpm
(cd "$2" && xargs -0 tar -c) < tracked | tar -x -C debian/srv/dpm
echo made > made
mount --bind debian debian # a root that ip(8) can make private
for folder in proc sys dev; do
    mount --rbind /$folder debian/$folder
done
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} \
    chroot debian sh -c 'cd /srv/dpm
        ./dev build > build.out 2>&1
        echo $? > build.status
        ./dev test --short > test.out 2>&1
        echo $? > test.status'
END
timeout 7000 unshare --mount sh bare.sh "$mirror" "$source" > bare.out 2>&1
there=debian/srv/dpm
[ -e made ] || skip_all "no trixie could be made of $mirror: $(grep '^E:' made.err | head -n 1)"
! grep '^E: \(Failed\|Unable\) to fetch' "$there/build.out" > fetch.err || skip_all "$(head -n 1 fetch.err)"
check_equal './dev build builds on Debian 13' 0 "$(cat "$there/build.status" 2>&1)"
check_equal '... without a warning' '' "$(grep -A 3 'warning:' "$there/build.out")"
check_equal './dev test --short passes there' 0 "$(cat "$there/test.status" 2>&1)"
check '... and has tried something' grep -Eq '^[0-9]{3,} passed, 0 failed' "$there/test.out"
[ "$tap_failed" = 0 ] || tail -n 60 "$there/build.out" "$there/test.out" | sed 's/^/# /'
finish
