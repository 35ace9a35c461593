# SPDX-License-Identifier: MIT
# shellcheck shell=sh
# terminal_pane.sh: a program on a terminal of tmux, for tests of screens; read after tap.sh.
#
#   pane 80 24 dpm top my.trace     starts it
#   shows 'PROCESS *CPU'            waits until a line of the screen matches
#   types Tab / q Enter             keys, by their names in tmux
#   pane_end

pane_count=0
pane_tmux() {
    tmux -L "dpm-$$-$pane_count" -f /dev/null "$@"
}

# pane COLUMNS LINES COMMAND...: pane_process is the command.
pane() {
    pane_columns=$1 pane_lines=$2
    pane_count=$((pane_count + 1)) # each has a server of its own: the one before may not be gone yet
    shift 2
    pane_tmux new-session -d -s test -x "$pane_columns" -y "$pane_lines" -- env TERM=screen-256color LC_ALL=C.UTF-8 "$@"
    pane_tmux set-option -g remain-on-exit on > /dev/null
    pane_process=$(pane_tmux display-message -p -t test '#{pane_pid}')
    pane_server=$(pane_tmux display-message -p '#{pid}')
}

screen() {
    pane_tmux capture-pane -p -t test
}

screen_matches() {
    screen | grep -q -e "$1"
}

# shows PATTERN: within 60 s, which is only for what has gone wrong.
shows() {
    pane_tries=300
    until screen_matches "$1"; do
        pane_tries=$((pane_tries - 1))
        [ $pane_tries -gt 0 ] || { screen; return 1; }
        sleep 0.2
    done
}

types() {
    pane_tmux send-keys -t test "$@"
}

resize() {
    pane_tmux resize-window -t test -x "$1" -y "$2"
}

# fits COLUMNS LINES: the screen has no more.
fits() {
    screen > "$scratch/screen"
    [ "$(wc -l < "$scratch/screen")" -le "$2" ] && ! LC_ALL=C.UTF-8 grep -Eq "^.{$(($1 + 1))}" "$scratch/screen"
}

# is_dead: the command of the pane has ended.
is_dead() {
    [ "$(pane_tmux display-message -p -t test '#{pane_dead}')" = 1 ]
}

# has_gone: there is no such process any more.
has_gone() {
    ! kill -0 "$1" 2> /dev/null
}

pane_end() {
    pane_tmux kill-server 2> /dev/null
    :
}
