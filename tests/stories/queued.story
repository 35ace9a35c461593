# SPDX-License-Identifier: MIT
# What a receiver leaves in its queue.

== a receiver ends, and leaves messages: they wait no longer than it lives
| writer  sends 4 messages ------------------- 1 s more
| reader  receives one, ends
for k in pipe unix-stream
    process writer.$k
    process reader.$k
    $k $k: writer.$k > reader.$k older
    4 times
        writer.$k sends 10000 on $k
    end
    reader.$k receives 10000 on $k
    reader.$k ends
    writer.$k idles 1s
    writer.$k ends
end
$ dpm stats --json trace
jq: all(.processes[], .paths[]; .queue.messages_mean <= .queue.messages_max)
jq: [.processes[] | select(.name == "reader").queue.unreceived] == [3, 3]
jq: [.processes[] | select(.name == "reader").queue.messages_max] == [4, 4]
