#!/bin/sh
# SPDX-License-Identifier: MIT
# help_test.sh BUILD_FOLDER: dpm's help, and that the manual pages agree with it. (manual_test.sh compares the lists of
# options.)
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"
pages=$here/../../man
commands='run top live acquire report dump stats why whatif parallelism path causality graph repair view check calibrate agent steer filter rules job completion'

# ---- the main help ----

runs "dpm help" "$dpm" help
cp out help
check_equal "... lists each command once, and no other" "$(echo "$commands help" | tr ' ' '\n' | sort)" \
    "$(sed -n 's/^  \([a-z][a-z]*\)  *[a-z].*/\1/p' help | sort)"
for argument in '' --help 'help help'; do
    # shellcheck disable=SC2086 # none, one or two words
    runs "dpm $argument" "$dpm" $argument
    check "... says the same" cmp help out
done
runs "dpm --version" "$dpm" --version
check "... is one line: the name and a version" sh -c '
    test "$(wc -l < out)" = 1 && grep -qx "dpm [0-9][0-9.]*" out'
fails "an unknown command" 2 "there is no command 'sing' (try: dpm help)" "$dpm" sing
fails "an empty command" 2 "there is no command ''" "$dpm" ''
fails "an unknown option" 2 "there is no command '--sing'" "$dpm" --sing
control=$(printf 'a\033[31m\nb')
fails "a command that would command the terminal" 2 "there is no command 'a?\[31m?b'" "$dpm" "$control"
fails "a trace of such a name" 1 "a?\[31m?b: cannot be opened" "$dpm" stats "$control"
fails "an argument like that" 2 "stats: --by 'a?\[31m?b': choose one of" "$dpm" stats --by "$control" trace
fails "help about an unknown command" 2 "there is no command 'sing'" "$dpm" help sing
fails "half of a command's name" 2 "there is no command 'dum'; did you mean 'dump'" "$dpm" dum alpha
for word in staats:stats raport:report prarllelism:parallelism ahcquire:acquire wyh:why; do
    fails "a misspelt command: ${word%:*}" 2 "there is no command '${word%:*}'; did you mean '${word#*:}'? (try" \
        "$dpm" "${word%:*}"
done
# shellcheck disable=SC2016 # $1 is the inner shell's
check_not "a word that is like no command is told nothing" sh -c '"$1" sing 2>&1 | grep "did you"' sh "$dpm"
for word in --jsno:--json --form:--from --histogarm:--histogram; do
    fails "a misspelt option: ${word%:*}" 2 "stats: .*; did you mean '--${word#*:--}'? (try" "$dpm" stats "${word%:*}" alpha
done
fails "an option that is like none" 2 "stats: unrecognized option '--wibble' (try" "$dpm" stats --wibble alpha
cannot_print "help" "$dpm" help
cannot_print "help about a command" "$dpm" dump --help
cannot_print "the version" "$dpm" --version

# ---- every command ----

# options_of_help: of the command whose help is in the file help; options_of_synopsis COMMAND. One a line, sorted
options_of_help() {
    sed -n 's/^  \(--*[a-z][a-z-]*\).*/\1/p' help | sort
}

# The synopsis does not name --help.
options_of_synopsis() {
    { sed -n '/^\.Sh SYNOPSIS/,/^\.Sh DESCRIPTION/s/^\.\(Op \)\{0,1\}Fl \([a-z-]*[a-z]\).*/-\2/p' "$pages/dpm-$1.1"
        echo --help; } | sort -u
}

# description_of_page COMMAND: the description after the name in its manual page
description_of_page() {
    sed -n 's/^\.Nd //p' "$pages/dpm-$1.1"
}

# wrong_help COMMAND: differences between --help and the manual pages.
wrong_help() {
    "$dpm" help "$1" > help 2> err || echo "dpm help $1 fails: $(cat err)"
    [ "$(sed -n 1p help)" = "dpm $1: $(description_of_page "$1")" ] || echo "it begins otherwise than the manual page"
    grep -q "^usage: dpm $1 " help || echo "it shows no usage"
    "$dpm" "$1" --help | cmp - help
    "$dpm" --help "$1" | cmp - help
    grep -qx ".It Cm $1" "$pages/dpm.1" || echo "dpm(1) has it not"
}

