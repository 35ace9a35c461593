#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""live_site.py BUILD FOLDER [SECONDS]: traces of a web site on three machines, to be played back by dpm live. From its middle on
there are more requests, and the database is slower.

     outside clients --> nginx.1, nginx.2 @web1 --> python.1, python.2 @app1 --> postgres.1 ... 4 @db1
"""
import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(here, "..", "stories"))
import tell  # pylint: disable=wrong-import-position

HEAD = """machine web1 at 10.0.0.1 cpus 2
machine app1 at 10.0.0.2 cpus 2
machine db1 at 10.0.0.3 cpus 4
"""


def processes():
    lines = []
    for name, machine, count in (("nginx", "web1", 2), ("python", "app1", 2), ("postgres", "db1", 4)):
        for i in range(1, count + 1):
            lines.append(f"process {name}.{i} pid {100 + i} of {machine}")
    lines += [f"outside browser.{i} at 10.9.0.{i}" for i in range(1, 4)]
    return lines


def connections():
    lines = []
    for i in range(1, 4):
        server = f"nginx.{1 + i % 2}"
        lines.append(f"tcp b{i}: browser.{i} > {server} ports {40000 + i},80 older")
    for i in (1, 2):
        lines.append(f"tcp n{i}: nginx.{i} > python.{i} ports {41000 + i},8000 older")
        for j in (1, 2):
            lines.append(f"tcp p{i}{j}: python.{i} > postgres.{2 * i - 2 + j} ports {42000 + 10 * i + j},5432 older")
    return lines


def requests(seconds):
    lines = []
    now = {}
    for step in range(seconds * 4):
        is_late = step >= seconds * 2
        for i in (1, 2):
            begin = step * 250 + 40 * i
            browser = 1 + (step + i) % 3
            if 1 + browser % 2 != i:
                continue
            for turn in range(3 if is_late else 1):
                at = begin + turn * 60
                if now.get(i, -1) > at:
                    continue
                query = 1 + (step + turn) % 2
                database = f"postgres.{2 * i - 2 + query}"
                for who in (f"browser.{browser}", f"nginx.{i}", f"python.{i}", database):
                    lines.append(f"{who} idles until {at}ms")
                lines += [
                    f"browser.{browser} sends {200 + step} on b{browser}", f"nginx.{i} receives on b{browser}", f"nginx.{i} computes 2ms",
                    f"nginx.{i} sends 400 on n{i}", f"python.{i} receives on n{i}", f"python.{i} computes {12 if is_late else 8}ms",
                    f"python.{i} sends 90 on p{i}{query}", f"{database} receives on p{i}{query}", f"{database} computes {25 if is_late else 5}ms",
                    f"{database} sends 3000 on p{i}{query}", f"python.{i} receives on p{i}{query}", f"python.{i} computes 2ms",
                    f"python.{i} sends 9000 on n{i}", f"nginx.{i} receives on n{i}", f"nginx.{i} computes 1ms", f"nginx.{i} sends 9100 on b{browser}",
                    f"browser.{browser} receives on b{browser}"]
                now[i] = at + 55
    return lines


def main():
    build, folder = sys.argv[1:3]
    seconds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    text = HEAD.splitlines() + processes() + connections() + requests(seconds)
    tell.write_traces(build, list(enumerate(text, 1)), folder)


main()
