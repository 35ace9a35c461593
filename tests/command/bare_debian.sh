# SPDX-License-Identifier: MIT
# shellcheck shell=sh disable=SC2154,SC2034 # read after tap.sh, which sets $scratch
# bare_debian.sh: what tests need that make a bare Debian 12 or 13.
#
#   reason=$(why_not_bare 2)   why there can be none with 2 GiB in memory; nothing if there can
#   $mirror                    from where mmdebstrap gets it

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
} 2> "$scratch/sources.err" | head -n 1)

# why_not_bare GIB
why_not_bare() {
    [ "$(id -u)" = 0 ] || { echo "this needs root" && return; }
    command -v mmdebstrap > /dev/null || { echo "mmdebstrap is not installed" && return; }
    grep -q '^VERSION_CODENAME=bookworm' /etc/os-release || { echo "this is no Debian 12" && return; }
    [ -n "$mirror" ] || { echo "no mirror of Debian is known" && return; }
    awk -v need="$1" '/^MemAvailable:/ { exit $2 < need * 1024 * 1024 }' /proc/meminfo ||
        { echo "less than $1 GiB of memory is free" && return; }
    unshare --mount true 2> "$scratch/unshare.err" || { cat "$scratch/unshare.err" && return; }
}
