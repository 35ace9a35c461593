# SPDX-License-Identifier: MIT
"""complete.py SHELL FILE: completes command lines in a real shell on a terminal.

The shell reads FILE when it starts. Command lines come on standard input. The program types each, then a
key that inserts all completions of its last word, and another key that writes the line to a pipe:

    complete.py -- keys --> terminal --> bash or zsh -- the completed line --> pipe

For each, one line of output has the completions of the last word, sorted; or that word if there are
none. Since shells differ there, the / or = after a word and the OPTION= before it are removed.
"""
import os
import pty
import selectors
import shlex
import subprocess
import sys
import tempfile

TIMEOUT = 60  # seconds, for one line
CLEAR, COMPLETE, SHOW = b"\x15", b"\x18a", b"\x18s"

BASH = r"""
PS1='> '
bind 'set bell-style none'
bind 'set enable-bracketed-paste off'
bind '"\C-xa": insert-completions'
bind -x '"\C-xs": printf "%s\n" "$READLINE_LINE" >&PIPE'
. 'FILE'
"""

ZSH = r"""
PS1='> '
bindkey -e
. 'FILE'
complete-all() { _main_complete; compstate[insert]=all compstate[list]= }
zle -C complete-all complete-word complete-all
show-line() { print -r -u PIPE -- "$BUFFER" }
zle -N show-line
bindkey '^Xa' complete-all '^Xs' show-line
"""


def start(shell, file, folder, pipe):
    """Starts the shell on a new terminal; returns the process and our side of the terminal."""
    settings = (BASH if shell == "bash" else ZSH).replace("PIPE", str(pipe)).replace("FILE", file)
    with open(os.path.join(folder, ".zshrc"), "w", encoding="utf-8") as rc:
        rc.write(settings)
    ours, theirs = pty.openpty()
    arguments = ["bash", "--noprofile", "--rcfile", rc.name, "-i"] if shell == "bash" else ["zsh", "-di"]
    environment = dict(os.environ, TERM="dumb", ZDOTDIR=folder, HISTFILE="")
    process = subprocess.Popen(arguments, stdin=theirs, stdout=theirs, stderr=theirs,
                               env=environment, pass_fds=[pipe], start_new_session=True)
    os.close(theirs)
    return process, ours


def read_line(selector, terminal, pipe):
    """The next line from the pipe. Terminal output is skipped; if no line comes, it is in the error message."""
    line, shown = b"", b""
    while not line.endswith(b"\n"):
        ready = selector.select(TIMEOUT)
        if not ready:
            sys.exit(f"complete.py: no answer; the terminal shows {shown[-400:]!r}")
        for key, _ in ready:
            if key.fd == pipe:
                line += os.read(pipe, 65536)
            else:
                shown += os.read(terminal, 65536)
    return line.decode()


def offered(line, completed):
    """The words that replaced the last one, without what shells put around them."""
    before, last = line[:line.rfind(" ") + 1], line[line.rfind(" ") + 1:]
    option = last[:last.find("=") + 1]
    if not completed.startswith(before):
        sys.exit(f"complete.py: {line!r} has become {completed!r}")
    words = [word.removeprefix(option) for word in shlex.split(completed[len(before):])]
    return sorted({word.rstrip("/=") or word for word in words if word not in ("-", "--")})


def main():
    shell, file = sys.argv[1], os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        pipe, pipe_end = os.pipe()
        process, terminal = start(shell, file, folder, pipe_end)
        os.close(pipe_end)
        selector = selectors.DefaultSelector()
        selector.register(pipe, selectors.EVENT_READ)
        selector.register(terminal, selectors.EVENT_READ)
        for line in sys.stdin:
            line = line.rstrip("\n")
            os.write(terminal, CLEAR + line.encode() + COMPLETE + SHOW)
            print(*offered(line, read_line(selector, terminal, pipe)), flush=True)
        process.kill()
        process.wait()


main()
