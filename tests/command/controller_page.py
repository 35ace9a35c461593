# SPDX-License-Identifier: MIT
"""controller_page.py DPM PAGE: does what the examples of docs/controller.md show, in their order, and compares. In a block that
begins with `$ `, or goes on with a session:

    $ cat FILE      the following lines are written to FILE
    $ COMMAND       is executed; each following line is in its output
    $ dpm           begins a session on a terminal
    dpm> COMMAND    is typed there; each following line comes

Numbers and folders of traces may be others; what follows `...` or a line with SHARE in it is not compared. Prints what is not as shown."""
import os
import re
import subprocess
import sys
import time

from controller_pty import Terminal

MACHINE = os.uname().nodename


def same(text):
    """Without what differs each time."""
    text = re.sub(r"[^\s:]*dpm-[^\s:]*\.traces", "FOLDER", text)
    text = re.sub(r"\d+/[A-Z][a-z]+/\d+", "DATE", re.sub(rf"\b({re.escape(MACHINE)}|vm)\b", "HERE", text))
    return re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "0", text)).strip()


def blocks(page):
    """Lists of lines."""
    return [block.splitlines() for block in re.findall(r"^```\n(.*?)^```$", page, re.M | re.S)]


def steps(lines):
    """[(command, lines)]"""
    found = []
    for line in lines:
        if line.startswith("$ ") or line.startswith("dpm> "):
            found.append((line, []))
        elif found:
            found[-1][1].append(line)
    return found


def expected(lines):
    kept = []
    for line in lines:
        if line == "..." or "SHARE" in line or "MESSAGES" in line:
            break
        if line.strip():
            kept.append(same(line))
    return kept


def typed(terminal, command, lines):
    """Types a command, and waits for the lines, in any order."""
    text = ""
    os.write(terminal.file, (command + "\r").encode())
    end = time.monotonic() + 60
    while True:
        alive = terminal.read()
        text += terminal.text
        terminal.text = ""
        there = {same(re.sub("^dpm> (?=.)", "", line)) for line in text.replace("\r", "\n").splitlines()}
        missing = [line for line in lines if line not in there and not any(line in other for other in there)]
        if not missing and (not alive or text.rstrip(" ").endswith("dpm>")):
            return
        if not alive or time.monotonic() > end:
            print(f"{command}: not as shown: {missing}; there is: {text}")
            sys.exit(1)


def run(command, lines):
    done = subprocess.run(["sh", "-c", command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=120, check=False)
    there = {same(line) for line in done.stdout.splitlines()}
    missing = [line for line in lines if line not in there]
    if missing:
        print(f"{command}: not as shown: {missing}; there is: {done.stdout}")
        sys.exit(1)


def leave(terminal):
    """What the page leaves open ends."""
    for _ in range(2):
        os.write(terminal.file, b"die\r")
        time.sleep(1)
    terminal.ended()


def main():
    with open(sys.argv[2], encoding="utf-8") as file:
        page = file.read()
    terminal = None
    count = 0
    for block in blocks(page):
        for line, lines in steps(block):
            command = line.split(" ", 1)[1]
            if line.startswith("dpm> "):
                typed(terminal, command, expected(lines))
                if command == "die":
                    terminal.ended()
                    terminal = None
            elif command.startswith("cat "):
                os.makedirs(os.path.dirname(command[4:]) or ".", exist_ok=True)
                with open(command[4:], "w", encoding="utf-8") as file:
                    file.write("".join(text + "\n" for text in lines))
            elif command == "dpm":
                if terminal is not None:
                    leave(terminal)
                terminal = Terminal()
                terminal.until("dpm> ")
            else:
                if terminal is not None:
                    leave(terminal)
                    terminal = None
                run(command, expected(lines))
            count += 1
    if count < 35:
        print("only", count, "examples were found")


main()
