// SPDX-License-Identifier: MIT
// browser_page.mjs: pages in Chromium, for browser.mjs and live_browser.mjs.
import fs from "node:fs";
import {pathToFileURL} from "node:url";

// Opens pages with the packages of MODULES. Then `open(url, options)` gives {context, page, said}: what is wrong is in `said`: what the
// console says, and requests that `allows(url)` does not allow. `violations(context, page)`: what axe finds.
export async function launch(modules, executablePath, allows) {
    const {chromium} = await import(pathToFileURL(`${modules}/playwright-core/index.mjs`));
    const axe = fs.readFileSync(`${modules}/axe-core/axe.min.js`, "utf8");
    const browser = await chromium.launch({executablePath, args: ["--no-sandbox"]});

    async function open(url, options) {
        const context = await browser.newContext(options);
        context.setDefaultTimeout(600000); // beside load
        const page = await context.newPage();
        const said = [];
        page.on("console", (message) => said.push(message.text()));
        page.on("pageerror", (error) => said.push(String(error)));
        page.on("request", (request) => allows(request.url()) || said.push(`loads ${request.url()}`));
        await page.goto(url);
        return {context, page, said};
    }

    // In a world of its own, where the page's policy does not forbid it.
    async function violations(context, page) {
        const session = await context.newCDPSession(page);
        const {frameTree} = await session.send("Page.getFrameTree");
        const {executionContextId} = await session.send("Page.createIsolatedWorld", {frameId: frameTree.frame.id, worldName: "axe"});
        await session.send("Runtime.evaluate", {expression: axe, contextId: executionContextId});
        const {result} = await session.send("Runtime.evaluate", {contextId: executionContextId, awaitPromise: true, returnByValue: true,
            expression: "axe.run(document).then((found) => found.violations.map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 120)}`))"});
        return result.value;
    }

    return {browser, open, violations};
}
