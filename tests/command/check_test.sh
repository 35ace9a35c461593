#!/bin/sh
# SPDX-License-Identifier: MIT
# check_test.sh BUILD_FOLDER: `dpm check` is right: its report is compared with the result of `dpm run` under the same
# privileges, and in deliberately restricted environments.
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/meter.sh"
build=$1
chmod 755 "$scratch"
cd "$scratch" || exit 1

# The user `nobody` may have no access to the build folder.
cp "$dpm" "$build/tests/programs/forbid" .
dpm=$scratch/dpm
mkdir recordings
chmod 777 recordings

# metering COMMAND...: whether dpm run, run through the command, uses the kernel meter: yes, or no and why.
metering() {
    rm -rf recordings/one
    if "$@" timeout 200 "$dpm" run --meter kernel -o recordings/one -- true > out 2> err &&
        "$dpm" dump --json recordings/one | grep -q TERMINATION; then
        echo yes
    elif grep -q '^dpm: .*the kernel' err; then
        echo no
    else
        echo "broken: $(cat err)"
    fi
}

# checked COMMAND...: what dpm check, run through the command, reports about the kernel meter: yes or no; its output is
# in the file check.json, and in check.txt unless `text` is no, where nothing reads it: each takes as long as several
# recordings.
text=yes
checked() {
    "$@" timeout 200 "$dpm" check --json > check.json 2> err
    status=$?
    if [ $text = yes ]; then
        "$@" timeout 200 "$dpm" check > check.txt 2>> err
        [ $? = "$status" ] || echo "another exit status than with --json;"
    fi
    [ ! -s err ] || echo "errors: $(cat err);"
    case "$status $(jq -r '"\(.works) \(.ptrace_works) \(.run_meter)"' check.json)" in
    "0 true "*" kernel" | "3 false true kernel") echo yes ;; # the latter where the kernel does not count waits for a CPU
    "3 false true ptrace" | "1 false false null") echo no ;;
    *) echo "the exit status is $status;" ;;
    esac
}

# state_of NAME, advice_of NAME: from the last check, for one item.
state_of() {
    jq -r --arg name "$1" '.checks[] | select(.name == $name) | .state' check.json
}

advice_of() {
    jq -r --arg name "$1" '.checks[] | select(.name == $name) | .advice' check.json
}

# agrees NAME EXPECTED COMMAND...: both give the expected answer.
agrees() {
    agrees_name=$1
    agrees_expected=$2
    shift 2
    check_equal "$agrees_name: dpm check says whether it works" "$agrees_expected" "$(checked "$@")"
    check_equal "$agrees_name: dpm run does what was said" "$agrees_expected" "$(metering "$@")"
}

nobody() {
    setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
}

# ---- its output, as any user ----

# compared: the text of the last check is the same as JSON
compared() {
    check "the last line sums it up" grep -qE '^dpm run (and dpm acquire )?(work|works|do not work) here' check.txt
    check_equal "... in the same words as JSON" "$(tail -n 1 check.txt)" "$(jq -r .summary check.json)"
    check_equal "text and JSON have the same checks" "$(jq -r '.checks[].name' check.json | sort)" \
        "$(sed -n -E 's/^(ok|limited|missing|unknown) +([^ ]+( [^ ]+)*)  .*/\2/p' check.txt | sort)"
    check_not "colour is for terminals only" grep -q "$(printf '\033')" check.txt
}

# (the text is compared below, where no privilege makes it quick)
[ "$(id -u)" != 0 ] || text=no
checked env > says
cp check.json all.json
text=yes
check "the answer is one word: yes or no" grep -qxE 'yes|no' says
check_equal "every lack has advice, and nothing else has" 0 "$(jq '[.checks[] |
    select((.state == "limited" or .state == "missing") != (.advice != null))] | length' check.json)"
check_equal "wrong usage gives 2" 2 "$("$dpm" check everything 2> err; echo $?)"
check "... in one line" grep -qx "dpm: check: takes no argument, not 'everything'.*" err
check_equal "output that cannot be written gives 1, and the reason" \
    "1 dpm: cannot write the output: No space left on device" "$(./forbid error "$dpm" check > /dev/full 2> err; echo $?) $(cat err)"
if [ "$(id -u)" != 0 ]; then
    compared
    skip "the rest" "must be root to lose privilege step by step"
    finish
fi

# ---- with less and less privilege ----

