# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# controller_commands.sh: every command of the controller, in every state of a process, with every refusal. Shared by the
# tests of the controller; read after tap.sh, in a folder to write to, with
#
#   $own, $first, $second   names of this machine and of two more, which are the group `workers`; `away` cannot be reached
#   $acquired               a process on $first
#   script NAME             a function: executes a script of commands, with its output in out and err
#
# shellcheck disable=SC2154 # they are set there

# says NAME TEXT FILE: a line of the file begins with this text.
says() {
    check "$1" grep -q -e "^$2" "$3"
}

echo 'jobs' > inner
printf '# rules\ntype=send, bytes>10;\ntype=sned;\n' > wrong.rules
cat > all << END
jobs
filter
newjob sort
newjob sort
newjob other nobody
newjob other
filter big
filter big
filter far $first
filter gone away
filter theirs $first ./none
filter wrong localhost filter inner wrong.rules
filter own localhost ./none
filter own localhost filter - no-such-file
filter bad localhost filter wrong.rules
add none $first true
add sort away true
add sort $first no-such-program
setflags sort send receive
setflags sort -receive fork
add sort workers sleep 300
acquire sort $first $acquired
acquire sort $first $acquired
acquire sort $first 4194303
jobs sort
startjob none
stopjob none
removejob none
removejob sort
removeprocess sort sleep
removeprocess sort nobody
startjob sort
startjob sort
input sort $acquired x
input sort nobody x
add other localhost sh -c 'echo out; echo err >&2; read x; echo read \$x'
startjob other
input other sh some words
input other sh
.
wait other
startjob other
stopjob other
input other sh x
jobs other
setflags sort all
sink listed
jobs sort
sink
source inner
source missing
removejob sort
stopjob sort
stopjob sort
startjob sort
stopjob sort
removeprocess sort sleep.2
jobs sort
removejob sort
jobs
getlog nobody x
getlog default log
getlog default log
newjob third far
add third $second sleep 300
removejob third
stopjob third
startjob third
stopjob third
removeprocess third sleep
add third $second sleep 300
stats third
stopjob third
removejob third
getlog far far.log
wait none
why none
jobs again
END
script all
check_equal "a script with errors fails" 1 $?
says "a job is created" 'job sort created: number 1, filter default$' out
says "... once" 'dpm: there is a job sort already$' err
says "... for a filter that exists" "dpm: there is no filter 'nobody'; filter lists them\$" err
says "a filter is created" 'filter big created: process [0-9]*, stores in .*/dpm-scripted-big.traces$' out
says "... once" 'dpm: there is a filter big already$' err
says "... on another machine" "filter far created: process [0-9]*, stores in $first:dpm-scripted-far-" out
says "... that can be reached" 'dpm: filter gone does not run: away: the remote shell ended with exit status 255: no route to away' err
says "... there from a program" 'dpm: filter theirs: ./none is no program that can be executed' err
says "... with rules that can be read" "dpm: filter wrong: wrong.rules:3:6: 'sned': " err
says "... from a program" 'dpm: filter own: ./none is no program that can be executed' err
says "... with files that are there" 'dpm: filter own: cannot read no-such-file: No such file or directory$' err
says "... with rules in their place" 'dpm: filter bad: .* for rules: filter bad localhost filter - wrong.rules$' err
says "there is no such job: which there are" "dpm: there is no job 'none'; the jobs: sort, other\$" err
says "a machine that cannot be reached" 'dpm: away: the remote shell ended with exit status 255: no route to away$' err
says "a program that is missing" "dpm: $first: there is no program 'no-such-program'\$" err
says "flags unite, and are reset" 'flags of job sort: send,createprocess,.*termination$' out
says "a process is created" "process sleep created on $first: number" out
says "... on each machine of a group" "process sleep.2 created on $second: number" out
says "a process is acquired" "process $acquired on $first acquired\$" out
says "... once" "dpm: process $acquired is part of job sort already\$" err
says "new: jobs shows it" "[0-9]* *new *sleep *$first *send," out
says "acquired: jobs shows it" "$acquired *acquired *$acquired *$first *send," out
says "new: removejob refuses" "dpm: sleep@$first is new: stopjob first\$" err
says "... and removes nothing" 'dpm: job sort is not removed$' err
says "a process that does not exist" "dpm: job sort has no process 'nobody'; .jobs sort. lists them\$" err
says "new: startjob starts" "sleep@$first: started\$" out
says "running: startjob passes" "sleep@$first: runs already\$" out
says "acquired: startjob passes" "$acquired@$first: is acquired: it is metered only, never started\$" out
says "acquired: input refuses" "dpm: $acquired@$first is acquired: its input is its own\$" err
says "the output of processes is shown" "sh@$own: out\$" out
says "... both" "sh@$own: err\$" out
says "running: it reads input, and ends" "sh@$own: read some words\$" out
says "killed: jobs shows it" "[0-9]* *killed *sh *$own *none\$" out
says "killed: input refuses" "dpm: sh@$own has ended: it reads nothing\$" err
says "running: jobs shows it, with all flags" "[0-9]* *running *sleep *$first *all\$" listed
check_equal "... in the sink only" 0 "$(grep -c ' running ' out)"
says "source executes a file" '1 *sort *default$' out
says "... which is there" 'dpm: source: missing: No such file or directory$' err
says "running: removejob refuses" "dpm: sleep@$first runs: stopjob first\$" err
says "running: stopjob stops" "sleep@$first: stopped\$" out
says "stopped: stopjob passes" "sleep@$first: is stopped already\$" out
says "killed: stopjob passes" "sh@$own: has ended\$" out
says "acquired: stopjob passes" "$acquired@$first: is acquired: it is metered only, never stopped\$" out
says "stopped: startjob continues" "sleep@$first: continues\$" out
says "killed: startjob passes" "sh@$own: has ended: it cannot be started again\$" out
says "stopped: removeprocess kills" "sleep.2@$second: killed and removed\$" out
says "stopped: removejob kills" "sleep@$first: killed and removed\$" out
says "acquired: removejob lets it live" "$acquired@$first: is not metered any more, and lives on\$" out
says "the job is removed" 'job sort removed$' out
says "new, on a machine with another filter: removejob refuses" "dpm: sleep@$second is new: stopjob first\$" err
says "new: stopjob stops" "sleep@$second: stopped before its first instruction\$" out
says "... and startjob lets it begin" "sleep@$second: continues\$" out
says "... and what a filter elsewhere has stored so far is not called cut" "dpm: .*third is still being recorded; this is its state so far\$" err
check_not "... (it is a copy)" grep 'third was cut' err
says "stopped before it began: removeprocess kills" "sleep@$second: killed and removed\$" out
says "... and removejob, too" 'job third removed$' out
check_equal "getlog copies what was recorded" "$(printf '%s\n' "$own.other" "$first.sort" "$second.sort" | LC_ALL=C sort)" \
    "$(find log -mindepth 1 -maxdepth 1 -printf '%f\n' | LC_ALL=C sort)"
check_equal "... from another machine" "$second.third" "$(ls far.log)"
