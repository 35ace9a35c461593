#!/bin/sh
# SPDX-License-Identifier: MIT
# matrix.sh BUILD_FOLDER VERSION...: tests the kernel meter under each of these Debian kernels, in virtual machines.
#
#   vm-get VERSION --> vm-run VERSION guest.sh --> BUILD_FOLDER/kernels/VERSION/  tap, check.json, results.json, version, console
#                                                  BUILD_FOLDER/kernels/meson-logs/testlog.json, for test_summary
#                                                  BUILD_FOLDER/kernels.md        the table
#
# Each machine has a time limit of KERNEL_SECONDS. Prints the TAP of each, and the table.
set -eu
build=$(realpath "$1")
shift
here=$(realpath "$(dirname "$0")")
vm=$here/../../scripts/vm
work=$build/kernels
: "${KERNEL_SECONDS:=900}"
mkdir -p "$work/meson-logs"
: > "$work/meson-logs/testlog.json"
log=$work/log

# debian_name RELEASE: the Debian release with this kernel.
debian_name() {
    case $1 in
    6.1.*) echo "Debian 12" ;;
    6.12.*+deb13*) echo "Debian 13" ;;
    *+deb13*) echo "Debian 13 backports" ;;
    *+deb12*) echo "Debian 12 backports" ;;
    *) echo Debian ;;
    esac
}

# row FOLDER: the table row for the results that a guest left there; any of them may be missing.
row() {
    release=$(cat "$1/release")
    jq -r -n --arg kernel "$(cat "$1/version")" --arg debian "$(debian_name "$release")" \
        --slurpfile check "$1/check.json" --slurpfile results "$1/results.json" '
        ($check[0] // {checks: [], lost_flags: []}) as $check
        | [$check.checks[] | select(.group == "Hooks" and .name != "the whole meter")] as $hooks
        | def verdict($path):
            [$results[] | select(.paths | index($path))] as $of
            | if $of == [] then "-"
              elif all($of[]; .equal) then "exact"
              elif all($of[]; .equal or .skipped > 0) then "lacks some"
              else "WRONG" end;
        def number($key):
            [$results[][$key]] | if . == [] then "-" else add // "?" end;
        [$kernel, $debian, "\([$hooks[] | select(.state == "ok")] | length)/\($hooks | length)",
         verdict("tcp"), verdict("udp"), verdict("unix"), verdict("pipe"), verdict("acquire"),
         ($check.lost_flags | if . == [] then (if $hooks == [] then "?" else "none" end)
             elif length > 2 then "\(length) flags" else join(", ") end),
         number("lost"), number("skipped")]
        | "| \(map(tostring) | join(" | ")) |"'
}

# try VERSION: runs the guest, adds its log and its row.
try() {
    folder=$work/$1
    rm -rf "$folder"
    mkdir -p "$folder"
    touch "$folder/tap" "$folder/errors" "$folder/check.json" "$folder/results.json"
    echo "$1" | tee "$folder/release" > "$folder/version"
    status=0
    echo "# kernel $1"
    if "$vm/vm-get" "$1" > "$log" 2> "$folder/errors"; then
        cp "${VM_DIR:-/var/tmp/vm-kernels}/$1/release" "$folder/release"
        VM_SHARE=$folder "$vm/vm-run" -t "$KERNEL_SECONDS" "$1" sh "$here/guest.sh" "$build" \
            > "$folder/tap" 2> "$folder/errors" || status=$?
    else
        status=125
    fi
    cat "$folder/tap" "$folder/errors"
    # A test exits with 1 if it has reported which cases failed.
    case $status in 0) result=OK ;; 1) result=FAIL ;; *) result=ERROR ;; esac
    jq -n -c --arg name "$1" --arg result $result --argjson status $status --rawfile stdout "$folder/tap" \
        --rawfile stderr "$folder/errors" \
        '{name: $name, result: $result, returncode: $status, stdout: $stdout, stderr: $stderr}' \
        >> "$work/meson-logs/testlog.json"
    row "$folder" >> "$work/rows"
}

: > "$work/rows"
for version; do
    try "$version"
done
{
    echo "| Linux | from | programs | TCP | UDP | UNIX | pipes | acquire | flags lacking | lost | skipped |"
    echo "|---|---|---|---|---|---|---|---|---|---|---|"
    cat "$work/rows"
} > "$build/kernels.md"
cat "$build/kernels.md"
