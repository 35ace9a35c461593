#!/bin/sh
# SPDX-License-Identifier: MIT
# package_test.sh BUILD_FOLDER: the contents of the Debian package are right and work where it is unpacked; its
# dependencies are what the program needs; it runs when apt has installed it on a Debian 12 without a compiler, and with
# the libraries of Debian 13.
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/sample.sh"
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool > /dev/null || skip_all "$tool is not installed"
done

# ---- the package ----

# Optimizing takes most of the time, and changes nothing that is tested here.
long_ones || export DEB_BUILD_OPTIONS=noopt
check 'the package is made' "$source/scripts/package" "$build"
version=$("$dpm" --version | sed 's/^dpm //')
package=$build/dpm_${version}_$(dpkg --print-architecture).deb
cp "$package" first.deb
check 'made again' "$source/scripts/package" "$build"
check '... it has the same bytes' cmp first.deb "$package"
check 'it is unpacked' dpkg-deb -x "$package" unpacked
check '... and its description' dpkg-deb -e "$package" DEBIAN
installed=$scratch/unpacked/usr/bin/dpm
share=$scratch/unpacked/usr/share

field() {
    dpkg-deb -f "$package" "$1"
}

check_equal 'name and version' "dpm $version" "$(field Package) $(field Version)"
check_equal 'everything belongs to root' 'root/root' "$(dpkg-deb -c "$package" |
    awk '{ print $2 }' | sort -u)"
check 'the sums of the files are right' sh -c 'cd unpacked && md5sum --quiet -c ../DEBIAN/md5sums'

# ---- its contents ----

check_equal 'the files' "$({
    echo bin/dpm
    echo include/dpm/record.h
    echo include/dpm/stream.h
    (cd "$source/man" && ls ./*.[178]) | sed 's|^\./\(.*\.\(.\)\)$|share/man/man\2/\1.gz|'
    echo sbin/dpmd
    echo lib/systemd/system/dpmd.service
    echo lib/systemd/system/dpmd.socket
    echo share/bash-completion/completions/dpm
    echo share/zsh/vendor-completions/_dpm
    echo share/doc/dpm/changelog.gz
    echo share/doc/dpm/copyright
} | LC_ALL=C sort)" "$(cd unpacked/usr && find . -type f | sed 's|^\./||' | LC_ALL=C sort)"
for page in "$source"/man/*.[178]; do
    check "$(basename "$page") is in it" sh -c "zcat '$share/man/man${page##*.}/$(basename "$page").gz' |
        cmp - '$page'"
done
check 'the licence' sh -c "head -n $(wc -l < "$source/LICENSE") '$share/doc/dpm/copyright' |
    cmp - '$source/LICENSE'"
check "the first line of Debian's changelog" sh -c "zcat '$share/doc/dpm/changelog.gz' |
    head -n 1 | grep -qxF 'dpm ($version) unstable; urgency=medium'"
"$dpm" completion bash > completion.bash
"$dpm" completion zsh > completion.zsh
check 'completion for bash' cmp completion.bash "$share/bash-completion/completions/dpm"
check 'completion for zsh' cmp completion.zsh "$share/zsh/vendor-completions/_dpm"
check_not 'nothing knows where it was built' grep -rqF "$source" unpacked DEBIAN

# ---- its dependencies ----

# The packages with the libraries that the program names.
folder=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
check_equal 'it depends on the packages of its libraries, and no other' "$(
    objdump -p "$installed" "$scratch/unpacked/usr/sbin/dpmd" | sed -n 's/^ *NEEDED *//p' | while read -r library; do
        dpkg -S "*/$folder/$library" | sed 's/:.*//'
    done | sort -u)" "$(field Depends | tr ',' '\n' | sed 's/^ *\([^ ]*\).*/\1/' | sort -u)"
check_equal 'what it starts for several machines is recommended' 'nats-server, openssh-client' "$(field Recommends)"
check_not '... each from some version on' sh -c \
    "dpkg-deb -f '$package' Depends | tr ',' '\n' | grep -v '(>= [0-9]'"

# ---- it works ----

