# SPDX-License-Identifier: MIT
# splices.awk: in a dump of the truth program, marks the further pieces of a splice out of a TCP socket as continued, as
# truth-compare expects them. Where the kernel does not let the meter tell calls apart, each is a message of its own
# (dpm-run(1)). What a splice of this program takes it passes on with the same call, so two in a row are one call.
function field(name,    found) {
    if (!match($0, "\"" name "\":(\"[^\"]*\"|[^,}]*)"))
        return ""
    found = substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
    gsub("\"", "", found)
    return found
}

/"event":"(SEND|RECEIVE)"/ {
    stream = field("stream")
    spliced = ""
    if (field("event") == "RECEIVE" && field("kind") == "tcp" && field("procedure") == "operation_splice")
        spliced = "path " field("path")
    if (spliced != "" && spliced == last[stream] && !/"continued":true/)
        sub(/^[{]/, "{\"continued\":true,")
    last[stream] = spliced
}

{ print }
