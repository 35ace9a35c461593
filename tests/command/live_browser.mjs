// SPDX-License-Identifier: MIT
// live_browser.mjs MODULES CHROMIUM DPM CASE TRACE...: the page of dpm live in Chromium; prints a line for each thing that is wrong.
//
//      site TRACE...       playback: where things stand, metrics, changes, groups, hiding, finding, sorting, keyboard, the slider,
//                          figures at the end, looks
//      grows TRACE FIFO    what is written to FIFO is sent by a program that is recorded: it is seen
//      cut TRACE...        a connection that is cut: nothing is missed
//      hidden TRACE...     a page that is not seen ends its connection, and gets what it missed when it is seen again
//      silent TRACE        a process that made no record is not said to wait
//      names TRACE NAME    a process has this name
//      views TRACE FIFO    a view of a monitor that runs: its strip; elements that stay; why, on request
//      many TRACE...       thousands of processes
import {execFileSync, spawn} from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import {launch} from "./browser_page.mjs";

const [modules, executablePath, dpm, wanted, ...operands] = process.argv.slice(2);
const {browser, open, violations} = await launch(modules, executablePath, (url) => /^(http:\/\/127\.0\.0\.1:|data:,$)/.test(url));
const servers = [];

function say(text) {
    console.log(text);
}

function expect(what, holds, found) {
    if (!holds)
        say(`${what}: ${JSON.stringify(found)}`);
}

