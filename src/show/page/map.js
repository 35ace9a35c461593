/*
 * map.js: which groups of processes talk to which: a map in tiers from clients to servers, laid out by dagre, and a matrix.
 *
 *      .------------.  120/s            .------------.  240/s            .-------------.
 *      | 10.0.0.1   | ----------------> | nginx x2   | ----------------> | postgres x9 |
 *      '------------'  p50 8, p99 30 ms '------------'  p50 1, p99 3 ms  '-------------'
 *
 * The colour of an arc is how many of its requests were waited for at once, on average.
 */
function nodeText(page, node) {
    const machine = page.machines.length > 1 && !node.outside ? `@${page.machines[node.machine]?.name ?? ""}` : "";
    return `${node.name}${node.processes > 1 ? ` ×${node.processes}` : ""}${machine}`;
}

/* 0: blue, 1 or more at once: red, over violet. */
function waitingColour(waiting) {
    const share = Math.min(1, Math.sqrt(Math.max(0, waiting)));
    return `hsl(${215 + share * 140} 65% var(--arc-lightness))`;
}

function arcWords(arc) {
    if (arc.requests > 0)
        return [`${arc.per_second < 0.005 ? "<0.01" : threeDigits(arc.per_second)}/s`, `p50 ${duration(arc.p50_ns)}, p99 ${duration(arc.p99_ns)}`];
    return [countedText(arc.messages + arc.back_messages, "message"), bytesText(arc.bytes + arc.back_bytes)];
}

function arcText(page, arc) {
    const {nodes} = page.map;
    const requests = arc.requests > 0
        ? `${countedText(arc.requests, "request")}, ${arcWords(arc).join(", ")}; on average ${threeDigits(arc.waiting)} were waited for at once. ` : "";
    return `${nodeText(page, nodes[arc.from])} to ${nodeText(page, nodes[arc.to])} (${arc.kind}, ${countedText(arc.connections, "connection")}): ` +
        `${requests}${countedText(arc.messages, "message")} (${bytesText(arc.bytes)}) there, ${countText(arc.back_messages)} (${bytesText(arc.back_bytes)}) back.`;
}

/* A layout with its own measures: [nodes with x, y, width, height], [edges with points]. */
function layout(nodes, edges, options) {
    const graph = new dagre.graphlib.Graph({multigraph: true});
    graph.setGraph({rankdir: "LR", nodesep: 22, ranksep: 60, edgesep: 14, marginx: 12, marginy: 12, ...options});
    graph.setDefaultEdgeLabel(() => ({}));
    nodes.forEach((node, i) => graph.setNode(String(i), {...node}));
    edges.forEach((edge, i) => graph.setEdge(String(edge.from), String(edge.to), {...edge}, String(i)));
    dagre.layout(graph);
    return {graph, nodes: nodes.map((_, i) => graph.node(String(i))),
        edges: edges.map((edge, i) => graph.edge(String(edge.from), String(edge.to), String(i)))};
}

/* Through the middle of each two points: a soft line without overshooting. */
function curve(points) {
    const [first, ...rest] = points;
    let path = `M${first.x.toFixed(1)},${first.y.toFixed(1)}`;
    rest.forEach((point, i) => {
        const next = rest[i + 1];
        path += next ? `Q${point.x.toFixed(1)},${point.y.toFixed(1)} ${((point.x + next.x) / 2).toFixed(1)},${((point.y + next.y) / 2).toFixed(1)}`
            : `L${point.x.toFixed(1)},${point.y.toFixed(1)}`;
    });
    return path;
}

/* An SVG with boxes and arcs. Boxes: {lines, title, href, class}; arcs: {from, to, lines, title, colour, width, id, href}. */
function drawGraph(label, boxes, arcs, options) {
    const nodes = boxes.map((box) => ({width: Math.max(...box.lines.map(textWidth)) + 24, height: 14 + 18 * box.lines.length}));
    const edges = arcs.map((arc) => ({from: arc.from, to: arc.to, labelpos: "c", width: Math.max(...arc.lines.map(textWidth), 10) * 0.9 + 16,
        height: 34}));
    const placed = layout(nodes, edges, options);
    const {width, height} = placed.graph.graph();
    const picture = shape("svg", {width: Math.ceil(width), height: Math.ceil(height), viewBox: `0 0 ${Math.ceil(width)} ${Math.ceil(height)}`,
        role: "group", "aria-label": label, class: "graph"});
    arcs.forEach((arc, i) => {
        const line = shape("path", {d: curve(placed.edges[i].points), class: "arc", "marker-end": "url(#head)"});
        line.style.stroke = arc.colour;
        line.style.strokeWidth = `${arc.width}px`;
        const group = shape("g", {class: "arc-group", id: arc.id, role: arc.href ? null : "img", "aria-label": arc.href ? null : arc.title}, shape("title", {}, arc.title), line);
        picture.append(arc.href ? shape("a", {href: arc.href, "aria-label": arc.title}, group) : group);
    });
    arcs.forEach((arc, i) => arc.lines.forEach((text, row) => picture.append(shape("text", {class: "arc-label", "aria-hidden": "true",
        x: placed.edges[i].x.toFixed(1), y: (placed.edges[i].y + (row === 0 ? -6 : 15)).toFixed(1)}, text))));
    boxes.forEach((box, i) => picture.append(graphBox(box, placed.nodes[i])));
    return picture;
}