expected=yes
was_found || expected=$(metering env)
check_equal "root: dpm check says what dpm run does" "$expected" "$(cat says)"
agrees "user nobody" no nobody
compared
check_equal "... for want of CAP_BPF" missing "$(state_of CAP_BPF)"
way="setcap cap_bpf,cap_perfmon+ep $dpm"
grep -q ' bpf_rdonly_cast$' /proc/kallsyms || way="let root start dpmd" # before Linux 6.2
check "... and sudo or setcap is the way" sh -c \
    "jq -r '.checks[] | select(.name == \"CAP_BPF\") | .advice' check.json |
        grep -q 'sudo $dpm .*$way'"
check "... which dpm run refers to" grep -q 'CAP_BPF.*(see dpm check)$' err
check "... and the summary names what is missing" grep -qx 'dpm run .*; missing: CAP_BPF, CAP_PERFMON' check.txt
check_equal "... yet the kernel was looked at" ok "$(state_of release)"

if [ "$expected" = no ]; then
    skip "the rest" "the kernel meter does not run here: $(jq -r .summary all.json)"
    finish
fi

# changed SCRIPT COMMAND...: runs the command after the script has changed the mounts.
changed() {
    changed_script=$1
    shift
    unshare -m sh -ec "$changed_script"'; exec "$@"' sh "$@"
}

# contained COMMAND...: runs it in a PID namespace, without cgroup2, and with a /proc that hides others' processes.
contained() {
    changed "$no_cgroup" unshare -pf --mount-proc sh -ec "$hidden"'; exec "$@"' sh "$@"
}

hidden='mount -t proc -o hidepid=invisible proc /proc'
no_cgroup='umount -a -t cgroup2'
two=+bpf,+perfmon
enough=yes
grep -q ' bpf_rdonly_cast$' /proc/kallsyms || enough=no # before Linux 6.2
text=no
if contained true 2> err; then
    if long_ones; then
        agrees "/proc that hides processes" $enough changed "$hidden" \
            setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps $two --ambient-caps $two
        agrees "no cgroup2" yes changed "$no_cgroup"
        agrees "a PID namespace" yes unshare -pf --mount-proc
        agrees "the two capabilities alone" $enough nobody --inh-caps $two --ambient-caps $two
    fi
    agrees "the two capabilities, in a container" $enough \
        contained setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps $two --ambient-caps $two
    check_equal "... the PID namespace is found, and no reason to worry" "ok not the initial one" "$(jq -r '.checks[] |
        select(.name == "PID namespace") | "\(.state) \(.detail | .[:19])"' check.json)"
    check_equal "... that no cgroup2 is there, and that /proc hides processes, too" "limited limited" \
        "$(state_of cgroup2) $(state_of /proc)"
else
    skip "in a container" "$(cat err)"
    agrees "the two capabilities" $enough nobody --inh-caps $two --ambient-caps $two
fi
check_equal "... and --user is said not to work" limited "$(state_of CAP_SETUID)"
if [ $enough = no ]; then
    check_equal "... which are not enough on this kernel" missing "$(state_of CAP_SYS_ADMIN)"
elif jq -e '.checks[] | select(.name == "CAP_NET_ADMIN") | .detail == "UDP is metered"' all.json > without; then # by no trampolines
    check_equal "... and UDP" "limited limited" "$(state_of CAP_NET_ADMIN) $(state_of 'the whole meter')"
    check "... also in the summary" sh -c "jq -r .summary check.json | grep -q 'within the limits above'"
else
    check_equal "... and UDP needs no more" "ok ok" "$(state_of CAP_NET_ADMIN) $(state_of 'the whole meter')"
fi
! long_ones || agrees "CAP_SYS_ADMIN alone" yes nobody --inh-caps +sys_admin --ambient-caps +sys_admin
! long_ones || agrees "CAP_PERFMON alone" no nobody --inh-caps +perfmon --ambient-caps +perfmon
agrees "CAP_BPF alone" no nobody --inh-caps +bpf --ambient-caps +bpf
check_equal "... for want of the other" "ok missing" \
    "$(state_of CAP_BPF) $(state_of CAP_PERFMON)"
text=yes
agrees "out of reach" no setpriv --bounding-set -bpf,-sys_admin env
check "... says how a container gets it" sh -c "grep -q -e '--cap-add BPF' check.txt"
agrees "no new privileges" no nobody --no-new-privs
check "... which neither sudo nor setcap helps" grep -q no_new_privs check.txt

