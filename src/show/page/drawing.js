/*
 * drawing.js: elements, units and colours that all drawings share. Texts come from recorded programs: they become text nodes and
 * attributes, never markup.
 *
 *      element("p", {class: "note"}, "12 more")      <p class="note">12 more</p>
 *      shape("rect", {x: 1})                         the same in SVG
 */
const svgSpace = document.getElementById("marks").namespaceURI;

function fill(node, attributes, children) {
    for (const [name, value] of Object.entries(attributes))
        if (value !== null && value !== undefined && value !== false)
            node.setAttribute(name, value === true ? "" : value);
    node.append(...children.filter((child) => child !== null));
    return node;
}

function element(name, attributes = {}, ...children) {
    return fill(document.createElement(name), attributes, children);
}

function shape(name, attributes = {}, ...children) {
    return fill(document.createElementNS(svgSpace, name), attributes, children);
}

/* ---- units, as dpm prints them ---- */

function threeDigits(value) {
    return value >= 99.95 ? value.toFixed(0) : value >= 9.995 ? value.toFixed(1) : value.toFixed(2);
}

function duration(ns) {
    const steps = [[3600e9, "h"], [60e9, "min"], [1e9, "s"], [1e6, "ms"], [1e3, "us"]];
    if (ns >= 120e9 && ns < 7200e9)
        return `${threeDigits(ns / 60e9)} min`;
    for (const [size, unit] of steps)
        if (ns >= size && unit !== "min")
            return `${threeDigits(ns / size)} ${unit}`;
    return `${Math.round(ns)} ns`;
}

function bytesText(bytes) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let step = 0;
    for (; bytes >= 1024 && step < units.length - 1; step++)
        bytes /= 1024;
    return step === 0 ? `${bytes} B` : `${threeDigits(bytes)} ${units[step]}`;
}

function countText(count) {
    return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, ",");
}

/* "1 row", "1,234 rows", "2 processes" */
function countedText(count, word) {
    return `${countText(count)} ${word}${count === 1 ? "" : word.endsWith("s") ? "es" : "s"}`;
}

function percent(share) {
    const value = share * 100;
    return value === 0 ? "0%" : value < 0.1 ? "<0.1%" : value < 9.95 ? `${value.toFixed(1)}%` : `${Math.round(value)}%`;
}

/* ---- texts ---- */

/* Width of a text in the drawings, roughly: they must not depend on fonts that are there. */
function textWidth(text) {
    return [...text].length * 7.2;
}

function shortText(text, most) {
    const letters = [...text];
    return letters.length <= most ? text : `${letters.slice(0, most - 1).join("")}…`;
}

/* ---- kinds of time ---- */

/* What a thread does comes first in a stack of kinds, what it waits for after it; idle kinds are pale and last. */
const kindOrder = ["computing", "no_cpu", "disk", "lock", "interpreter_lock", "vm_stop", "time_limit", "file_lock", "space", "queued", "in_flight", "message_queue", "connect",
    "resent_syn", "no_answer", "open", "child", "input", "signal", "notification", "stopped", "client", "outside", "timer", "event", "idle", "not_started", "unknown"];

/* Kinds that have no colour in the style yet: their own hue each. */
function colourKinds(kinds) {
    kinds.forEach((kind, index) => {
        if (!kindOrder.includes(kind.key)) {
            kindOrder.splice(kindOrder.indexOf("outside"), 0, kind.key);
            document.documentElement.style.setProperty(`--kind-${kind.key}`, `hsl(${(index * 67) % 360} 45% 55%)`);
        }
    });
    for (const swatch of document.querySelectorAll(".swatch[data-kind]"))
        swatch.style.background = kindColour(swatch.dataset.kind);
}

function kindColour(key) {
    return `var(--kind-${key}, var(--kind-unknown))`;
}

function kindName(page, key) {
    const kind = page.kinds.find((one) => one.key === key);
    return kind ? kind.name : key;
}

/* What threads wait for: a message may be in flight for a part of the wait only. */
function waitName(page, key) {
    return page.kinds.find((one) => one.key === key)?.wait ?? key;
}

function swatch(key) {
    const box = element("span", {class: "swatch", "data-kind": key, "aria-hidden": "true"});
    box.style.background = kindColour(key);
    return box;
}

/* ---- bins: a text as page_lanes.c packs it, or (from a page that is still being recorded) an array of shares ---- */

const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

function unpack(packed) {
    if (Array.isArray(packed))
        return packed;
    const values = [];
    const level = (at) => (digits.indexOf(packed[at]) * 64 + digits.indexOf(packed[at + 1])) / 4095;
    for (let at = 0; at < packed.length; at += 2) {
        if (packed[at] !== "~") {
            values.push(level(at));
            continue;
        }
        const count = digits.indexOf(packed[at + 1]) + 1;
        at += 2;
        values.push(...Array(count).fill(level(at)));
    }
    return values;
}

/* ---- a scrolling box that the keyboard reaches ---- */

function wide(label, ...children) {
    return element("div", {class: "wide", tabindex: "0", role: "region", "aria-label": label}, ...children);
}

/* The smallest of 1, 2 and 5 times a power of ten that is at least `least`. */
function tickStep(least) {
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((digit) => digit * power).find((step) => step >= least);
}

/* [ns, share of the width] of marks from `from` to `to`. */
function ticks(from, to, most) {
    const step = tickStep((to - from) / most);
    const list = [];
    for (let at = Math.ceil(from / step) * step; at <= to; at += step)
        list.push([at, (at - from) / (to - from)]);
    return list;
}

function axis(from, to, most) {
    const line = element("div", {class: "axis", "aria-hidden": "true"});
    const step = to > from ? tickStep((to - from) / most) : 1;
    for (const [at, share] of to > from ? ticks(from, to, most) : []) {
        const mark = element("span", {}, at === 0 ? "0" : tickText(at, step));
        mark.style.left = `${share * 100}%`;
        if (share > 0.82)
            mark.className = share > 0.94 ? "last" : "late";
        line.append(mark);
    }
    return line;
}

/* A time with as many digits as neighbours need to differ: "1.20 s", "1,203 ms". */
function tickText(at, step) {
    for (const [size, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "us"]])
        if (step >= size / 100 && (at >= size || step >= size / 10)) {
            const places = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
            const [whole, part] = (at / size).toFixed(places).split(".");
            return `${countText(+whole)}${part ? `.${part}` : ""} ${unit}`;
        }
    return `${countText(at)} ns`;
}

/* A point in time among others that are about `step` apart: a length of three digits would be the same for all of them. */
function timeText(at, step) {
    return at === 0 ? "0 s" : tickText(at, 10 ** Math.floor(Math.log10(Math.max(1, step))));
}
