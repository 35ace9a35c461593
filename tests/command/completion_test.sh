#!/bin/sh
# SPDX-License-Identifier: MIT
# completion_test.sh BUILD_FOLDER: `dpm completion`, in real shells on a terminal (complete.py): bash alone, bash with
# the package bash-completion, zsh. All get the same cases:
#
#   cases     LINE|WORD WORD ...    completions of its last word, sorted; ... at the end: and others
here=$(cd "$(dirname "$0")" && pwd)
. "$(dirname "$0")/tap.sh"
. "$(dirname "$0")/sample.sh"
HOME=$scratch # without settings of a user
export HOME

# ---- the command ----

for shell in bash zsh; do
    runs "dpm completion $shell" "$dpm" completion $shell
    check "... is what was built to be installed" cmp out \
        "$build/completion/$([ $shell = bash ] || echo _)dpm"
done
fails "a shell that it does not know" 2 "completion: 'fish': choose bash or zsh" \
    "$dpm" completion fish
fails "no shell" 2 'completion: name one shell: bash or zsh' "$dpm" completion
fails "two shells" 2 'completion: name one shell' "$dpm" completion bash zsh
cannot_print "dpm completion" "$dpm" completion bash

# ---- cases ----

# options: those in the help on standard input, sorted, on one line.
options() {
    sed -n -E 's/^  (-[a-z]), (--[a-z-]+).*/\1\n\2/p; s/^  (--[a-z-]+).*/\1/p' |
        LC_ALL=C sort | tr '\n' ' ' | sed 's/ $//'
}

commands=$("$dpm" --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p')
echo "dpm -|$("$dpm" --help | options)" > cases
# All commands, and all options of each.
for command in $commands; do
    echo "dpm ${command%?}|$(echo "$commands" | grep "^${command%?}" | sort | xargs)"
    [ "$command" = help ] || echo "dpm $command -|$("$dpm" help "$command" | options)"
done >> cases

# Executables here, and files: two executables, one with a blank in its name.
mkdir folder
touch foldable
for name in sleeper 'two words'; do
    cp "$(command -v sleep)" "dpm-$name"
    "./dpm-$name" 300 &
    sleepers="${sleepers-} $!"
done
trap 'kill $sleepers; rm -rf "$scratch"' EXIT
sleeper=$!
cgroup=$(sed -n 's/^0:://p' /proc/$sleeper/cgroup)

# One of each form.
cat >> cases << END
dpm nothing |
dpm help du|dump
dpm check x|x
dpm completion |bash zsh
dpm run --flags all,-se|all,-send all,-sendcall
dpm acquire --flags=des|destroypath destsocket
dpm run --flags=send,DES|send,DESTROYPATH send,DESTSOCKET
dpm run --cpu-time |coarse precise
dpm run --user roo|root
dpm run --ring |
dpm run -o fold|folder
dpm run --output=fold|folder
dpm run --report fold|foldable folder
dpm run --rules fold|foldable folder
dpm rules check fold|foldable folder
dpm filter -r fold|foldable folder
dpm acquire --name dpm-sl|dpm-sleeper
dpm acquire --name=dpm-tw|dpm-two words
dpm acquire -p ${sleeper%?}|$sleeper ...
dpm acquire --duration 5s ${sleeper%?}|$sleeper ...
dpm acquire --cgroup |$cgroup ...
dpm dump --type SEND,-MOD|SEND,-MODULE
dpm dump --path unix-|unix-datagram unix-seqpacket unix-stream
dpm stats --by |cgroup container decision failure file input load machine namespace pair path procedure process program user
dpm dump --json --type send fold|folder
dpm run --flags send --user root -- nohu|nohup
dpm run --wait -- cat folda|foldable
dpm run -- --fl|--fl
END

# ---- every shell ----

# ask NAME SHELL FILE: puts all cases to the shell that reads this file; the answers stay in `answers`.
ask() {
    cut -d '|' -f 1 cases | python3 "$here/complete.py" "$2" "$3" > answers 2> err
    check_equal "$1 answers every line" "0, $(wc -l < cases)" \
        "$?, $(wc -l < answers)$(cat err)"
    paste -d '|' cases answers > asked
    check_equal "... as it should" "" "$(while IFS='|' read -r line expected found; do
        case $expected in
        *' ...') [ "${found#*"${expected% ...}"}" = "$found" ] || found=$expected ;;
        esac
        [ "$found" = "$expected" ] || echo "$line: $found, and not $expected"
    done < asked)"
}

long_ones || grep -v '^dpm [a-z]* -|' cases > few # all options of all commands: of one shell
echo ". '$build/completion/dpm'" > bash.rc
ask bash bash bash.rc
[ ! -e few ] || mv few cases
# shellcheck disable=SC2016 # for bash
echo 'COMP_WORDBREAKS=${COMP_WORDBREAKS//=}' >> bash.rc
mv cases all-cases
grep -v -e '=fold' -e '--report=' all-cases > cases # bash takes the whole word for a file
ask 'bash that does not break words at =' bash bash.rc
mv all-cases cases

# As installed: bash-completion loads the script at its first use, compinit beforehand.
if [ -e /usr/share/bash-completion/bash_completion ]; then
    mkdir completions
    cp "$build/completion/dpm" completions
    echo "BASH_COMPLETION_USER_DIR=$scratch; . /usr/share/bash-completion/bash_completion" > bash.rc
    echo 'sudo dpm run --cpu-time=c|coarse' >> cases
    ask 'bash-completion' bash bash.rc
else
    skip 'bash-completion' 'bash-completion is not installed'
fi
if command -v zsh > /dev/null; then
    echo "fpath=('$build/completion' \$fpath); autoload -U compinit; compinit -D -u" > zsh.rc
    ask zsh zsh zsh.rc
    if long_ones; then
        printf 'dpm ru|rules run\n' > cases
        echo "autoload -U compinit; compinit -D -u; . <('$dpm' completion zsh)" > zsh.rc
        ask 'zsh that has read dpm completion' zsh zsh.rc
    else
        skip 'zsh that has read dpm completion' "takes long: only with ./dev test --all"
    fi
else
    skip 'zsh' 'zsh is not installed'
fi

# ---- offered completions are accepted ----

# offered LINE: the completions of its last word in bash, one a line.
echo ". '$build/completion/dpm'" > bash.rc
offered() {
    echo "$1" | python3 "$here/complete.py" bash bash.rc | tr ' ' '\n'
}

for option in 'dump --type' 'dump --path' 'stats --by'; do
    offered "dpm $option " > words
    check "dpm $option offers words" test "$(wc -l < words)" -ge 4
    # a list of them is one call
    [ "$option" = 'stats --by' ] || { paste -sd , words > list && mv list words; }
    # shellcheck disable=SC2086 # a command and its option
    check_equal "... and accepts each" '' "$(while read -r word; do
        "$dpm" $option "$word" alpha 2>&1 > out | grep "'"; done < words)"
done

# ---- units ----


for shell in bash zsh; do
    command -v $shell > /dev/null || continue
    check_equal "$shell: units are folders on the way to a cgroup" 'redis.service system.slice' "$(
        $shell -c "compdef() { :; }; . '$build/completion/$([ $shell = bash ] || echo _)dpm'
            found=(); _dpm_find_in_cgroup unit /system.slice/redis.service/below; echo \${found[@]}")"
done
finish