check_equal 'dpm --version' "dpm $version" "$("$installed" --version)"
check_equal 'dpmd --version' "dpmd $version" "$("$scratch/unpacked/usr/sbin/dpmd" --version)"
check 'systemd starts this dpmd' grep -qx 'ExecStart=/usr/sbin/dpmd' "$scratch/unpacked/usr/lib/systemd/system/dpmd.service"
for trace in alpha crowd; do
    "$dpm" stats --json $trace > expected 2> err
    check "dpm stats reads a trace" sh -c "'$installed' stats --json $trace | cmp - expected"
done
"$dpm" check > expected
expected=$?
"$installed" check > out
found=$?
check_equal 'dpm check says what the built program says' "$expected $(tail -n 1 expected)" \
    "$found $(tail -n 1 out)"
if [ $found = 0 ] || [ $found = 3 ]; then
    runs 'dpm run meters a command' "$installed" run -o true.trace -- true
    check '... and reports it' grep -q '^true ' err
else
    skip 'dpm run meters a command' "$(tail -n 1 out)"
fi

# ---- in a bare Debian ----

# It takes a minute; a broken dependency is found above.
long_ones || finish

# Each Debian is made in memory, in a namespace of mounts that ends with the shell that made it. These scripts run in a
# separate folder, bare-12 or bare-13, which is /mnt in that Debian; they write there all that the checks below use.
#
#   bare.sh SUITE MIRROR OPTION...   makes it with mmdebstrap, then runs inside.sh in it
#   inside.sh                        installs the package if apt is there, and uses it
cat > bare.sh << 'END'
set -eu
suite=$1
mirror=$2
shift 2
mkdir debian
mount -t tmpfs -o size=1G tmpfs debian
LC_ALL=C mmdebstrap "$@" "$suite" debian/root "$mirror" 2> made.err
echo made > made
cd debian/root
# Packages that are only extracted do not create these.
[ -e lib64 ] || ln -s usr/lib64 lib64
mkdir -p proc sys dev mnt var/tmp
cd ../..
for folder in proc sys dev; do
    mount --rbind /$folder debian/root/$folder
done
mount --bind . debian/root/mnt
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} chroot debian/root sh /mnt/inside.sh
END
cat > inside.sh << 'END'
cd /mnt
compilers() {
    for program in cc gcc c99 clang tcc ld as bpftool make; do
        command -v $program
    done
}
compilers > compilers.before
if command -v apt-get > /dev/null; then
    apt-get -qq -y --no-install-recommends --download-only install ./package.deb > download.out 2>&1
    echo $? > download.status
    apt-get -qq -y --no-install-recommends install ./package.deb > install.out 2>&1
    echo $? > install.status
    dpkg-query -W -f '${Status} ${Version}' dpm > dpkg.out
fi
compilers > compilers.after
command -v dpm > command
dpm --version > version
dpm --help > help
dpm check > check
echo $? > check.status
dpm run -o bare.trace -- sh -c 'exit 0' 2> run.err
echo $? > run.status
dpm stats --json bare.trace > stats.json
echo $? > stats.status
dpm report bare.trace > report 2> report.err
echo $? > report.status
END

