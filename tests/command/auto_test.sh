#!/bin/sh
# SPDX-License-Identifier: MIT
# auto_test.sh BUILD_FOLDER: which meter `dpm run` takes by default: as the user who runs the tests, and as a user
# without capabilities, BPF and /sys. For the latter, a pipeline, make and the travelling salesman are metered with
# ptrace, and every byte is matched.
. "$(dirname "$0")/tap.sh"
long_ones || skip_all "takes long, and seldom finds a fault: only with ./dev test --all"
. "$(dirname "$0")/meter.sh"
build=$1
cd "$scratch" || exit 1
# a traced process cannot trace itself, as the leak sanitizer does
export ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0"

# The user `nobody` may have no access to the build folder.
chmod 755 .
mkdir tsp work
cp "$dpm" "$build/tests/programs/forbid" .
cp "$build/examples/tsp/tsp" "$build/examples/tsp/tsp-server" tsp
chmod 777 work
dpm=$scratch/dpm
cd work || exit 1

# poorly COMMAND...: runs it without capabilities, BPF and /sys. (A user other than root has neither of the first two.)
if [ "$(id -u)" = 0 ] && unshare -m sh -c 'umount -l -R /sys' 2> err; then
    poorly() {
        # shellcheck disable=SC2016 # $@ is that of the inner shell
        unshare -m sh -c 'umount -l -R /sys; exec "$@"' sh setpriv --reuid 65534 --regid 65534 --clear-groups \
            --inh-caps=-all --bounding-set=-all --no-new-privs "$@"
    }
    rm -f err
elif [ "$(id -u)" = 0 ]; then
    skip_all "cannot be without privilege: $(cat err)"
else
    poorly() {
        "$@"
    }
fi

# meter_of TRACE: the meter in its MACHINE record.
meter_of() {
    "$dpm" dump --json --type machine "$1" 2> dump.err | jq .meter
}

# taken TRACE: the same in one word.
taken() {
    case $(meter_of "$1") in
    0) echo kernel ;;
    1) echo ptrace ;;
    *) echo none ;;
    esac
}

# announced: the meter that dpm names in the file err.
announced() {
    grep -c '^dpm: metering with ptrace' err
}

# ---- as any user ----

kernel=no
"$dpm" run --meter kernel -o kernel.trace -- true > out 2> err && kernel=yes
"$dpm" check --json > check.json 2> err
"$dpm" run -o auto.trace -- true > out 2> err
if [ $kernel = yes ]; then
    check_equal "where the kernel meter works it is taken" "kernel 0" "$(taken auto.trace) $(announced)"
    check_equal "... as dpm check says" '"kernel"' "$(jq -c .run_meter check.json)"
    "$dpm" run --meter ptrace -o asked.trace -- sh -c 'echo hello' > out 2> err
    check_equal "ptrace that is asked for is taken, without a word why" "ptrace 0" "$(taken asked.trace) $(announced)"
    "$scratch/forbid" kill "$dpm" run -o forbidden.trace -- true > out 2> err
    check_equal "if a call of bpf() kills the caller, dpm uses ptrace" "0 ptrace 1" \
        "$? $(taken forbidden.trace) $(announced)"
    check "... and why" grep -q 'missing: bpf()' err
else
    skip "where the kernel meter works it is taken" "it does not work here: $(head -n 1 err)"
fi
if [ $kernel = yes ] && setpriv --bounding-set=-net_admin --inh-caps=-net_admin true 2> err; then
    setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$dpm" run --kinds udp -o udp.trace -- true > out 2> err
    check_equal "where the kernel meter lacks all that is asked for, ptrace is taken" "0 ptrace 1" \
        "$? $(taken udp.trace) $(announced)"
    setpriv --bounding-set=-net_admin --inh-caps=-net_admin "$dpm" run -o most.trace -- true > out 2> err
    check_equal "where it lacks some of it, it is taken" "0 kernel 0" "$? $(taken most.trace) $(announced)"
    check "... and the other is pointed to" grep -q '^dpm: --meter ptrace meters it, too' err
else
    skip "a kernel meter without UDP" "the kernel meter does not work here, or privilege cannot be lost"
fi

# ---- as a user without privilege ----

if ! poorly "$dpm" run --meter ptrace -o try.trace -- true > out 2> err; then
    skip "without privilege" "ptrace does not work here: $(cat err)"
    finish
fi
poorly "$dpm" run -o poor.trace -- sh -c 'cat < /proc/self/status; exit 7' > out 2> err
check_equal "without privilege ptrace is taken, and the program's status is dpm's" "7 ptrace" "$? $(taken poor.trace)"
check "... which has no capability" grep -qE '^CapEff:[[:blank:]]*0*$' out
check_equal "... in one line: which, why, and what it costs" 1 "$(grep -cE '^dpm: metering with ptrace because the kernel meter does not work here \(missing: .*CAP_BPF.*\); each call .* takes about [0-9]+ us longer$' err)"
check_equal "... and before the program runs: it dies with dpm" 1 \
    "$(grep -c '^dpm: if dpm is killed, sh and its descendants are killed, too; --survive' err)"
poorly "$dpm" run -o quiet.trace --report report.txt -- sh -c 'cat report.txt >&2' > out 2> early
check_equal "... with --report in the file" "" "$(grep -v '^dpm: ' early)"
check "... which has it before the program runs" grep -q '^dpm: if dpm is killed' report.txt
poorly "$dpm" run --survive -o survive.trace -- true > out 2> err
check_equal "with --survive it does not die, and nothing is said of it" "0 ptrace 0" \
    "$? $(taken survive.trace) $(grep -c 'is killed' err)"
