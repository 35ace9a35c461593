# SPDX-License-Identifier: MIT
# curves.awk: draws curves of P as an SVG picture.
#
#     awk -v title=TEXT -v over=TEXT -f curves.awk POINTS > FILE.svg
#
#      P |         .--o  8 servers          a line of POINTS for each point, its fields separated by tabs:
#        |     .--'                         curve, x, P, the least and the largest of all runs
#      1 |----'---o--o-  4 servers          curve, x, P of the thesis
#        +--------------
#          4    8   12     `over`
#
# Measured curves are solid, with the spread of their runs as vertical lines; those of the thesis are dashed, with hollow
# marks.

BEGIN {
    FS = "\t"
    width = 760; height = 500
    left = 60; right = 150; top = 60; bottom = 60
    split("#1f4e8c #b3440e #5b7f2b #8a3d9c #8c6d1f #444444", colours, " ")
}

{
    if (!($1 in colour)) {
        names[++count] = $1
        colour[$1] = colours[(count - 1) % 6 + 1]
    }
    kind = NF > 3 ? "here" : "thesis"
    n = ++points[kind, $1]
    x[kind, $1, n] = $2
    y[kind, $1, n] = $3
    if (kind == "here") {
        least[$1, n] = $4
        largest[$1, n] = $5
    }
    ticks[$2] = $2
    if (NR == 1 || $2 + 0 < from)
        from = $2 + 0
    if ($2 + 0 > to)
        to = $2 + 0
    for (i = 3; i <= NF; i++)
        if ($i + 0 > most)
            most = $i + 0
}

function at_x(value) {
    return to == from ? (left + width - right) / 2 : left + 20 + (width - left - right - 40) * (value - from) / (to - from)
}

function at_y(value) {
    return height - bottom - (height - top - bottom) * value / scale
}

# The smallest of 1, 2 and 5 times a power of ten with which there are at most 6 steps.
function step_of(range, step, i) {
    step = 0.1
    for (i = 0; step * 6 < range; i++)
        step *= i % 3 == 1 ? 2.5 : 2
    return step
}

function escaped(what) {
    gsub(/&/, "\\&amp;", what)
    gsub(/</, "\\&lt;", what)
    return what
}

function text(class, at, where, anchor, what) {
    printf "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", class, at, where, anchor, escaped(what)
}

function line(class, x1, y1, x2, y2, colour) {
    printf "<line class=\"%s\" x1=\"%.1f\" y1=\"%.2f\" x2=\"%.1f\" y2=\"%.2f\" stroke=\"%s\"/>\n", class, x1, y1, x2, y2, colour
}

function frame(value, step) {
    step = step_of(most)
    scale = step * (int(most / step) + 1)
    for (value = 0; value <= scale * 1.001; value += step) {
        line("tick", left, at_y(value), width - right, at_y(value), "#ddd")
        text("scale", left - 8, at_y(value) + 4, "end", sprintf(step < 1 ? "%.1f" : "%d", value))
    }
    # less than 1 is slower than on one processor
    line("one", left, at_y(1), width - right, at_y(1), "#777")
    for (value in ticks) {
        line("tick", at_x(value), height - bottom, at_x(value), height - bottom + 5, "#777")
        text("scale", at_x(value), height - bottom + 20, "middle", value)
    }
    text("heading", 12, 26, "start", title)
    text("scale", (left + width - right) / 2, height - 16, "middle", over)
    text("scale", left - 8, top - 14, "end", "P")
}

function legend(name, found) {
    line("one", left + 20, top - 14, left + 50, top - 14, "#555")
    text("scale", left + 56, top - 10, "start", "as fast as on one processor")
    line("here", width - right - 190, top - 14, width - right - 160, top - 14, "#555")
    text("scale", width - right - 154, top - 10, "start", "here")
    for (name in colour)
        found += points["thesis", name]
    if (!found)
        return
    line("thesis", width - right - 100, top - 14, width - right - 70, top - 14, "#555")
    text("scale", width - right - 64, top - 10, "start", "the thesis")
}

function curve(kind, name, n, path) {
    for (n = 1; n <= points[kind, name]; n++)
        path = path sprintf("%s%.1f,%.2f ", n == 1 ? "M" : "L", at_x(x[kind, name, n]), at_y(y[kind, name, n]))
    if (path != "")
        printf "<path class=\"%s\" d=\"%s\" stroke=\"%s\"/>\n", kind, path, colour[name]
}

function mark(px, value, size, fill, stroke, what) {
    printf "<circle cx=\"%.1f\" cy=\"%.2f\" r=\"%d\" fill=\"%s\" stroke=\"%s\"><title>%s</title></circle>\n", px,
        at_y(value), size, fill, stroke, escaped(what)
}

function marks_of_thesis(name, n) {
    for (n = 1; n <= points["thesis", name]; n++)
        mark(at_x(x["thesis", name, n]), y["thesis", name, n], 3, "#fff", colour[name],
            sprintf("the thesis: %s, %s %s: %s", name, x["thesis", name, n], over, y["thesis", name, n]))
}

function marks(name, n, px) {
    for (n = 1; n <= points["here", name]; n++) {
        px = at_x(x["here", name, n])
        line("spread", px, at_y(least[name, n]), px, at_y(largest[name, n]), colour[name])
        mark(px, y["here", name, n], 4, colour[name], colour[name], sprintf("%s, %s %s: %.1f, from %.1f to %.1f", name,
            x["here", name, n], over, y["here", name, n], least[name, n], largest[name, n]))
    }
}

# Names stand where their curves end, the highest first, each at least a line below the one before.
function label(done, i, best, where, last) {
    last = 0
    for (done = 0; done < count; done++) {
        best = 0
        for (i = 1; i <= count; i++)
            if (!(i in labelled) && (best == 0 || end_of(names[i]) > end_of(names[best])))
                best = i
        labelled[best] = 1
        where = at_y(end_of(names[best])) + 4
        if (where < last + 16)
            where = last + 16
        last = where
        printf "<text class=\"name\" x=\"%.1f\" y=\"%.1f\" style=\"fill:%s\">%s</text>\n", width - right + 10, where,
            colour[names[best]], escaped(names[best])
    }
}

function end_of(name, kind) {
    kind = points["here", name] ? "here" : "thesis"
    return y[kind, name, points[kind, name]]
}

END {
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\">\n", width, height,
        width, height
    print "<style>text{font-family:sans-serif;font-size:12px;fill:#222}.heading{font-size:15px;font-weight:bold}"
    print "path{fill:none;stroke-width:2}.thesis{stroke-width:1.3;stroke-dasharray:5 4;opacity:.75}.here{stroke-width:2}"
    print ".one{stroke-dasharray:2 3}.spread{stroke-width:1.3}.name{font-weight:bold}</style>"
    printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
    frame()
    legend()
    for (i = 1; i <= count; i++) {
        curve("thesis", names[i])
        marks_of_thesis(names[i])
    }
    for (i = 1; i <= count; i++)
        curve("here", names[i])
    for (i = 1; i <= count; i++)
        marks(names[i])
    label()
    print "</svg>"
}
