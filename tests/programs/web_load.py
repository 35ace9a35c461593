#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""web_load.py: a load of HTTP requests, over kept connections, that ends after so many.

usage: web_load.py HOST PORT CLIENTS REQUESTS

Each client has a connection and sends REQUESTS, one after the other. The last line says how many bytes all of them have
sent and received.
"""
import http.client
import sys
import threading

host, port, clients, requests = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
failed = []


def ask(number):
    connection = http.client.HTTPConnection(host, port, timeout=60)
    for i in range(requests):
        connection.request("GET", "/" + "x" * ((7 * i + number) % 50))
        reply = connection.getresponse()
        if reply.status != 200 or not reply.read():
            failed.append(reply.status)


threads = [threading.Thread(target=ask, args=(number,)) for number in range(clients)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("failed" if failed else "answered", len(failed) if failed else clients * requests)
