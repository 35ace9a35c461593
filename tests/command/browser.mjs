// SPDX-License-Identifier: MIT
// browser.mjs MODULES CHROMIUM PAGE...: opens pages of dpm report in Chromium, and prints a line for each thing that is wrong.
// With DPM_PICTURE=FILE in the environment it only makes a picture of the first screen (scripts/picture).
//
//      1280x800, 390x844, light and dark     axe finds nothing; the console is empty; nothing is wider than the window
//      links                                 each lands on something that is visible then
//      keyboard                              Tab reaches everything that can be focused; Enter opens a lane; a part can be chosen
//      paper, A4 landscape                   no column of a table is cut
//      without scripts                       verdict, findings and tables are there
import fs from "node:fs";
import {pathToFileURL} from "node:url";
import {launch} from "./browser_page.mjs";

const [modules, executablePath, ...pages] = process.argv.slice(2);
const {browser, open: openUrl, violations} = await launch(modules, executablePath, (url) => url.startsWith("file:"));

function open(file, options) {
    return openUrl(pathToFileURL(file).href, options);
}

// axe takes minutes for a large page: one window is enough there.
const largePage = 500000; // bytes

async function checkLooks(file, say) {
    const isLarge = fs.statSync(file).size > largePage;
    for (const [width, height] of [[1280, 800], [390, 844]])
        for (const colorScheme of ["light", "dark"]) {
            const {context, page, said} = await open(file, {viewport: {width, height}, colorScheme});
            const where = `${width}, ${colorScheme}`;
            said.forEach((text) => say(`${where}: console: ${text}`));
            if (!isLarge || (width === 1280 && colorScheme === "light"))
                (await violations(context, page)).forEach((text) => say(`${where}: axe: ${text}`));
            const wide = await page.evaluate(() => document.documentElement.scrollWidth);
            if (wide > width)
                say(`${where}: ${wide} px wide`);
            if (width === 1280 && !await page.evaluate(() => document.querySelector("#chart .lane")?.getBoundingClientRect().bottom < innerHeight))
                say(`${where}: the chart does not begin on the first screen`);
            await context.close();
        }
}

async function checkLinks(file, say) {
    const {context, page} = await open(file, {viewport: {width: 1280, height: 800}});
    const bad = await page.evaluate(async () => {
        const lost = [];
        for (const link of [...document.querySelectorAll("a[href]")].slice(0, 600)) {
            const id = (link.getAttribute("href")).slice(1);
            location.hash = "";
            location.hash = id;
            await new Promise((resolve) => setTimeout(resolve, 0));
            const target = document.getElementById(id);
            if (!target?.checkVisibility())
                lost.push(id);
        }
        return [...new Set(lost)];
    });
    bad.forEach((id) => say(`the link to ${id} does not land`));
    await context.close();
}

async function checkKeyboard(file, say) {
    const {context, page} = await open(file, {viewport: {width: 1280, height: 800}});
    const count = await page.evaluate(() => {
        const all = [...document.querySelectorAll("a[href], button, input, summary, [tabindex='0']")]
            .filter((one) => one.tabIndex >= 0 && one.checkVisibility({visibilityProperty: true}));
        all.forEach((one) => one.setAttribute("data-wanted", ""));
        document.addEventListener("focusin", (event) => event.target.removeAttribute("data-wanted"));
        return all.length;
    });
    await Promise.all(Array.from({length: count + 5}, () => page.keyboard.press("Tab"))); // one by one takes minutes
    const left = await page.evaluate(() => [...document.querySelectorAll("[data-wanted]")].map((one) => one.outerHTML.slice(0, 100)));
    left.forEach((html) => say(`Tab does not reach ${html}`));
    const lane = page.locator("button.lane-label").first();
    if (await lane.count() > 0) {
        await lane.focus();
        await page.keyboard.press("Enter");
        if (await lane.getAttribute("aria-expanded") !== "true" || !await page.locator(".members").first().isVisible())
            say("Enter does not open a lane");
    }
    await page.locator("#chart input[type=range]").first().focus();
    await Promise.all(Array.from({length: 5}, () => page.keyboard.press("ArrowRight")));
    if (await page.locator("#chart .part table").count() !== 1)
        say("arrow keys choose no part of the time");
    await context.close();
}

// The width of A4 landscape between margins of 12 mm.
async function checkPaper(file, say) {
    const {context, page} = await open(file, {viewport: {width: 1032, height: 700}});
    await page.emulateMedia({media: "print"});
    await page.evaluate(() => window.dispatchEvent(new Event("beforeprint")));
    const cut = await page.evaluate(() => [...document.querySelectorAll("table, #chart, .lanes")]
        .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
        .map((one) => `${one.caption?.textContent ?? one.className}: ${Math.round(one.getBoundingClientRect().right)} px`));
    cut.forEach((what) => say(`paper cuts ${what}`));
    await context.close();
}

async function checkWithoutScript(file, say) {
    const {context, page} = await open(file, {javaScriptEnabled: false});
    if (!await page.locator("h1").isVisible() || await page.locator("table:visible").count() === 0)
        say("without scripts there is no verdict, or no table");
    await context.close();
}

const only = process.env.DPM_PICTURE;
for (const file of pages) {
    const say = (text) => console.log(`${file.split("/").pop()}: ${text}`);
    if (only) {
        const {context, page} = await open(file, {viewport: {width: 1000, height: 600}});
        const height = await page.evaluate(() => document.querySelector("#chart .axis-row").getBoundingClientRect().bottom + 2);
        const session = await context.newCDPSession(page); // playwright itself makes no webp, which is a third of a png
        const {data} = await session.send("Page.captureScreenshot", {format: "webp", quality: 80, clip: {x: 0, y: 0, width: 1000, height, scale: 1}});
        fs.writeFileSync(only, Buffer.from(data, "base64"));
        continue;
    }
    for (const check of [checkLooks, checkLinks, checkKeyboard, checkPaper, checkWithoutScript])
        await check(file, say);
}
await browser.close();