cp dpm dpm-plain
text=no
if ! long_ones; then
    skip "setcap as advised" "takes long: only with ./dev test --all"
elif setcap cap_bpf,cap_perfmon+ep dpm 2> err; then
    agrees "setcap as advised" $enough nobody
else
    skip "setcap as advised" "$(cat err)"
fi
text=yes
rm -f dpm
mv dpm-plain dpm

# ---- in restricted environments ----

text=no
agrees "a filter that refuses bpf()" no ./forbid error
check_equal "... is found" missing "$(state_of 'bpf()')"
text=yes
check_equal "a filter that kills who calls bpf(): dpm check lives" no "$(checked ./forbid kill)"
check "... and the reason is reported" grep -q 'missing.*bpf().*is killed.*seccomp' check.txt

text=no
if unshare -Ur true 2> err; then
    agrees "a user namespace" no unshare -Ur
    check_equal "... is found" "missing missing" \
        "$(state_of 'user namespace') $(state_of CAP_BPF)"
else
    skip "a user namespace" "$(cat err)"
fi
no_types='mount --bind /dev/null /sys/kernel/btf/vmlinux'
if changed "$no_types" true 2> err; then
    agrees "a kernel without BTF" no changed "$no_types"
    check_equal "... is found" missing "$(state_of BTF)"
    check "... and dpm run refers to dpm check" grep -q '^dpm: the kernel meter .* BTF .*(see dpm check)$' err

    # The same kernel, but its list of types has another name for one tracepoint.
    # without_hook TRACEPOINT: the script that makes it so
    without_hook() {
        sed "s/btf_trace_$1/$(echo "btf_trace_$1" | tr a-z A-Z)/" /sys/kernel/btf/vmlinux > "types.$1"
        echo "mount --bind $scratch/types.$1 /sys/kernel/btf/vmlinux"
    }
    # To nobody, who may not load any, dpm check says what is missing. For root it tries each of the others.
    check_equal "a kernel without a hook: dpm check says that it does not work" no \
        "$(checked changed "$(without_hook signal_generate)" setpriv --reuid 65534 --regid 65534 --clear-groups)"
    check_equal "... it is found, with what it costs" "missing lost flags: signal" "$(state_of signal_generate) $(
        jq -r '.checks[] | select(.name == "signal_generate") | .detail | match("lost flags: .*").string' check.json)"
    check_equal "... with the version that has it" "use Linux 3.4 or later" "$(advice_of signal_generate)"
    check "... no flag is left without privilege" jq -e '.flags == [] and (.lost_flags | index("send") and index("exec"))' check.json
    no_hook=$(without_hook tcp_sendmsg_locked)
    if long_ones; then
        agrees "... which root may load" no changed "$no_hook"
        check_equal "... is found" "missing ok" \
            "$(state_of tcp_sendmsg_locked) $(state_of sock_send_length)"
        check_equal "... with what it costs" "send sendcall" "$(jq -r '.lost_flags | join(" ")' check.json)"
        check_equal "... the version that has it, and what does without" \
            "use Linux 6.16 or later, or one that allows BPF trampolines, or leave out what needs it: --kinds udp,unix,pipe,mq" \
            "$(advice_of tcp_sendmsg_locked)"
        flags=$(jq -r '.flags | join(",")' check.json)
        check "the flags that are left do work" \
            changed "$no_hook" "$dpm" run --meter kernel -o recordings/left --flags "$flags" -- true
        changed "$no_hook" "$dpm" run -o recordings/auto_left --flags "$flags" -- true 2> err
        check_not "... which is not taken for what the kernel meter does" grep -q ptrace err
    else
        skip "a kernel without a hook, to root" "takes long: only with ./dev test --all"
        check_equal "... dpm run does what was said" no "$(metering changed "$no_hook")"
    fi
    changed "$no_hook" "$dpm" run -o recordings/kinds --kinds udp,unix --flags all -- true 2> err
    check_equal "... kinds that do without it work, and are not left to ptrace" "0 0" "$? $(grep -c ptrace err)"
    check_not "... flags that need it do not" \
        changed "$no_hook" "$dpm" run --meter kernel -o recordings/lost --flags send -- true
    changed "$no_hook" "$dpm" run -o recordings/auto --flags send -- true 2> err
    check "... but with ptrace" grep -q '^dpm: metering with ptrace .* no tracepoint tcp_sendmsg_locked ' err
else
    skip "a kernel without BTF or a hook" "$(cat err)"
fi
finish
