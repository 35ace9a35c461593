/*
 * live_morph.js: makes what is on the page like what was drawn anew, and keeps the elements: so the focus, what is selected, and what
 * is scrolled stay. Listeners belong to what stays around it.
 */
const ownAttributes = ["open", "style"]; /* the user's; and what the page's policy forbids to set as a text */

function morph(old, fresh) {
    for (const {name} of [...old.attributes])
        if (!fresh.hasAttribute(name) && !ownAttributes.includes(name))
            old.removeAttribute(name);
    for (const {name, value} of fresh.attributes)
        if (old.getAttribute(name) !== value && !ownAttributes.includes(name))
            old.setAttribute(name, value);
    if (old.style.cssText !== fresh.style.cssText)
        old.style.cssText = fresh.style.cssText;
    morphChildren(old, [...fresh.childNodes]);
}

/* The children that `root` is to have: nodes, or texts. */
function morphChildren(root, wanted) {
    wanted.map((one) => typeof one === "string" ? document.createTextNode(one) : one).forEach((fresh, i) => {
        const old = root.childNodes[i];
        if (!old)
            root.append(fresh);
        else if (old.nodeName !== fresh.nodeName || old.dataset?.key !== fresh.dataset?.key)
            old.replaceWith(fresh);
        else if (old.nodeType === Node.TEXT_NODE) {
            if (old.data !== fresh.data)
                old.data = fresh.data;
        } else
            morph(old, fresh);
    });
    while (root.childNodes.length > wanted.length)
        root.lastChild.remove();
}
