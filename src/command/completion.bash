# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2154 # the tables that dpm prints before this set the arrays
# completion.bash: offers the words of _dpm_options and _dpm_argument in the form that bash needs.
#
#   dpm run --flags=all,-se|     typed   --flags=all,-se    from the last blank to the cursor
#                                value   all,-se            the argument in it

# _dpm_offer WORD...: offers the words that begin with the value; they are written as the user types
# them. Bash keeps what is typed up to the last character at which it breaks words.
_dpm_offer() {
    local word kept=${typed%"${typed##*["$COMP_WORDBREAKS"]}"}
    for word; do
        word=${typed%"$value"}$word
        [[ $word != "$typed"* ]] || COMPREPLY+=("${word#"$kept"}")
    done
}

_dpm_offer_other() {
    :
}

_dpm_offer_word() {
    _dpm_offer "$@"
}

_dpm_offer_list() {
    local begun=${value%"${value##*,}"}
    [[ ${value##*,} != -* ]] || begun+=-
    [[ ${value##*,} != *[A-Z]* ]] || set -- "${@^^}" # as reports have them
    compopt -o nospace
    _dpm_offer "${@/#/$begun}"
}

_dpm_offer_file() {
    compopt -o default
}

_dpm_offer_trace() {
    compopt -o dirnames
}

_dpm_offer_user() {
    local users
    mapfile -t users < <(compgen -u)
    _dpm_offer "${users[@]}"
}

_dpm_offer_found() {
    local found
    _dpm_find "$1"
    [[ ${#found[@]} -eq 0 ]] || mapfile -t found < <(printf '%q\n' "${found[@]}")
    _dpm_offer "${found[@]}"
}

_dpm_offer_pid() {
    _dpm_offer_found pid
}

_dpm_offer_process() {
    _dpm_offer_found process
}

_dpm_offer_cgroup() {
    _dpm_offer_found cgroup
}

_dpm_offer_unit() {
    _dpm_offer_found unit
}

# The command begins at COMP_WORDS[at]. Its own completion is used if bash-completion is installed.
_dpm_offer_command() {
    if declare -F _command_offset > /dev/null; then
        _command_offset "$at"
        return
    fi
    compopt -o default
    ((at < COMP_CWORD)) || mapfile -t COMPREPLY < <(compgen -c -- "$typed")
}

# _dpm_read_line: sets `option` if the cursor is at its argument. Sets `at` to the word where the
# operands begin, or to the cursor's word if they need not have begun. Sets `only_operands`.
_dpm_read_line() {
    local word
    for ((at = 2; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]}
        if [[ $word == '=' && -n $option ]]; then
            continue
        elif [[ -n $option ]]; then
            option=
        elif [[ $word == -- ]]; then
            ((at++))
            only_operands=yes
            return
        elif [[ $word == -* ]]; then
            ! _dpm_argument "$command" "$word" || option=$word
        elif _dpm_argument "$command" && [[ ${action[0]} == _dpm_offer_command ]]; then
            only_operands=yes
            return
        fi
    done
}

_dpm() {
    local typed=${COMP_LINE:0:COMP_POINT} command=${COMP_WORDS[1]} option='' only_operands=''
    local value at options action
    typed=${typed##*[[:blank:]]}
    value=$typed
    COMPREPLY=()
    if ((COMP_CWORD == 1)); then
        _dpm_options
        _dpm_offer "${options[@]}"
        return
    fi
    _dpm_read_line
    # With = not among COMP_WORDBREAKS, the option is part of the word.
    [[ -n $only_operands || $typed != --*=* ]] || option=${typed%%=*}
    if [[ -n $option ]]; then
        value=${typed#"$option="}
        _dpm_argument "$command" "$option" && "${action[@]}"
    elif [[ -z $only_operands && $typed == -* ]]; then
        _dpm_options "$command"
        _dpm_offer "${options[@]}"
    else
        _dpm_argument "$command" && "${action[@]}"
    fi
}

complete -F _dpm dpm
