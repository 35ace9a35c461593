#!/bin/sh
# SPDX-License-Identifier: MIT
# kernels_test.sh BUILD_FOLDER: Debian's oldest kernel, in a virtual machine, accepts all programs of the meter. With
# ./dev test --all two more kernels do, and under one of them the truth program's log and the trace are equal. (./dev
# test --kernels tests much more.)
. "$(dirname "$0")/tap.sh"
build=$1
vm=$(realpath "$(dirname "$0")/../../scripts/vm")
need_programs qemu-system-x86_64 cpio busybox
seed=${DPM_SEED:-$(($(date +%s) % 100000))}

# The guest's files: these programs and their libraries.
root=$scratch/root
mkdir -p "$root/bin"
for program in dpm tests/truth/truth-program tests/truth/truth-compare; do
    cp "$build/$program" "$root/bin"
    [ $program = tests/truth/truth-program ] || strip "$root/bin/${program##*/}"
    ldd "$build/$program"
done | grep -oE '/[^ ]+\.so[^ ]*' | sort -u | while read -r library; do
    mkdir -p "$root${library%/*}"
    cp -L "$library" "$root$library"
done

# What a guest runs: LOAD is enough to verify each program, since a recording of all flags and kinds with rules loads them
# all. Without rules, the verifier must see that what needs their map is never reached: it is one function, and BLOCK.
cat > "$root/load" << 'END'
echo 'type=exec; type=send, bytes>1, process=nobody;' > rules
dpm run --meter kernel --flags all -r rules -o selected -- cat rules > copy 2> said || {
    cat said
    dpm check | grep -E '^(missing|limited)'
    exit 1
}
! grep -E 'not metered|goes without' said || exit 1
grep -q 'rules: [1-9][0-9]* events\{0,1\} selected, [1-9][0-9]* not' said || {
    cat said
    exit 1
}
dpm run --meter kernel --kinds pipe --flags exec,block,termination -o trace -- true 2> said || {
    cat said
    exit 1
}
END
cat > "$root/truth" << 'END'
mkdir log
dpm run --meter kernel --flags all -o trace --wait --ring 64M -- \
    truth-program --seed $1 --only tcp4,udp4,stream-pair,seqpacket-pair,datagram-pair,pipe-packet --log log > said 2>&1 || {
    cat said
    exit 1
}
dpm dump --json --matched trace > dump.json
truth-compare --emulated dump.json log > compared || {
    grep difference compared | head -n 10
    tail -n 4 compared
    exit 1
}
grep -q ' 0 lost;' compared
END

# guest VERSION COMMAND: runs it there.
guest() {
    "$vm/vm-run" -c 1 -m 1024 -t 450 -r "$root" "$1-cloud" sh -c "$2"
}

# Debian's smaller build for clouds is the same kernel with fewer drivers.
missing=
versions=6.1
! long_ones || versions='6.1 6.12 6.18'
for version in $versions; do
    name="Linux $version takes the meter"
    [ -n "$missing" ] || "$vm/vm-get" "$version-cloud" > "$scratch/get" 2>&1 || missing=$(tail -n 1 "$scratch/get")
    if [ -n "$missing" ]; then
        skip "$name" "$missing"
    elif [ $version = 6.12 ]; then
        check "$name; a program's log and the trace are equal, seed $seed" guest $version "sh /truth $seed"
    else
        check "$name" guest $version "sh /load"
    fi
done
finish
