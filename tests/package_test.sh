#!/bin/sh
# SPDX-License-Identifier: MIT
# package_test.sh BUILD_FOLDER: the Debian package has what it should, and what is in it works where
# it is unpacked; what it depends on is what the program needs.
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
finish
