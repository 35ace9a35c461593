# SPDX-License-Identifier: MIT
"""nodelay_client.py answer|ask NO_DELAY [SECONDS]: answers each message, or asks questions for so long, one after the other, and prints how
many a second, and the median time of one in ms."""
import queue
import socket
import statistics
import sys
import time

import paho.mqtt.client as mqtt

role, no_delay = sys.argv[1], sys.argv[2] == "true"
here, there = ("question", "answer") if role == "answer" else ("answer", "question")
came = queue.Queue()


def connected(client, *_):
    client.socket().setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, no_delay)
    client.subscribe(here, qos=1)


client = mqtt.Client()
client.on_connect = connected
client.on_subscribe = lambda *_: came.put(None)
client.on_message = lambda _, __, message: (
    client.publish(there, message.payload, qos=1) if role == "answer" else came.put(message)
)
client.connect("127.0.0.1", 18088)
if role == "answer":
    client.loop_forever()
client.loop_start()
came.get(timeout=10)
times = []
began = time.monotonic()
while (asked := time.monotonic()) < began + float(sys.argv[3]):
    client.publish(there, "question", qos=1)
    came.get(timeout=10)
    times.append(time.monotonic() - asked)
print(len(times) / (time.monotonic() - began), 1000 * statistics.median(times))
client.disconnect()
