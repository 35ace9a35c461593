#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes raw records, as strace.descriptions has them, of the lines of strace. docs/howto.md has the recipe.

With -yy strace names both ends of TCP connections, UNIX streams and pipes; calls on anything else are left out. A send
counts from the beginning of its call, a receive from its end, so no message is received before it is sent."""
import ipaddress, re, signal, struct, sys

SEND, RECEIVECALL, RECEIVE, FORK, STARTPROCESS, TERMINATION = range(1, 7)
SENDS, RECEIVES = {'write', 'writev', 'sendto', 'sendmsg', 'sendfile'}, {'read', 'readv', 'recvfrom', 'recvmsg'}
LINE = re.compile(r'(\d+) +(\d+)\.(\d{6}) (<\.\.\. \w+ resumed>)?(.*?)( <unfinished \.\.\.>)?$')
CALL = re.compile(r'(\w+)\((.*)\) += (-?\d+).*?(?:<(\d+)\.(\d{6})>)?$')
TCP = re.compile(r'\d+<TCP(?:v6)?:\[(.*):(\d+)->(.*):(\d+)\]>')
LOCAL = re.compile(r'\d+<(?:UNIX-STREAM:\[(\d+)->(\d+)|pipe:\[(\d+)\])')
ENDED = re.compile(r'\+{3} (?:exited with (\d+)|killed by (\w+))')

def ends_of(arguments):
    """This end and the other one, each a number; of a pipe, where it is written and where it is read. None: neither."""
    tcp, local = TCP.match(arguments), LOCAL.match(arguments)
    if tcp:  # of an IPv6 address the last 32 bits
        return tuple((int(ipaddress.ip_address(tcp[i].strip('[]'))) & 0xffffffff) << 16 | int(tcp[i + 1]) for i in (1, 3))
    numbers = [int(number) for number in local.groups() if number] if local else []
    return (numbers[0] | 2 << 48, numbers[-1] | (3 if local[3] else 2) << 48) if local else None

def calls(lines):
    """The process of each call, when it began and ended (us), and its text, even if strace had to interrupt the line."""
    begun = {}
    for pid, seconds, micros, resumed, text, unfinished in (match.groups() for match in map(LINE.match, lines) if match):
        time = int(seconds + micros)
        begin, head = begun.pop(pid, (time, '')) if resumed else (time, '')
        call = CALL.match(head + text)
        if unfinished:
            begun[pid] = begin, head + text
        else:
            yield int(pid), begin, time + (int(call[4] + call[5]) if call and call[4] and not resumed else 0), text, call

names, records, left_out = {}, [], 0
for pid, begin, end, text, call in calls(sys.stdin):
    name, arguments, result = (call[1], call[2], int(call[3])) if call else ('', '', -1)
    ends, ended = ends_of(arguments), ENDED.match(text)
    if ended:
        status = int(ended[1]) << 8 if ended[1] else signal.Signals[ended[2]].value
        records.append((TERMINATION, pid, begin, pid, struct.pack('<I', status)))
    elif name == 'execve' and result == 0:
        names[pid] = arguments.split('"')[1].rsplit('/', 1)[-1]
        records.append((STARTPROCESS, pid, begin, pid, bytes(4)))
    elif name in ('clone', 'clone3', 'fork', 'vfork') and result > 0:
        names.setdefault(result, names.get(pid, ''))
        records.append((FORK, pid, begin, result, struct.pack('<I', result)))  # with the name of the new process
    elif name in SENDS and ends and result > 0:
        records.append((SEND, pid, begin, pid, struct.pack('<QQI', *ends, result)))
    elif name in RECEIVES and ends:
        sides = struct.pack('<QQ', *(ends if 'pipe:' in arguments else ends[::-1]))
        records.append((RECEIVECALL, pid, begin, pid, sides))
        records += [(RECEIVE, pid, end, pid, sides + struct.pack('<I', result))] if result > 0 else []
    left_out += name in SENDS | RECEIVES and not ends
for kind, pid, time, named, body in records:
    sys.stdout.buffer.write(struct.pack('<IIQ16s', kind, pid, time, names.get(named, '').encode()[:15]) + body)
print(f'strace.py: {left_out} calls on files and other descriptors left out', file=sys.stderr)