function graphBox(box, at) {
    const group = shape("g", {class: `box ${box.class ?? ""}`}, shape("title", {}, box.title),
        shape("rect", {x: at.x - at.width / 2, y: at.y - at.height / 2, width: at.width, height: at.height, rx: 6}));
    box.lines.forEach((text, row) => group.append(shape("text", {x: at.x, y: at.y + 5 + (row - (box.lines.length - 1) / 2) * 18,
        class: row > 0 ? "second" : null}, text)));
    return box.href ? shape("a", {href: box.href, "aria-label": box.title}, group) : group;
}

const arcsDrawn = 80;

function usedNodes(page) {
    return page.map.nodes.map((_, i) => i).filter((i) => page.map.arcs.some((arc) => arc.from === i || arc.to === i));
}

function cellId(from, to) {
    return `cell-${from + 1}-${to + 1}`;
}

/* The cell of an arc in the matrix: of the direction that has messages. */
function arcCell(arc) {
    return arc.messages > 0 ? cellId(arc.from, arc.to) : cellId(arc.to, arc.from);
}

/* A finding about two groups leads to their arc. Lanes of others have several groups: then it stays with the map. */
function linkFindings(page) {
    const lane = (node) => page.map.nodes[node].lane;
    for (const link of document.querySelectorAll("a[data-sides]")) {
        const [one, other] = link.dataset.sides.split(" ");
        const found = page.map.arcs.slice(0, arcsDrawn).findIndex((arc) => lane(arc.from) === one && lane(arc.to) === other || lane(arc.from) === other && lane(arc.to) === one);
        if (found >= 0 && one !== "lane-others" && other !== "lane-others")
            link.setAttribute("href", `#arc-${found + 1}`);
    }
}

function drawMap(page, root) {
    const {nodes, arcs} = page.map;
    if (arcs.length === 0)
        return;
    const most = Math.max(...arcs.map((arc) => arc.messages + arc.back_messages));
    const boxes = nodes.map((node) => ({lines: [shortText(nodeText(page, node), 30)], title: nodeText(page, node), class: node.outside ? "outside-box" : "",
        href: node.lane ? `#${node.lane}` : null}));
    const hasMatrix = usedNodes(page).length > 1;
    const drawn = arcs.slice(0, arcsDrawn).map((arc, i) => ({...arc, id: `arc-${i + 1}`, href: hasMatrix ? `#${arcCell(arc)}` : null, lines: arcWords(arc), title: arcText(page, arc), colour: waitingColour(arc.waiting),
        width: 1.2 + 4 * Math.sqrt((arc.messages + arc.back_messages) / most)}));
    root.append(element("p", {class: "note"}, "From clients to servers. A wider arc has more messages; its colour is how many requests were waited for at once, on average: ",
        ...[0, 0.25, 1].flatMap((value) => {
            const sample = element("span", {class: "swatch", "aria-hidden": "true"});
            sample.style.background = waitingColour(value);
            return [sample, value === 1 ? "1 or more. " : `${value} `];
        }), arcs.length > arcsDrawn ? `${countedText(arcs.length - arcsDrawn, "arc")} with less traffic ${arcs.length - arcsDrawn === 1 ? "is" : "are"} only in the matrix.` : ""),
    wide("Map", drawGraph("Which groups of processes talk to which", boxes, drawn, {})));
}

/* ---- the matrix ---- */

function drawMatrix(page, root) {
    const {nodes, arcs} = page.map;
    const cells = new Map();
    const add = (from, to, messages, bytes) => {
        const cell = cells.get(`${from} ${to}`) ?? {messages: 0, bytes: 0};
        cells.set(`${from} ${to}`, {messages: cell.messages + messages, bytes: cell.bytes + bytes});
    };
    for (const arc of arcs) {
        add(arc.from, arc.to, arc.messages, arc.bytes);
        add(arc.to, arc.from, arc.back_messages, arc.back_bytes);
    }
    const used = usedNodes(page);
    if (used.length < 2)
        return;
    const most = Math.max(...[...cells.values()].map((cell) => cell.messages));
    const head = element("tr", {}, element("th", {scope: "col"}, "from \\ to"),
        ...used.map((to) => element("th", {scope: "col", class: "column"}, element("span", {}, shortText(nodeText(page, nodes[to]), 24)))));
    const body = element("tbody");
    for (const from of used)
        body.append(element("tr", {}, element("th", {scope: "row"}, shortText(nodeText(page, nodes[from]), 40)), ...used.map((to) => {
            const cell = cells.get(`${from} ${to}`);
            if (!cell || cell.messages === 0)
                return element("td");
            const at = element("td", {class: "figures", id: cellId(from, to), title: `${nodeText(page, nodes[from])} to ${nodeText(page, nodes[to])}: ${countedText(cell.messages, "message")}, ${bytesText(cell.bytes)}`},
                countText(cell.messages));
            at.style.background = `color-mix(in srgb, var(--blue) ${(8 + 40 * Math.sqrt(cell.messages / most)).toFixed(0)}%, var(--paper))`;
            return at;
        })));
    root.append(wide("Messages between groups", element("table", {class: "matrix"},
        element("caption", {}, "Messages between groups; a stronger colour means more"), element("thead", {}, head), body)));
}