poorly "$dpm" run --meter kernel -o refused.trace -- touch ran > out 2> err
check_equal "the kernel meter, asked for, is refused" "1 no trace, not run" \
    "$? $([ -e refused.trace ] || echo no trace), $([ -e ran ] || echo not run)"
check_not "... and nothing else is taken" grep -q ptrace err
poorly "$dpm" check --json > check.json 2> err
check_equal "dpm check says so: exit status 3" '3 [false,true,"ptrace"]' \
    "$? $(jq -c '[.works, .ptrace_works, .run_meter]' check.json)"
check "... in its last line, too" sh -c "jq -r .summary check.json |
    grep -q '^dpm run works here with the ptrace meter (slower); dpm acquire does not work: .*; missing: .*CAP_BPF'"
poorly "$dpm" run --flags messagequeued -o queued.trace -- touch ran > out 2> err
check_equal "what ptrace cannot know, alone, is refused" "1 no trace, not run" \
    "$? $([ -e queued.trace ] || echo no trace), $([ -e ran ] || echo not run)"
check "... with both reasons" grep -q 'cannot record MESSAGEQUEUED and WAKEUP, .*; the kernel meter does not work here either (missing: ' err
check_equal "... each once" 1 "$(grep -c 'kernel meter does not work' err)"
check_equal "... and with others the trace does not say that it was metered" 0 "$("$dpm" dump --json --type machine poor.trace |
    jq '.meter_flags / 32 | floor % 2')"
poorly "$dpm" run --meter nothing -- true > out 2> err
check_equal "a meter that there is not is wrong usage" 2 $?
check "... and says which there are" grep -q "choose one of auto, kernel, ptrace" err

# Neither of the two meters.
if poorly "$scratch/forbid" error:ptrace true 2> forbid.err || [ "$(id -u)" = 0 ]; then
    # with privilege a filter needs no permission
    "$scratch/forbid" error:ptrace "$scratch/forbid" error "$dpm" run -o none.trace -- touch ran > out 2> err
    check_equal "where no meter works, nothing is run" "1 no trace, not run" \
        "$? $([ -e none.trace ] || echo no trace), $([ -e ran ] || echo not run)"
    check_equal "... and gives the reason for both, once" "1 1" \
        "$(grep -cE '^dpm: cannot trace process [0-9]+: .*; the kernel meter does not work here either \(missing: .*(bpf\(\)|CAP_BPF)' err) $(grep -c 'kernel meter does not work' err)"
    "$scratch/forbid" error:ptrace "$scratch/forbid" error "$dpm" check --json > check.json 2> err
    check_equal "... as dpm check says" '1 [false,false,null]' \
        "$? $(jq -c '[.works, .ptrace_works, .run_meter]' check.json)"
    check "... naming both" sh -c "jq -r .summary check.json |
        grep -qE '^dpm run and dpm acquire do not work here; missing: .*(bpf\(\)|CAP_PERFMON), ptrace\(\)\$'"
    for call in ptrace seccomp process_vm_readv; do
        for how in error kill; do
            "$scratch/forbid" $how:$call "$dpm" check --json > check.json 2> err
            check_equal "$call() that gives $how is found" 'false ["'"$call"'()"]' "$(jq -c -r '"\(.ptrace_works) \([.checks[] |
                select(.group == "Ptrace meter" and .state == "missing") | .name])"' check.json)"
        done
    done
    "$scratch/forbid" error:pidfd_getfd "$dpm" check --json > check.json 2> err
    check_equal "without pidfd_getfd() it works, within limits" 'true limited' "$(jq -r '"\(.ptrace_works) \(.checks[] |
        select(.name == "pidfd_getfd()").state)"' check.json)"
else
    skip "where no meter works" "a filter of system calls needs privilege, or no_new_privs: $(cat forbid.err)"
fi

# ---- real programs, without privilege ----

# matched TRACE: nothing was lost, and every byte is matched.
matched() {
    "$dpm" stats --json "$1" 2> stats.err | jq -e '.trace | .lost == 0 and .matching.exact > 0 and
        (.matching | .unmatched_sends == 0 and .unmatched_receives == 0)'
}

poorly "$dpm" run -o pipeline.trace -- sh -c 'head -c 3000000 /dev/urandom | gzip -1 | wc -c' > size 2> err
check_equal "a pipeline" "0 ptrace" "$? $(taken pipeline.trace)"
check "... every byte is matched" matched pipeline.trace
check_equal "... wc read what it says" "$(cat size)" "$("$dpm" stats --json pipeline.trace 2> err |
    jq '[.processes[] | select(.name == "wc").received.bytes] | add')"
poorly "$dpm" run -o tsp.trace -- "$scratch/tsp/tsp" --cities 12 --servers 3 > tour 2> err
check_equal "the travelling salesman" "0 ptrace" "$? $(taken tsp.trace)"
check_equal "... finds the same tour unmetered" \
    "$("$scratch/tsp/tsp" --cities 12 --servers 3 | grep ^tour)" "$(grep ^tour tour)"
check "... every byte is matched" matched tsp.trace
if command -v make > make.path && command -v gcc > gcc.path; then
    mkdir -p project
    printf 'all: a.o b.o c.o\n%%.o: %%.c\n\tgcc -pipe -O1 -c -o $@ $<\n' > project/Makefile
    for name in a b c; do
        echo "int $name(int x) { return x + 1; }" > project/$name.c
    done
    chmod 777 project
    poorly "$dpm" run -o make.trace -- make -s -j2 -C project > out 2> err
    check_equal "make -j2" "0 ptrace" "$? $(taken make.trace)"
    check "... every byte is matched" matched make.trace
else
    skip "make -j2" "make or gcc is not installed"
fi
finish
