#!/bin/sh
# SPDX-License-Identifier: MIT
# package_test.sh BUILD_FOLDER: the Debian package has what it should, and what is in it works where
# it is unpacked; what it depends on is what the program needs; and it runs where apt has installed it
# on a Debian that has no compiler.
source=$(cd "$(dirname "$0")/.." && pwd)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"
for tool in dpkg-deb dpkg-shlibdeps; do
    command -v $tool > /dev/null || skip_all "$tool is not installed"
done

# ---- the package ----

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

# ---- what is in it ----

check_equal 'the files' "$({
    echo bin/dpm
    (cd "$source/man" && ls ./*.1) | sed 's|^\./\(.*\)|share/man/man1/\1.gz|'
    echo share/bash-completion/completions/dpm
    echo share/zsh/vendor-completions/_dpm
    echo share/doc/dpm/changelog.gz
    echo share/doc/dpm/copyright
} | LC_ALL=C sort)" "$(cd unpacked/usr && find . -type f | sed 's|^\./||' | LC_ALL=C sort)"
for page in "$source"/man/*.1; do
    check "$(basename "$page") is in it" sh -c "zcat '$share/man/man1/$(basename "$page").gz' |
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

# ---- what it depends on ----

# The packages that have the libraries which the program names.
folder=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
check_equal 'it depends on the packages of its libraries, and no other' "$(
    objdump -p "$installed" | sed -n 's/^ *NEEDED *//p' | while read -r library; do
        dpkg -S "*/$folder/$library" | sed 's/:.*//'
    done | sort -u)" "$(field Depends | tr ',' '\n' | sed 's/^ *\([^ ]*\).*/\1/' | sort -u)"
check_not '... each from some version on' sh -c \
    "dpkg-deb -f '$package' Depends | tr ',' '\n' | grep -v '(>= [0-9]'"

# ---- it works ----

check_equal 'dpm --version' "dpm $version" "$("$installed" --version)"
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

# In the namespace of mounts that it is started in, which goes with it: makes a Debian that has apt and what
# apt needs, and nothing else, in memory; installs the package there and runs it. `here` is /mnt in there.
cat > bare.sh << 'END'
set -eu
mkdir debian
mount -t tmpfs -o size=1G tmpfs debian
mmdebstrap --quiet --variant=apt --skip=cleanup/apt/lists bookworm debian/root "$1" 2> made.err
echo made > made
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
apt-get -qq -y --no-install-recommends --download-only install ./package.deb > download.out 2>&1
echo $? > download.status
apt-get -qq -y --no-install-recommends install ./package.deb > install.out 2>&1
echo $? > install.status
compilers > compilers.after
dpkg-query -W -f '${Status} ${Version}' dpm > dpkg.out
cd /root # the trace is made in there, and taken out
command -v dpm > /mnt/command
dpm --version > /mnt/version
dpm check > /mnt/check
echo $? > /mnt/check.status
dpm run -o bare.trace -- true 2> /mnt/run.err
echo $? > /mnt/run.status
dpm stats --json bare.trace > /mnt/stats.json
echo $? > /mnt/stats.status
cp -r bare.trace /mnt
END

# The mirror that this machine has the packages of bookworm's main from: sources are told in paragraphs, or in lines.
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

# Says why there can be no bare Debian; nothing if there can.
why_not_bare() {
    [ "$(id -u)" = 0 ] || { echo "this needs root" && return; }
    command -v mmdebstrap > /dev/null || { echo "mmdebstrap is not installed" && return; }
    grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || { echo "this is no Debian 12" && return; }
    [ -n "$mirror" ] || { echo "no mirror of Debian is known" && return; }
    awk '/^MemAvailable:/ { exit $2 < 1024 * 1024 }' /proc/meminfo || { echo "less than 1 GiB of memory is free" && return; }
    unshare --mount true 2> unshare.err || { cat unshare.err && return; }
}

# Says why the packages that ours depends on could not be had, by no fault of it; nothing if they could.
why_not_downloaded() {
    [ -e bare/compilers.before ] || return
    [ -e bare/download.status ] || { echo "downloading takes more than 300 s" && return; }
    [ "$(cat bare/download.status)" = 0 ] || grep '^E: \(Failed\|Unable\) to fetch' bare/download.out | head -n 1
}

mkdir bare
cp "$package" bare/package.deb
cp bare.sh inside.sh bare
reason=$(why_not_bare)
if [ -z "$reason" ]; then
    (cd bare && timeout 300 unshare --mount sh bare.sh "$mirror" > bare.out 2>&1)
    reason=$(why_not_downloaded)
    [ -e bare/made ] || reason="no Debian could be made of $mirror: $(grep '^E:' bare/made.err | head -n 1)"
fi
if [ -n "$reason" ]; then
    skip 'the package runs in a bare Debian' "$reason"
    finish
fi
check_equal 'a bare Debian has nothing to compile or link with' '' "$(cat bare/compilers.before)"
check_equal 'there apt installs the package' 0 "$(cat bare/install.status)"
check_equal '... in whole' "install ok installed $version" "$(cat bare/dpkg.out)"
check_equal '... and no compiler with it' '' "$(cat bare/compilers.after)"
check_equal 'dpm --version' "/usr/bin/dpm dpm $version" "$(cat bare/command) $(cat bare/version)"
check_equal 'dpm check says what it says here' "$expected $(tail -n 1 expected)" \
    "$(cat bare/check.status) $(tail -n 1 bare/check)"
if [ $found = 0 ] || [ $found = 3 ]; then
    check_equal 'dpm run meters a command' 0 "$(cat bare/run.status)"
    check '... and reports it' grep -q '^true ' bare/run.err
    check_equal 'dpm stats reads the trace' 0 "$(cat bare/stats.status)"
    check_equal '... of that command' '[true]' "$(jq -c '[.processes[].name == "true"]' bare/stats.json)"
    check '... as the built program does' sh -c "'$dpm' stats --json bare/bare.trace | cmp - bare/stats.json"
else
    skip 'dpm run meters a command' "$(tail -n 1 out)"
fi
finish