// Starts dpm live; `address()` is the latest address of its page.
async function serve(...options) {
    const child = spawn(dpm, ["live", "--port", "0", ...options], {stdio: ["ignore", "ignore", "pipe"]});
    const server = {child, text: "", used: new Set()};
    servers.push(server);
    child.stderr.on("data", (data) => {
        server.text += data;
    });
    server.address = async () => {
        for (let tries = 0; tries < 6000; tries++) {
            const found = [...server.text.matchAll(/page of .*: (http:\S*) \(once/g)].map((match) => match[1]).find((url) => !server.used.has(url));
            if (found) {
                server.used.add(found);
                return found;
            }
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
        throw new Error(`no address: ${server.text}`);
    };
    return server;
}

const desktop = {viewport: {width: 1280, height: 900}};

function says(page, id, pattern) {
    return page.waitForFunction(([at, text]) => new RegExp(text).test(document.getElementById(at).textContent), [id, pattern.source]);
}

// The next moment has come and is drawn; or, beside load, the last one was there before.
async function nextMoment(page) {
    const before = await page.evaluate(() => document.getElementById("figures").textContent);
    await page.waitForFunction((text) => document.getElementById("figures").textContent !== text || /has ended/.test(document.getElementById("state").textContent), before);
}

function boxes(page) {
    return page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#spots .box")].map((one) => [one.dataset.name, one.getAttribute("transform")])));
}

function rows(page) {
    return page.evaluate(() => [...document.querySelectorAll("#matrix tbody tr")].map((one) => one.cells[0].title));
}

function cell(page, ends) {
    return page.locator(`#matrix td[data-ends="${ends}"]`);
}

async function checkLooks(server) {
    for (const [width, height] of [[1280, 900], [390, 844]])
        for (const colorScheme of ["light", "dark"]) {
            const where = `${width}, ${colorScheme}`;
            const {context, page, said} = await open(await server.address(), {viewport: {width, height}, colorScheme});
            await says(page, "state", /has ended/);
            const grouped = await page.inputValue("#group");
            expect(`${where}: on a phone, processes are seen by their programs`, grouped === (width < 640 ? "1" : "0"), grouped);
            await page.selectOption("#group", "0");
            await page.locator("#spots .box[data-name='postgres[103]@db1']").focus();
            await page.keyboard.press("Enter");
            await page.waitForSelector("#details table");
            (await violations(context, page)).forEach((text) => say(`${where}: axe: ${text}`));
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            expect(`${where}: wider than the window`, wide <= width, wide);
            said.forEach((text) => say(`${where}: console: ${text}`));
            await context.close();
        }
}

// Tab reaches all that can be focused; of the matrix one cell, from which arrows go on.
async function checkTab(page) {
    const count = await page.evaluate(() => {
        const all = [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")].filter((one) => one.tabIndex >= 0 && one.checkVisibility());
        all.forEach((one) => one.setAttribute("data-wanted", ""));
        document.addEventListener("focusin", (event) => event.target.removeAttribute("data-wanted"));
        document.activeElement.blur();
        return all.length;
    });
    await Promise.all(Array.from({length: count + 8}, () => page.keyboard.press("Tab")));
    const left = await page.evaluate(() => [...document.querySelectorAll("[data-wanted]")].map((one) => one.outerHTML.slice(0, 120)));
    expect("Tab does not reach", left.length === 0, left);
}

async function checkWhilePlayed(page) {
    await page.waitForSelector("#spots .box[data-name='postgres[103]@db1']");
    const first = await boxes(page);
    const x = (name) => Number(/translate\((\S+)/.exec(first[name])[1]);
    expect("tiers go from clients to servers", x("10.9.0.1:40001") < x("nginx[102]@web1") && x("nginx[102]@web1") < x("python[102]@app1") &&
        x("python[102]@app1") < x("postgres[103]@db1"), first);
    await page.click("#closer");
    const zoomed = await page.getAttribute("#spots svg", "viewBox");
    await page.selectOption("#metric", "bytes");
    await page.selectOption("#order", "name");
    await page.waitForFunction(() => { // it is drawn with the next frame
        const names = [...document.querySelectorAll("#matrix tbody tr")].map((one) => one.cells[0].title);
        return names.join() === [...names].sort((a, b) => a.localeCompare(b)).join();
    });
    const order = await rows(page);
    await nextMoment(page);
    await nextMoment(page);
    const second = await boxes(page);
    expect("boxes stay where they are", Object.entries(first).every(([name, at]) => second[name] === at), [first, second]);
    expect("zoom survives an update", await page.getAttribute("#spots svg", "viewBox") === zoomed, zoomed);
    expect("the metric survives an update", await page.inputValue("#metric") === "bytes", "");
    expect("the order survives an update", (await rows(page)).slice(0, order.length).join() === order.join() || (await rows(page)).length > order.length, await rows(page));
    await page.click("#fit");
}

async function checkChoices(page) {
    const ends = "nginx[102]@web1 to python[102]@app1";
    await page.selectOption("#metric", "sent");
    await page.waitForFunction((at) => /\/s$/.test(document.querySelector(`#matrix td[data-ends="${at}"]`).textContent), ends);
    await page.check("#derivative");
    await page.waitForFunction((at) => / in 1 s$/.test(document.querySelector(`#matrix td[data-ends="${at}"]`).textContent), ends);
    await page.uncheck("#derivative");
    const units = {bytes: /B\/s$/, sentSoFar: /^[\d,]+$/, bytesSoFar: /B$/, size: /B$/, queue: /^[\d,]+$/, wait: /%$/, delay: /%$/, requests: /\/s$/, p50: /[num]?s$/, p99: /[num]?s$/};
    for (const [metric, unit] of Object.entries(units)) {
        await page.selectOption("#metric", metric);
        await page.waitForFunction(([at, text]) => new RegExp(text).test(document.querySelector(`#matrix td[data-ends="${at}"]`).textContent), [ends, unit.source]);
    }
    await cell(page, ends).click();
    await says(page, "details", /nginx\[102\]@web1 to python\[102\]@app1/);
    await page.waitForSelector(`.curves path[data-name^="${ends}: requests, p99"]`);
    await page.locator("#curves .curve-names button").last().click();
    await page.selectOption("#metric", "sent");
    await page.waitForFunction(() => document.querySelectorAll(".curves path.curve").length === 2);

    await page.click("#matrix button[aria-label='Hide nginx[101]@web1']");
    await page.waitForFunction(() => document.querySelector("#matrix td[data-ends^='nginx[101]@web1 ']") === null);
    expect("what is hidden has no box", !await page.locator("#spots .box[data-name='nginx[101]@web1']").isVisible(), "");
    await page.click("#hidden button");
    await page.waitForSelector("#matrix td[data-ends^='nginx[101]@web1 ']");
    await page.fill("#find", "postgres[103]");
    await page.waitForFunction(() => document.querySelectorAll("#matrix tbody tr").length === 2);
    expect("what is found is marked", await page.locator("#spots .box[data-found]").count() === 1, await page.locator("#spots .box[data-found]").count());
    await page.fill("#find", "");
    await page.selectOption("#group", "3");
    await page.waitForSelector("#spots .box[data-name='db1']");
    expect("groups are machines", (await rows(page)).filter((name) => ["web1", "app1", "db1"].includes(name)).length === 3, await rows(page));
    await page.selectOption("#group", "1");
    await page.waitForSelector("#spots .box[data-name='postgres@db1']");
    await page.selectOption("#group", "0");
    await page.waitForSelector("#spots .box[data-name='postgres[103]@db1']");
}

async function checkKeyboard(page) {
    await cell(page, "nginx[102]@web1 to python[102]@app1").focus();
    await page.keyboard.press("ArrowDown");
    const down = await page.evaluate(() => document.activeElement.cellIndex);
    expect("an arrow key moves in the matrix", down > 0, down);
    await page.locator("#spots .box[data-name='python[102]@app1']").focus();
    await page.keyboard.press("Enter");
    await says(page, "details", /^python\[102\]@app1/);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Space");
    await says(page, "state", /^Held/);
    await page.keyboard.press("ArrowLeft");
    await says(page, "when", /ago$/);
    await page.focus("#moment");
    await page.keyboard.press("Home");
    await page.waitForFunction(() => document.getElementById("moment").value === "0");
    const early = await page.textContent("#details");
    await page.keyboard.press("End");
    await says(page, "when", /^now$/);
    await says(page, "state", /has ended/);
    expect("the slider takes the details back", early !== await page.textContent("#details"), "");
}

// At its end the figures are those of dpm stats.
async function checkEnd(page) {
    const stats = JSON.parse(execFileSync(dpm, ["stats", "--json", ...operands], {stdio: ["ignore", "pipe", "ignore"], maxBuffer: 1 << 28}));
    const process = stats.processes.find((one) => one.name === "postgres" && one.pid === 103);
    const pair = stats.pairs.find((one) => stats.processes.some((a) => a.id === one.from && a.name === "python" && a.pid === 102) &&
        stats.processes.some((b) => b.id === one.to && b.name === "postgres" && b.pid === 103));
    await page.selectOption("#metric", "sentSoFar");
    const count = (number) => number.toString().replace(/\B(?=(\d{3})+$)/g, ",");
    await page.waitForFunction((text) => document.querySelector("#matrix td[data-ends='python[102]@app1 to postgres[103]@db1']").textContent === text, count(pair.messages));
    await page.locator("#spots .box[data-name='postgres[103]@db1']").focus();
    await page.keyboard.press("Enter");
    await says(page, "details", /^postgres\[103\]@db1/);
    const last = await page.evaluate(() => Object.fromEntries([...document.querySelectorAll("#details tbody tr")].map((row) => [row.cells[0].textContent, row.cells[2].textContent])));
    expect("messages sent, as dpm stats has them", last["messages sent"] === count(process.sent.messages), last);
    expect("requests answered", last["requests answered"] === count(process.response_last_byte_ns.count), last);
}

const cases = {
    async site() {
        const slow = await serve("--pace", "2", "--interval", "500ms", ...operands);
        const played = await open(await slow.address(), desktop);
        expect("the token leaves the address", !played.page.url().includes("token"), played.page.url());
        await checkWhilePlayed(played.page);
        played.said.forEach((text) => say(`console, while it is played: ${text}`));
        await played.context.close();
        const server = await serve("--pace", "20", "--interval", "200ms", ...operands);
        const {context, page, said} = await open(await server.address(), desktop);
        await says(page, "state", /has ended/);
        await checkChoices(page);
        await checkKeyboard(page);
        await checkEnd(page);
        await checkTab(page);
        said.forEach((text) => say(`console: ${text}`));
        await context.close();
        await checkLooks(server);
    },

    async grows() {
        const [trace, fifo] = operands;
        const server = await serve("--interval", "200ms", trace);
        const {page, said} = await open(await server.address(), desktop);
        const writer = fs.createWriteStream(fifo);
        await page.selectOption("#metric", "sentSoFar");
        for (let count = 1; count <= 5; count++) {
            writer.write("x\n");
            await page.waitForFunction((text) => [...document.querySelectorAll("#matrix td")].some((one) => one.textContent === text), String(count));
        }
        writer.end();
        await says(page, "state", /has ended/);
        said.forEach((text) => say(`console: ${text}`));
    },

    async cut() {
        const server = await serve("--pace", "4", "--interval", "200ms", ...operands);
        const address = new URL(await server.address());
        const port = Number(address.port), sockets = new Set(), asked = [];
        const proxy = net.createServer((from) => { // between both
            const to = net.connect(port, "127.0.0.1");
            sockets.add(from);
            from.on("data", (data) => {
                asked.push(/last-event-id: (\d+)/i.exec(String(data))?.[1]);
                to.write(data);
            });
            to.on("data", (data) => from.write(data));
            [[from, to], [to, from]].forEach(([one, other]) => one.on("close", () => other.destroy()).on("error", () => other.destroy()));
        });
        await new Promise((resolve) => proxy.listen(0, "127.0.0.1", resolve));
        const real = address.origin;
        address.port = proxy.address().port;
        const {context, page} = await open(address.href, desktop);
        await page.waitForFunction(() => Number(document.getElementById("moment").max) > 3);
        sockets.forEach((socket) => socket.destroy());
        await page.waitForFunction(() => /connection is lost/.test(document.getElementById("state").textContent) || Number(document.getElementById("moment").max) > 20);
        await says(page, "state", /has ended/);
        expect("it asks from the last id that it has", Number(asked.filter(Boolean)[0]) > 3, asked);
        const cookies = (await context.cookies(real)).map((one) => `${one.name}=${one.value}`).join("; ");
        const latest = await (await fetch(`${real}/snapshot.json`, {headers: {cookie: cookies}})).json();
        const kept = Number(await page.getAttribute("#moment", "max")) + 1;
        expect("no snapshot is missed", kept === latest.time.number, [kept, latest.time.number]);
        proxy.close();
    },

    async hidden() {
        const server = await serve("--pace", "2", "--interval", "500ms", ...operands);
        const {context, page, said} = await open(await server.address(), desktop);
        await page.addInitScript(() => {
            window.sources = [];
            window.EventSource = class extends EventSource {
                constructor(url) {
                    super(url);
                    window.sources.push(this);
                }
            };
            Object.defineProperty(document, "hidden", {get: () => window.isUnseen === true});
        });
        await page.reload();
        const see = (isUnseen) => page.evaluate((to) => {
            window.isUnseen = to;
            document.dispatchEvent(new Event("visibilitychange"));
        }, isUnseen);
        await page.waitForFunction(() => Number(document.getElementById("moment").max) > 1);
        await see(true);
        await page.waitForFunction(() => window.sources[0].readyState === EventSource.CLOSED);
        await see(false);
        await page.waitForFunction(() => window.sources.length === 2);
        const asked = await page.evaluate(() => window.sources[1].url);
        expect("it asks from the last id that it has", /[?]last=[1-9]/.test(asked), asked);
        await says(page, "state", /has ended/);
        const latest = await (await context.request.get(new URL("/snapshot.json", page.url()).href)).json();
        const kept = Number(await page.getAttribute("#moment", "max")) + 1;
        expect("no snapshot is missed", kept === latest.time.number, [kept, latest.time.number]);
        said.forEach((text) => say(`console: ${text}`));
    },

    async silent() {
        const server = await serve("--pace", "4", "--interval", "100ms", ...operands);
        const {page, said} = await open(await server.address(), desktop);
        await says(page, "state", /has ended/);
        await page.evaluate(() => {
            const slider = document.getElementById("moment");
            slider.value = Math.floor(Number(slider.max) / 2);
            slider.dispatchEvent(new Event("input"));
        });
        for (const [name, pattern] of [["server[200]", /^server.*made no record for most of the interval/], ["client[100]", /^client.*What it waited for most: message: server/]]) {
            await page.locator(`#spots .box[data-name='${name}']`).focus();
            await page.keyboard.press("Enter");
            await says(page, "details", pattern);
        }
        said.forEach((text) => say(`console: ${text}`));
    },

    async names() {
        const [trace, name] = operands;
        const server = await serve("--interval", "100ms", trace);
        const {page, said} = await open(await server.address(), desktop);
        await says(page, "state", /has ended/);
        const found = Object.keys(await boxes(page));
        expect("a box has the name as it is", found.some((one) => one.startsWith(name)), found);
        const made = await page.evaluate(() => document.querySelectorAll("#spots img, #spots script, #spots b, #matrix img, #matrix script, #matrix b, main iframe").length);
        expect("names make elements", made === 0, made);
        await page.locator("#spots .box").first().focus();
        await page.keyboard.press("Enter");
        await page.waitForSelector("#details table");
        for (const text of said)
            say(`console: ${text}`);
    },

    async views() {
        const [trace, fifo] = operands;
        const server = await serve("--interval", "200ms", trace);
        const {context, page, said} = await open(await server.address(), desktop);
        const strip = (pattern) => page.waitForFunction((text) => new RegExp(text).test(document.querySelector("#strips .strip .strip-head")?.textContent), pattern.source);
        const writer = fs.createWriteStream(fifo);
        await strip(/^Full inactive, for /);
        await page.click("#strips summary");
        await page.focus("#curves .curve-names button");
        await page.evaluate(() => {
            for (const id of ["#curves .curve-names button", "#strips .strip", "#strips .strip-picture"])
                document.querySelector(id).isOld = true;
        });
        writer.write("+ 20\n");
        await strip(/^Full active, for .* size: 20$/);
        await page.waitForSelector("#strips .strip-active");
        await page.waitForSelector("#strips .strip-mark", {state: "attached"});
        await page.waitForSelector("#curves .strip-mark", {state: "attached"});
        await nextMoment(page);
        const stays = await page.evaluate(() => [document.activeElement === document.querySelector("#curves .curve-names button"), document.querySelector("#strips details").open,
            ...["#curves .curve-names button", "#strips .strip", "#strips .strip-picture"].map((id) => document.querySelector(id).isOld === true)]);
        expect("elements, the focus and what is open stay", stays.every(Boolean), stays);
        const facts = await page.textContent("#strips dl");
        expect("condition, CORRECT, WITHIN and plan", /Queue\.size >= 15.*kept: values were at most .*sent in time.*Queue: /.test(facts), facts);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect("wider than the window", wide <= 1280, wide);
        writer.write("- 20\n");
        await strip(/^Full inactive, for /);
        await page.click("#hold");
        await page.locator("#strips .strip-picture").first().click({position: {x: 2, y: 10}});
        await says(page, "when", /ago$/);
        await page.click("#hold");
        await page.click("#why button");
        await page.waitForFunction(() => /SHARE|passed|waited|event/.test(document.querySelector("#why pre")?.textContent));
        (await violations(context, page)).forEach((text) => say(`axe: ${text}`));
        writer.end("quit\n");
        said.forEach((text) => say(`console: ${text}`));
    },

    async many() {
        const server = await serve("--interval", "100ms", ...operands);
        const {context, page, said} = await open(await server.address(), desktop);
        await says(page, "state", /has ended/);
        await page.selectOption("#group", "0");
        await page.waitForSelector("#matrix td");
        await page.waitForFunction(() => / pairs with fewer messages are left out/.test(document.getElementById("matrix-note").textContent));
        await page.selectOption("#group", "3");
        await page.selectOption("#metric", "sentSoFar");
        await page.waitForFunction(() => [...document.querySelectorAll("#matrix td")].some((one) => /^≥ [1-9]/.test(one.textContent)));
        await page.selectOption("#group", "0");
        await page.waitForFunction(() => [...document.querySelectorAll("#matrix td")].every((one) => !/≥/.test(one.textContent)));
        const count = await page.evaluate(() => [document.querySelectorAll("#spots .box").length, document.querySelectorAll("#matrix tbody tr").length]);
        expect("at most 50 boxes, 60 rows", count[0] > 10 && count[0] <= 50 && count[1] > 10 && count[1] <= 60, count);
        expect("the rest is one box", await page.locator("#spots .box[data-name='others']").count() === 1, "");
        (await violations(context, page)).forEach((text) => say(`axe: ${text}`));
        const wide = await page.evaluate(() => document.documentElement.scrollWidth);
        expect("wider than the window", wide <= 1280, wide);
        said.forEach((text) => say(`console: ${text}`));
    },
};

try {
    await cases[wanted]();
} catch (error) {
    say(`${error}`);
}
await browser.close();
for (const {child} of servers) {
    child.kill();
    await new Promise((resolve) => child.on("close", resolve));
    expect("dpm live ends in order", child.exitCode === 0, [child.exitCode, child.signalCode]);
}
process.exit(0);
