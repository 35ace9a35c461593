/*
 * flame.js: all time of all threads, waits included.
 *
 *      [machine                                             ]   a frame leads to its part of the time: click, or
 *      [program               ][program                     ]   arrows and Enter
 *      [thread     ][thread   ][thread                      ]
 *      [computing][disk][event][message in flight           ]
 *      [in work  ][fsync]
 */
function flameTree(page) {
    const root = {name: "all", value: 0, children: new Map(), parent: null, kind: null};
    const add = (path, kind, ns) => {
        let at = root;
        root.value += ns;
        path.forEach((name, depth) => {
            if (!at.children.has(name))
                at.children.set(name, {name, value: 0, children: new Map(), parent: at, kind: depth >= path.length - 1 || depth === 3 ? kind : null});
            at = at.children.get(name);
            at.value += ns;
        });
    };
    for (const [machine, program, thread, kind, what, ns] of page.flame.rows)
        add([page.machines[machine]?.name ?? "machine", program, thread, kindName(page, kind), ...(what ? [what] : [])], kind, ns);
    for (const [kind, ns] of Object.entries(page.flame.rest_ns))
        add(["short rows", kindName(page, kind)], kind, ns);
    return root;
}

class Flame {
    constructor(page) {
        this.root = flameTree(page);
        this.top = this.root;
        this.page = page;
        this.box = element("div", {class: "flame", role: "group", "aria-label": "Flame graph: arrow keys move, Enter zooms, Escape shows all"});
        this.says = element("p", {class: "readout", role: "status"}, "");
        this.search = element("input", {type: "search"});
        this.idle = element("input", {type: "checkbox"});
        this.search.addEventListener("input", () => this.mark());
        this.idle.addEventListener("change", () => this.draw());
        this.box.addEventListener("keydown", (event) => this.key(event));
        this.draw();
    }

    /* Waits for a timeout or event say little; without them the rest is wide enough to read. */
    valueOf(frame) {
        if (!this.idle.checked)
            return frame.value;
        if (frame.kind === "event" || frame.kind === "timer")
            return 0;
        return frame.children.size === 0 ? frame.value : [...frame.children.values()].reduce((sum, child) => sum + this.valueOf(child), 0);
    }

    draw() {
        this.frames = new Map();
        this.box.replaceChildren();
        const above = [];
        for (let at = this.top; at; at = at.parent)
            above.unshift(at);
        above.forEach((frame, depth) => this.put(frame, 0, 1, depth));
        this.putChildren(this.top, 0, 1, above.length);
        const depth = Math.max(...[...this.frames.values()].map((one) => one.depth)) + 1;
        this.box.style.height = `${depth * 22}px`;
        this.mark();
    }

    putChildren(frame, left, width, depth) {
        const all = this.valueOf(frame);
        for (const child of [...frame.children.values()].sort((a, b) => this.valueOf(b) - this.valueOf(a))) {
            const share = all > 0 ? this.valueOf(child) / all * width : 0;
            if (share < 0.0015)
                continue;
            this.put(child, left, share, depth);
            this.putChildren(child, left, share, depth + 1);
            left += share;
        }
    }

    put(frame, left, width, depth) {
        const text = `${frame.name}: ${duration(frame.value)}, ${percent(frame.value / this.root.value)} of all time of threads`;
        const button = element("button", {type: "button", class: "frame", title: text, "aria-label": text, tabindex: frame === this.top ? "0" : "-1"},
            width > 0.02 ? frame.name : "");
        button.style.left = `${left * 100}%`;
        button.style.width = `${width * 100}%`;
        button.style.top = `${depth * 22}px`;
        if (frame.kind)
            button.style.setProperty("--frame", kindColour(frame.kind));
        button.addEventListener("click", () => this.zoom(frame));
        button.addEventListener("focus", () => {
            this.says.textContent = text;
        });
        this.frames.set(frame, {button, depth});
        this.box.append(button);
    }

    zoom(frame) {
        this.top = frame;
        this.draw();
        this.frames.get(frame).button.focus();
    }

    key(event) {
        const frame = [...this.frames].find(([, one]) => one.button === document.activeElement)?.[0];
        if (!frame)
            return;
        const siblings = frame.parent ? [...frame.parent.children.values()].filter((one) => this.frames.has(one))
            .sort((a, b) => this.valueOf(b) - this.valueOf(a)) : [frame];
        const at = siblings.indexOf(frame);
        const children = [...frame.children.values()].filter((one) => this.frames.has(one)).sort((a, b) => this.valueOf(b) - this.valueOf(a));
        const next = {ArrowUp: frame.parent, ArrowDown: children[0], ArrowLeft: siblings[at - 1], ArrowRight: siblings[at + 1],
            Escape: this.root}[event.key];
        if (!next)
            return;
        event.preventDefault();
        if (event.key === "Escape")
            this.zoom(this.root);
        else
            this.frames.get(next)?.button.focus();
    }

    mark() {
        const words = this.search.value.trim().toLowerCase();
        const found = (frame) => words !== "" && frame.name.toLowerCase().includes(words);
        const sum = (frame) => found(frame) ? frame.value : [...frame.children.values()].reduce((all, child) => all + sum(child), 0);
        for (const [frame, {button}] of this.frames)
            button.classList.toggle("found", found(frame));
        this.says.textContent = words === "" ? "" : `${percent(sum(this.root) / this.root.value)} of all time of threads (${duration(sum(this.root))}) has “${words}”.`;
    }
}

function drawFlame(page, root) {
    if (page.flame.rows.length === 0)
        return;
    const flame = new Flame(page);
    root.append(element("div", {class: "controls"}, element("label", {}, "Search ", flame.search),
        element("label", {}, flame.idle, " without timers, timeouts and events")), flame.box, flame.says);
}