for command in $commands; do
    check_equal "dpm help $command says what --help and the manual pages say" "" "$(wrong_help "$command" 2>&1)"
    check_equal "the synopsis of dpm-$command(1) has the options of --help" \
        "$(options_of_help)" "$(options_of_synopsis "$command")"
    check "dpm $command --help wins over what follows it" "$dpm" "$command" --help --no-such-option
done
fails_usage() {
    wanted=$1
    shift
    "$dpm" "$@" > out 2> err
    check_equal "dpm $*" "2 dpm: $wanted (try: dpm $1 --help)" "$? $(cat err)"
}
fails_usage "run: unrecognized option '--frobnicate'" run --frobnicate -- true
fails_usage "run: option '--flags' requires an argument" run --flags
fails_usage "run: option '-o' requires an argument" run -o
fails_usage "run: invalid option -- 'x'" run -x
fails_usage "stats: invalid option -- 'Z'" stats --json -Zx alpha
fails_usage "stats: option '--h' is ambiguous" stats --h
fails_usage "stats: option '--all' takes no argument" stats --all=3
fails_usage "stats: --every '0': give a time greater than 0, e.g. 100ms, 2s or 5m" stats --every 0 x
for option in $("$dpm" --help | sed -n 's/^  -\(-[a-z]*\).*/\1/p'); do
    check "dpm(1) has -$option" grep -q "^\.Fl $option" "$pages/dpm.1"
done

# ---- the configuration of the service ----

# wrong_setting CONFIGURATION TEXT
wrong_setting() {
    echo "$1" > wrong.json
    fails "the service refuses $1" 1 "wrong.json: $2\$" "$dpm" agent --service --config wrong.json
}
wrong_setting '{"intervall": "1s"}' 'there is no setting "intervall"; see dpm-agent(1)'
wrong_setting '{"keep": 2, "max_size": 4294967296}' 'max_size: give a text in quotes, e.g. "4G"'
wrong_setting '{"interval": 60}' 'interval: give a text in quotes, e.g. "5m"'
wrong_setting '{"metrics_port": "9465"}' 'metrics_port: give a whole number, without quotes'
fails "... a file that is not there" 1 'cannot read nosuch.json: No such file or directory$' "$dpm" agent --service --config nosuch.json

# ---- keys of JSON ----

# words_of_page PAGE BEGIN END: the words between two lines that the page marks as literal
words_of_page() {
    sed -n "/^$2/,/^$3/p" "$pages/$1" | sed -n 's/^\.\(It \)\{0,1\}Cm //p' | tr -s ' ' '\n' |
        grep '^[a-z][a-z0-9_]*$' | sort -u
}

"$build/tests/programs/sample-trace" delta delta
"$build/tests/programs/sample-trace" epsilon epsilon
"$build/tests/programs/sample-trace" files files
"$build/tests/programs/sample-trace" rotated rotated
"$build/tests/programs/sample-trace" steered steered
{ "$dpm" dump --json --type BEGIN rotated; "$dpm" dump --json --matched alpha beta gamma delta files steered; "$dpm" dump --json --type summary,cgroup epsilon; } 2> err | jq -r '[.. | objects | keys[]] | unique | .[]' > keys
# what calls wait for, and wakeups of an earlier wait, are in no sample trace; wait_records_test and history_waits_test look at them
printf '%s\n' earlier only_path time_limit_ns waited_on | sort -u keys - > printed
words_of_page dpm-dump.1 '\.Ss Keys' '\.Sh EXIT' > described
check_equal "dpm-dump(1) describes the keys that dpm dump --json prints" \
    "$(cat printed)" "$(cat described)"
# (where bpf() is refused it looks at everything, but loads no meter)
"$build/tests/programs/forbid" error "$dpm" check --json 2> err | jq -r '[.. | objects | keys[]] | unique | .[]' | sort -u > printed
words_of_page dpm-check.1 '\.Ss Keys' '\.Sh ENVIRONMENT' > described
check_equal "dpm-check(1) describes the keys that dpm check --json prints" \
    "$(cat printed)" "$(cat described)"
for by in process user; do
    "$dpm" stats --json --every 1ms --histogram --by $by alpha gamma epsilon files steered 2> err
done |
    jq -r '[.. | objects | keys[]] | unique | .[]' | sort -u > printed
words_of_page dpm-stats.1 '\.Ss Keys' '\.Sh EXIT' > described
check_equal "dpm-stats(1) describes the keys that dpm stats --json prints" \
    "$(cat printed)" "$(cat described)"
finish
