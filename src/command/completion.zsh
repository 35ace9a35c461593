# SPDX-License-Identifier: MIT
# completion.zsh: how zsh offers each kind of argument, and the command line as a whole.

_dpm_offer_other() {
    return 1
}

_dpm_offer_word() {
    compadd -- "$@"
}

_dpm_offer_list() {
    compset -P '*,'
    compset -P -
    [[ $PREFIX != *[A-Z]* ]] || set -- "${(@U)@}" # as reports have them
    compadd -S '' -- "$@"
}

_dpm_offer_file() {
    _files
}

_dpm_offer_trace() {
    _files -/
}

# _arguments leaves a -- directly after `run` in the words, but removes any other.
_dpm_offer_command() {
    if [[ $words[1] == -- ]]; then
        shift words
        (( CURRENT-- ))
    fi
    _normal
}

_dpm_offer_user() {
    _users
}

_dpm_offer_found() {
    local -a found
    _dpm_find $1
    compadd -a found
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

_dpm() {
    local curcontext=$curcontext state line
    _arguments -C '(- *)--help[print the list of commands]' '(- *)--version[print the version]' \
        '1:command:_dpm_commands' '*::argument:->argument' && return
    [[ $state == argument ]] && (( $+functions[_dpm_command_$words[1]] )) &&
        _dpm_command_$words[1]
}

# compinit loads this file and calls it as _dpm; if a user sources it, it must register itself.
if [[ ${funcstack[1]} == _dpm ]]; then
    _dpm "$@"
else
    compdef _dpm dpm
fi