# The mirror from which this machine gets bookworm's main packages: sources are in paragraphs, or in lines.
mirror=$({ for file in /etc/apt/sources.list.d/*.sources; do cat "$file" && echo; done | awk -v RS= '{
        split("", value)
        count = split($0, lines, "\n")
        for (i = 1; i <= count; i++)
            if ((at = index(lines[i], ":")) > 1)
                value[substr(lines[i], 1, at - 1)] = " " substr(lines[i], at + 1) " "
        if (value["Types"] ~ / deb / && value["Suites"] ~ / bookworm / && value["Components"] ~ / main / &&
            value["Enabled"] !~ / no / && split(value["URIs"], uris, " ") > 0)
            print uris[1]
    }'
    cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list | awk '
        sub(/^deb[ \t]+(\[[^]]*\][ \t]+)?/, "") && $2 == "bookworm" && / main( |$)/ { print $1 }'
} 2> sources.err | head -n 1)

# Prints why there can be no bare Debian; nothing if there can.
why_not_bare() {
    [ "$(id -u)" = 0 ] || { echo "this needs root" && return; }
    command -v mmdebstrap > /dev/null || { echo "mmdebstrap is not installed" && return; }
    grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || { echo "this is no Debian 12" && return; }
    [ -n "$mirror" ] || { echo "no mirror of Debian is known" && return; }
    awk '/^MemAvailable:/ { exit $2 < 1024 * 1024 }' /proc/meminfo || { echo "less than 1 GiB of memory is free" && return; }
    unshare --mount true 2> unshare.err || { cat unshare.err && return; }
}

# Prints why the packages that ours depends on could not be downloaded; nothing if they could.
why_not_downloaded() {
    [ -e bare-12/compilers.before ] || return
    [ -e bare-12/download.status ] || { echo "downloading takes more than 200 s" && return; }
    [ "$(cat bare-12/download.status)" = 0 ] || grep '^E: \(Failed\|Unable\) to fetch' bare-12/download.out | head -n 1
}

# make_bare NUMBER SUITE OPTION...: makes that Debian and uses the package in it. If that fails, $reason says why.
make_bare() {
    folder=bare-$1
    suite=$2
    shift 2
    mkdir "$folder"
    cp "$package" "$folder/package.deb"
    cp bare.sh inside.sh "$folder"
    (cd "$folder" && timeout 200 unshare --mount sh bare.sh "$suite" "$mirror" "$@" > bare.out 2>&1)
    [ -e "$folder/made" ] || reason="no $suite could be made of $mirror: $(grep '^E:' "$folder/made.err" | head -n 1)"
}

# works_in FOLDER: the program did the same in that Debian as here.
works_in() {
    check_equal 'dpm --version' "/usr/bin/dpm dpm $version" "$(cat "$1/command") $(cat "$1/version")"
    check '... and --help' sh -c "'$dpm' --help | cmp - '$1/help'"
    check_equal 'dpm check says what it says here' "$expected $(tail -n 1 expected)" \
        "$(cat "$1/check.status") $(tail -n 1 "$1/check")"
    if [ $found = 0 ] || [ $found = 3 ]; then
        check_equal 'dpm run meters a command' 0 "$(cat "$1/run.status")"
        check '... and reports it' grep -q '^sh ' "$1/run.err"
        check_equal 'dpm stats reads the trace' 0 "$(cat "$1/stats.status")"
        check_equal '... of that command' '[true]' "$(jq -c '[.processes[].name == "sh"]' "$1/stats.json")"
        check '... as the built program does' sh -c "'$dpm' stats --json '$1/bare.trace' | cmp - '$1/stats.json'"
        check_equal '... and so does dpm report' 0 "$(cat "$1/report.status" "$1/report.err")"
    else
        skip 'dpm run meters a command' "$(tail -n 1 out)"
    fi
}

# Debian 12 with apt: apt installs the package.
reason=$(why_not_bare)
here=$reason
if [ -z "$reason" ]; then
    make_bare 12 bookworm --variant=apt --skip=cleanup/apt/lists
    [ -n "$reason" ] || reason=$(why_not_downloaded)
fi
if [ -n "$reason" ]; then
    skip 'the package runs in a bare Debian 12' "$reason"
else
    check_equal 'a bare Debian 12 has nothing to compile or link with' '' "$(cat bare-12/compilers.before)"
    check_equal 'there apt installs the package' 0 "$(cat bare-12/install.status)"
    check_equal '... in whole' "install ok installed $version" "$(cat bare-12/dpkg.out)"
    check_equal '... and no compiler with it' '' "$(cat bare-12/compilers.after)"
    works_in bare-12
fi

# Debian 13, where some packages that ours depends on have different names, and libraries are newer: apt finds the
# packages it needs among those of Debian 13, and these are extracted, with a shell. This takes a fifth of the time of
# an installation. Only libnats3.4 comes from Debian 12: Debian 13 has libnats3.10, which is not compatible.
reason=$here
[ -n "$reason" ] || apt-get -qq download libnats3.4 2> nats.err || reason="libnats3.4: $(tail -n 1 nats.err)"
[ -n "$reason" ] || make_bare 13 trixie --variant=extract --skip=cleanup \
    --include="dash,$(echo "$scratch"/libnats3.4_*.deb),$scratch/bare-13/package.deb" \
    --hook-dir=/usr/share/mmdebstrap/hooks/file-mirror-automount
unmet=$(grep -A 4 'unmet dependencies' bare-13/made.err 2> unmet.err)
if [ -n "$reason" ] && [ -z "$unmet" ]; then
    skip 'the package runs in a bare Debian 13' "$reason"
    finish
fi
check_equal "Debian 13, with Debian 12's libnats3.4, has all that the package depends on" '' "$unmet"
[ -n "$unmet" ] || works_in bare-13
finish
