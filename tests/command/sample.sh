# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# sample.sh: shared by the tests of commands that read traces; read after tap.sh. They work in the scratch folder, on
# the traces of sample-trace: alpha, beta, gamma (program counters) and crowd.

dpm=$1/dpm
build=$1
LC_ALL=C.UTF-8
TZ=UTC
export LC_ALL TZ

cd "$scratch" || exit 1
for machine in alpha beta gamma crowd; do
    "$build/tests/programs/sample-trace" $machine $machine || exit 1
done
mkdir empty foreign
echo 'event { name = "of somebody else"; };' > foreign/metadata
: > foreign/control
: > foreign/data

# squeeze: turns several blanks into one.
squeeze() {
    tr -s ' '
}

# copy TRACE: a copy of alpha to be damaged.
copy() {
    rm -rf "$1"
    cp -r alpha "$1"
}

# cut_end TRACE: removes its last packet, which is END alone. cut_data TRACE: the second of two packets of data.
cut_end() {
    truncate -s -4096 "$1/control"
}

cut_data() {
    truncate -s -4096 "$1/data"
}

# set_byte FILE OFFSET VALUE
set_byte() {
    printf "\\$(printf %03o "$3")" | dd of="$1" bs=1 seek="$2" conv=notrunc 2> dd.err
}

# runs NAME COMMAND...: the command succeeds; its output is in the files out and err.
runs() {
    tap_name=$1
    shift
    "$@" > out 2> err
    check_equal "$tap_name" 0 $?
}

# fails NAME STATUS PATTERN COMMAND...: the command has this exit status, no output, and one line of standard error,
# which matches.
fails() {
    tap_name=$1
    wanted="status $2, 0 lines, 1 line of errors: $3"
    pattern=$3
    expected_status=$2
    shift 3
    "$@" > out 2> err
    found_status=$?
    if [ $found_status = "$expected_status" ] && [ ! -s out ] && { read -r _ && ! read -r _; } < err &&
        grep -q -e "^dpm: $pattern" err; then
        pass "$tap_name"
    else
        fail "$tap_name" "$(echo "expected $wanted"; echo "found status $found_status, printed"
            head -n 5 out; echo "and said"; head -n 20 err)"
    fi
}

# says NAME LINE...: the previous command printed exactly these lines on standard error.
says() {
    tap_name=$1
    shift
    check_equal "$tap_name" "$(printf '%s\n' "$@")" "$(cat err)"
}

# make_no_traces: traces that lack something.
make_no_traces() {
    copy bare
    rm bare/data
    copy blank
    : > blank/control
    copy newer
    sed 's/trace_format = 3;/trace_format = 9;/' alpha/metadata > newer/metadata
    copy other
    cp beta/data other/data
}

# refuses_what_is_no_trace COMMAND...: the errors of every reading command about its last argument, which is added here.
refuses_what_is_no_trace() {
    [ -d bare ] || make_no_traces
    fails "$1: a trace that does not exist" 1 'nowhere: .*No such file' "$dpm" "$@" nowhere
    fails "$1: a file" 1 'alpha/metadata: .*a trace is a directory' "$dpm" "$@" alpha/metadata
    fails "$1: an empty directory" 1 'empty.*\(is this a complete trace\|has no traces; name a trace\)' "$dpm" "$@" empty
    fails "$1: a trace of another program" 1 'foreign/metadata: not a trace of dpm' \
        "$dpm" "$@" foreign
    fails "$1: a trace without its data" 1 'bare/data: .*No such file' "$dpm" "$@" bare
    fails "$1: a trace with nothing in it" 1 'blank/control: no complete packet' "$dpm" "$@" blank
    fails "$1: a trace of another format" 1 'newer/metadata: .*format 9' "$dpm" "$@" newer
    fails "$1: a trace with the data of another" 1 'other/data: .*uuid' "$dpm" "$@" other
}

# cannot_print NAME COMMAND...: a command whose output cannot be written: an error and exit status 1. If SIGPIPE is not
# ignored it ends the command silently, like any other.
cannot_print() {
    tap_name=$1
    shift
    "$@" 2> err > /dev/full
    check_equal "$tap_name: into a full device" \
        "1 dpm: cannot write the output: No space left on device" "$? $(cat err)"
    "$@" 2> err >&-
    check_equal "$tap_name: with its output closed" \
        "1 dpm: cannot write the output: Bad file descriptor" "$? $(cat err)"
    mkfifo pipe
    : < pipe &
    exec 5> pipe
    wait $! # now the reader has ended
    env --ignore-signal=PIPE "$@" 2> err >&5
    check_equal "$tap_name: into a closed pipe" \
        "1 dpm: cannot write the output: Broken pipe" "$? $(cat err)"
    env --default-signal=PIPE "$@" 2> err >&5
    check_equal "$tap_name: ended by SIGPIPE" "141 " "$? $(cat err)"
    exec 5>&-
    rm pipe
}
