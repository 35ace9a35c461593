#!/bin/sh
# SPDX-License-Identifier: MIT
# package_test.sh BUILD_FOLDER: the contents of the Debian package are right and work where it is unpacked; its
# dependencies are what the program needs, and Ubuntu 24.04 has them; apt installs the same package on bare Debian 12 and 13,
# where it meters one command, and a session of two hosts once the packages for that are there.
source=$(cd "$(dirname "$0")/../.." && pwd)
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/bare_debian.sh"
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
    (cd "$source/man" && ls ./*.[1578]) | sed 's|^\./\(.*\.\(.\)\)$|share/man/man\2/\1.gz|'
    echo sbin/dpmd
    echo lib/systemd/system/dpm-agent.service
    echo lib/systemd/system/dpmd.service
    echo lib/systemd/system/dpmd.socket
    echo share/bash-completion/completions/dpm
    echo share/zsh/vendor-completions/_dpm
    echo share/doc/dpm/changelog.gz
    echo share/doc/dpm/copyright
} | LC_ALL=C sort)" "$(cd unpacked/usr && find . -type f | sed 's|^\./||' | LC_ALL=C sort)"
for page in "$source"/man/*.[1578]; do
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
check_equal 'what it needs for several machines, and for metrics, is recommended' \
    'libnats3.10 | libnats3.4 | libnats3.12 | libnats3.7t64, libmicrohttpd12t64 | libmicrohttpd12, nats-server, openssh-client' \
    "$(field Recommends)"
check_not '... each from some version on' sh -c \
    "dpkg-deb -f '$package' Depends | tr ',' '\n' | grep -v '(>= [0-9]'"

# Ubuntu 24.04 cannot be tried here, but its packages' names and versions can: apt has to find all that the package depends
# on among these, which provide no other name.
for installed_there in libbpf1=1:1.3.0 libc6=2.39 libdw1t64=0.190 libedit2=3.1-20230828 libelf1t64=0.190 libjansson4=2.14 \
    libncursesw6=6.4+20240113 libtinfo6=6.4+20240113 libseccomp2=2.5.5 libsmartcols1=2.39.3 libsqlite3-0=3.45.1 libxxhash0=0.8.2; do
    printf 'Package: %s\nVersion: %s\nStatus: install ok installed\nArchitecture: %s\nMaintainer: -\nDescription: -\n\n' \
        "${installed_there%%=*}" "${installed_there#*=}" "$(dpkg --print-architecture)"
done > ubuntu
check "Ubuntu 24.04's libraries are all that it depends on" apt-get --simulate --no-install-recommends \
    -o Dir::State::status="$scratch/ubuntu" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts=/dev/null \
    -o Dir::State::Lists="$scratch/DEBIAN" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= install "$package"

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
    check '... and reports it' grep -q '^true\[' err
else
    skip 'dpm run meters a command' "$(tail -n 1 out)"
fi

# ---- in a bare Debian ----

# Each Debian is made in memory, in a namespace of mounts that ends with the shell that made it. These scripts run in a
# separate folder, bare-12 or bare-13, which is /mnt in that Debian; they write there all that the checks below use.
#
#   bare.sh SUITE MIRROR   makes it with mmdebstrap, then runs inside.sh in it
#   inside.sh LIBNATS      installs the package and uses it; then those for several machines, the library last, and two hosts
cat > bare.sh << 'END'
set -eu
mkdir debian
mount -t tmpfs -o size=2G tmpfs debian
LC_ALL=C mmdebstrap --variant=apt --skip=cleanup/apt/lists "$1" debian/root "$2" 2> made.err
echo made > made
mount --bind debian/root debian/root # a root that unshare(1) can make private
for folder in proc sys dev; do
    mount --rbind /$folder debian/root/$folder
done
mount --bind . debian/root/mnt
exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} chroot debian/root sh /mnt/inside.sh "$3"
END
cat > inside.sh << 'END'
cd /mnt
install() {
    apt-get -qq -y --no-install-recommends "$@"
}
compilers() {
    for program in cc gcc c99 clang tcc ld as bpftool make; do
        command -v $program
    done
}
two_hosts() {
    dpm run --rsh "ssh -F /srv/hosts/ssh_config" -o job --host web1,web2 -- hostname
}
compilers > compilers.before
install --download-only install ./package.deb > download.out 2>&1
echo $? > download.status
install install ./package.deb > install.out 2>&1
echo $? > install.status
dpkg-query -W -f '${Status} ${Version}' dpm > dpkg.out
compilers > compilers.after
command -v dpm > command
dpm --version > version
dpm --help > help
dpm check > check
echo $? > check.status
dpm run -o bare.trace -- ls / > ls.out 2> run.err
echo $? > run.status
dpm stats --json bare.trace > stats.json
echo $? > stats.status
dpm report bare.trace > report 2> report.err
echo $? > report.status
timeout 60 dpm live --port 0 bare.trace > live.without 2>&1
echo $? > live.without.status
install install libmicrohttpd12 > live.out 2>&1
timeout 120 dpm live --port 0 bare.trace > live.with 2>&1 &
live=$!
for _ in $(seq 500); do
    grep -q 'metrics of' live.with && break
    sleep 0.2
done
kill $live
wait $live

# scripts/hosts wants python3, ssh, sshd and mount(8)
install install nats-server openssh-client openssh-server libwrap0 iproute2 python3-minimal hostname mount > hosts.out 2>&1
[ -e /etc/machine-id ] || echo 0123456789abcdef0123456789abcdef > /etc/machine-id # as systemd would
[ -e /etc/hosts ] || echo '127.0.0.1 localhost' > /etc/hosts
sh hosts up --owner $$ /srv/hosts web1 web2 >> hosts.out 2>&1
two_hosts > without.out 2> without.err
echo $? > without.status
install install "$1" >> hosts.out 2>&1
two_hosts > with.out 2> with.err
echo $? > with.status
dpm stats --json job > job.json
sh hosts down /srv/hosts >> hosts.out 2>&1
END

# Prints why the packages that ours depends on could not be downloaded to FOLDER; nothing if they could.
why_not_downloaded() {
    [ -e "$1/download.status" ] || { echo "downloading takes too long" && return; }
    [ "$(cat "$1/download.status")" = 0 ] || grep '^E: \(Failed\|Unable\) to fetch' "$1/download.out" | head -n 1
}

# works_in FOLDER: the program did the same in that Debian as here.
works_in() {
    check_equal 'dpm --version' "/usr/bin/dpm dpm $version" "$(cat "$1/command") $(cat "$1/version")"
    check '... and --help' sh -c "'$dpm' --help | cmp - '$1/help'"
    check_equal 'dpm check says what it says here' "$expected $(tail -n 1 expected)" \
        "$(cat "$1/check.status") $(tail -n 1 "$1/check")"
    if [ $found = 0 ] || [ $found = 3 ]; then
        check_equal 'dpm run meters a command' 0 "$(cat "$1/run.status")"
        check '... which does what it does without' grep -qx mnt "$1/ls.out"
        check '... and reports it' grep -q '^ls\[' "$1/run.err"
        check_equal 'dpm stats reads the trace' 0 "$(cat "$1/stats.status")"
        check_equal '... of that command' '[true]' "$(jq -c '[.processes[].name == "ls"]' "$1/stats.json")"
        check '... as the built program does' sh -c "'$dpm' stats --json '$1/bare.trace' | cmp - '$1/stats.json'"
        check_equal '... and so does dpm report' 0 "$(cat "$1/report.status" "$1/report.err")"
        check_equal 'dpm live needs a library' 1 "$(cat "$1/live.without.status")"
        check '... and names its package' grep -q '^dpm: .* apt-get install libmicrohttpd12 ' "$1/live.without"
        check '... with which it serves' grep -q '^dpm: metrics of bare.trace: http://127.0.0.1:' "$1/live.with"
    else
        skip 'dpm run meters a command' "$(tail -n 1 out)"
    fi
}

# meters_hosts FOLDER LIBNATS: a session of two hosts, without libnats and with it.
meters_hosts() {
    [ $found = 0 ] || { skip 'a session of two hosts' "$(tail -n 1 out)" && return; }
    check 'the packages for several machines are installed, and two hosts come up' grep -q '^ssh -F' "$1/hosts.out"
    check_equal 'without libnats a session does not begin' 1 "$(cat "$1/without.status")"
    check_equal '... and one line names the package' "dpm: commands for several machines need the library libnats, which \
is not installed: apt-get install $2" "$(cat "$1/without.out" "$1/without.err")"
    check_equal 'with it, it meters both hosts' 0 "$(cat "$1/with.status")"
    check_equal '... whose output comes' 'web1: web1 web2: web2' "$(LC_ALL=C sort "$1/with.out" | xargs)"
    check '... and loses nothing' grep -Eq '^dpm: [0-9]+ records of 2 hosts, 0 lost, in job$' "$1/with.err"
    check_equal '... and reports both' '["web1","web2"]' \
        "$(jq -c '[.processes[] | select(.name == "hostname").machine] | sort' "$1/job.json")"
    [ "$tap_failed" = 0 ] || tail -n 20 "$1/hosts.out" "$1/with.err" | sed 's/^/# /'
}

# in_bare NUMBER SUITE LIBNATS: makes that Debian, and looks at what the package did in it.
in_bare() {
    reason=$(why_not_bare 2)
    folder=bare-$1
    if [ -z "$reason" ]; then
        mkdir "$folder"
        cp "$package" "$folder/package.deb"
        cp bare.sh inside.sh "$source/scripts/hosts" "$folder"
        (cd "$folder" && timeout 1200 unshare --mount sh bare.sh "$2" "$mirror" "$3" > bare.out 2>&1)
        if [ -e "$folder/made" ]; then
            reason=$(why_not_downloaded "$folder")
        else
            reason="no $2 could be made of $mirror: $(grep '^E:' "$folder/made.err" | head -n 1)"
        fi
    fi
    if [ -n "$reason" ]; then
        skip "the package runs in a bare Debian $1" "$reason"
        return
    fi
    check_equal "a bare Debian $1 has nothing to compile or link with" '' "$(cat "$folder/compilers.before")"
    check_equal 'there apt installs the package' 0 "$(cat "$folder/install.status")"
    check_equal '... in whole' "install ok installed $version" "$(cat "$folder/dpkg.out")"
    check_equal '... and no compiler with it' '' "$(cat "$folder/compilers.after")"
    works_in "$folder"
    meters_hosts "$folder" "$3"
}

in_bare 12 bookworm libnats3.4
in_bare 13 trixie libnats3.10
finish
