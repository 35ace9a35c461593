# SPDX-License-Identifier: MIT
"""pooled.py: three clients of a front end that has one connection to its back end, which takes 30 ms. Prints how many requests there
were, how many of them waited for that connection, the longest such wait and the longest request, in ms."""
import asyncio
import os
import socket
import threading
import time

ROUNDS, CLIENTS = 20, 3


def back_end(listener):
    peer, _ = listener.accept()
    while peer.recv(10):
        time.sleep(0.03)
        peer.send(b"b")


async def front_end(listener, back):
    reader, writer = await asyncio.open_connection(*back)
    lock, waits, left = asyncio.Lock(), [], CLIENTS
    done = asyncio.Event()

    async def serve(of_client, to_client):
        nonlocal left
        while await of_client.read(10):
            busy, began = lock.locked(), time.time()
            async with lock:
                if busy:
                    waits.append(time.time() - began)
                writer.write(b"q")
                await reader.read(10)
            to_client.write(b"a")
        left -= 1
        if left == 0:
            done.set()

    await asyncio.start_server(serve, sock=listener)
    await done.wait()
    print(CLIENTS * ROUNDS, len(waits), 1000 * max(waits), end=" ", flush=True)


def client(address, times):
    with socket.create_connection(address) as front:
        for _ in range(ROUNDS):
            began = time.time()
            front.send(b"r")
            front.recv(10)
            times.append(time.time() - began)


back, front = socket.create_server(("127.0.0.1", 0)), socket.create_server(("127.0.0.1", 0))
for role in (lambda: back_end(back), lambda: asyncio.run(front_end(front, back.getsockname()))):
    if os.fork() == 0:
        role()
        os._exit(0)
back.close()
times = []
threads = [threading.Thread(target=client, args=(front.getsockname(), times)) for _ in range(CLIENTS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
os.wait()
print(1000 * max(times), flush=True)
os.wait()
