/*
 * waterfall.js: the median request and the slowest one, from the hops of `dpm why`.
 *
 *      nginx[12]     |==|                              |==|      a row for each thread, a bar for each hop
 *      app[31]          |===|                    |=====|
 *      postgres[47]         |========disk========|
 *
 * A bar leads to its line in the table below; the thread to its lane.
 */
function hopText(page, hop) {
    return `${kindName(page, hop.kind)}, ${duration(hop.ns)}${hop.what ? `: ${hop.what}` : ""}`;
}

function hopBar(page, request, hop, id) {
    const bar = element("a", {href: `#${id}`, class: "bar", tabindex: "-1", title: hopText(page, hop), "aria-hidden": "true"});
    bar.style.left = `${hop.at / request.ns * 100}%`;
    bar.style.width = `max(2px, ${hop.ns / request.ns * 100}%)`;
    bar.style.background = kindColour(hop.kind);
    return bar;
}

/* Threads with hops that are shown, and those whose short ones are 1% of the time. Shares are of all hops. */
function hopRows(page, request, name) {
    const rows = new Map();
    const add = (who, lane) => {
        const label = element("div", {class: "lane-label"}, lane ? element("a", {href: `#${lane}`}, who) : who,
            element("span", {class: "lane-share"}, percent((request.who_ns[who] ?? 0) / request.ns)));
        const bars = element("div", {class: "plot bars"});
        rows.set(who, {row: element("div", {class: "lane"}, label, bars), bars});
    };
    request.hops.forEach((hop, index) => {
        const who = hop.who || "unknown";
        if (!rows.has(who))
            add(who, hop.lane);
        rows.get(who).bars.append(hopBar(page, request, hop, `hop-${name}-${index + 1}`));
    });
    for (const [who, ns] of Object.entries(request.who_ns))
        if (!rows.has(who) && ns >= request.ns / 100)
            add(who);
    return [...rows.values()].map((one) => one.row);
}

function hopTable(page, request, name, title) {
    const body = element("tbody");
    request.hops.forEach((hop, index) => body.append(element("tr", {id: `hop-${name}-${index + 1}`, tabindex: "-1"},
        element("td", {class: "figures"}, duration(hop.at)), element("td", {class: "figures"}, duration(hop.ns)),
        element("td", {}, swatch(hop.kind), kindName(page, hop.kind)),
        element("td", {}, hop.lane ? element("a", {href: `#${hop.lane}`}, hop.who) : hop.who), element("td", {}, hop.what ?? ""))));
    const left = request.left_out > 0 ? ` (${countedText(request.left_out, "shorter one")} ${request.left_out === 1 ? "is" : "are"} left out)` : "";
    return element("table", {}, element("caption", {}, `Hops of ${title}${left}`), element("thead", {}, element("tr", {},
        ...["At", "Time", "Spent on", "Process", "Where"].map((text, i) => element("th", {scope: "col", class: i < 2 ? "figures" : null}, text)))), body);
}

function drawWaterfalls(page, root, chart) {
    if (!page.requests)
        return;
    const which = page.requests.count === 1 ? [["slowest", "the request"]] : [["typical", "the median request"], ["slowest", "the slowest request"]];
    for (const [name, title] of which) {
        const request = page.requests[name];
        const show = element("button", {type: "button"}, "Show it in the chart");
        const head = element("h3", {}, `${title[0].toUpperCase()}${title.slice(1)}: ${duration(request.ns)}`);
        const hops = element("details", {}, element("summary", {}, `Its ${countedText(request.hops.length, "hop")} as a table`),
            wide(`Hops of ${title}`, hopTable(page, request, name, title)));
        show.addEventListener("click", () => {
            chart.chooseTime(request.begin, request.begin + request.ns);
            document.getElementById("time").scrollIntoView();
        });
        root.append(head, element("div", {class: "lanes waterfall"}, ...hopRows(page, request, name)),
            element("div", {class: "axis-row"}, axis(0, request.ns, 6)),
            element("p", {class: "note"}, `It began at ${timeText(request.begin, request.ns / 100)}. ${request.cut ? "Only its last 2,000 hops are known. " : ""}`, ...(chart ? [show] : [])), hops);
    }
}
