#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""page_account.py PAGE [--why FILE] [--has TEXT]... [--lacks TEXT]...: checks a page of dpm report --html without a browser.

     markup     elements are closed in order; no handler, no style attribute, nothing that loads; each id once; each link lands
     policy     the hashes of the style and of both scripts, and nothing else, are allowed
     data       JSON; the chart's lanes add up to the account that `dpm why --json` has in FILE, its requests are those
     TEXT       is (not) in what a reader sees or the script draws, after all escapes are undone

Prints "ok", or what is wrong and exit status 1.
"""
import argparse
import base64
import hashlib
import html.parser
import json
import re
import sys

VOID = {"meta", "br", "input", "link", "img", "hr"}
DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
problems = []


def check(holds, problem):
    if not holds:
        problems.append(problem)


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.links, self.text, self.policy = [], [], [], [], None
        self.scripts, self.styles, self.tags = [], [], []

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.tags.append(tag)
        for name, value in attrs:
            check(not name.startswith("on") and name not in ("style", "src", "srcset", "data", "action"), f"<{tag} {name}>")
            check(name != "href" or value.startswith("#"), f"a link to {value}")
        if attributes.get("http-equiv") == "Content-Security-Policy":
            check(not self.scripts and not self.styles, "the policy stands before what it allows")
            self.policy = attributes["content"]
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value[1:] for name, value in attrs if name == "href"]
        self.text += [value for name, value in attrs if name in ("title", "aria-label")]
        if tag == "script":
            self.scripts.append([attributes, ""])
        if tag == "style":
            self.styles.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        check(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}")
        if tag in self.open:
            while self.open.pop() != tag:
                pass

    def handle_data(self, data):
        if self.open[-1:] == ["script"]:
            self.scripts[-1][1] += data
        elif self.open[-1:] == ["style"]:
            self.styles[-1] += data
        else:
            self.text.append(data)


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def check_policy(page):
    check(page.policy is not None, "no policy")
    rules = dict(rule.strip().split(" ", 1) for rule in (page.policy or "").split(";"))
    scripts = [text for attributes, text in page.scripts if attributes.get("type") != "application/json"]
    check(rules.get("default-src") == "'none'", "the policy allows by default")
    check(rules.get("script-src", "").split() == [digest(text) for text in scripts], "the policy has other scripts")
    check(rules.get("style-src", "").split() == [digest(text) for text in page.styles], "the policy has another style")
    check(set(rules) == {"default-src", "script-src", "style-src", "base-uri", "form-action"}, f"the policy has {sorted(rules)}")


def strings_of(value):
    if isinstance(value, dict):
        for one in value.values():
            yield from strings_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from strings_of(one)
    elif isinstance(value, str):
        yield value


def unpack(packed):
    values, at = [], 0
    while at < len(packed):
        count = 1
        if packed[at] == "~":
            count, at = DIGITS.index(packed[at + 1]) + 1, at + 2
        values += [(DIGITS.index(packed[at]) * 64 + DIGITS.index(packed[at + 1])) / 4095] * count
        at += 2
    return values


def near(a, b, of):
    """As near as bins of 4,096 levels allow, of which any may be rounded up to the first."""
    return abs(a - b) <= 0.02 * abs(b) + 0.0005 * of + 1


def check_bins(data, lane, words, bins, most, known):
    """Bins of each kind add up to what is known of the kind."""
    check(set(bins) <= set(known), f"{lane['id']}: {words}: bins of {sorted(bins)}, times of {sorted(known)}")
    for key, packed in bins.items():
        values = unpack(packed)
        check(len(values) in (data["time"]["bins"], data["time"]["bins"] / 2), f"{lane['id']}: {len(values)} bins")
        found = sum(values) * most * data["time"]["ns"] / len(values)
        check(near(found, known.get(key, 0), data["time"]["ns"] * most), f"{lane['id']}: {words}: {key} {found} in bins, {known.get(key)} in all")


def check_lane(data, lane):
    check_bins(data, lane, "threads", lane["bins"], lane["most"], lane["ns"])
    if lane["account"]:
        check_bins(data, lane, "account", lane["account"]["bins"], lane["account"]["most"], lane["account_ns"])


def check_states(data):
    """The state diagram's counts by time add up to those of all time."""
    for arc in data["states"]["arcs"] if data["states"] else []:
        check(sum(arc["moments"]) == arc["count"], f"a state's arc of {arc['count']} messages has {sum(arc['moments'])} by time")


def check_account(data, why):
    requests = data["why"]["of"] == "requests"
    account = why["requests"] if requests else why
    sums = {}
    for lane in data["lanes"]:
        check_lane(data, lane)
        for member in lane.get("members", []):
            check_lane(data, member)
        for key, ns in lane["account_ns"].items():
            sums[key] = sums.get(key, 0) + ns
    known = {key: ns for key, ns in account["spent_on_ns"].items() if ns > 0}
    check(sums == known, f"lanes: {sums}, dpm why: {known}")
    check(data["why"]["ns"] == (account["time_ns"] if requests else account["elapsed_ns"]), "another elapsed time")
    check([row["ns"] for row in data["why"]["rows"]] == [row["time_ns"] for row in account["rows"]][:len(data["why"]["rows"])], "other rows")
    for which in ("typical", "slowest"):
        if data["requests"]:
            drawn, known = data["requests"][which], why["requests"][which]
            check(drawn["ns"] == known["time_ns"], f"the {which} request")
            check(len(drawn["hops"]) + drawn["left_out"] == len(known["hops"]), f"hops of the {which} request")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page")
    parser.add_argument("--why")
    parser.add_argument("--has", action="append", default=[])
    parser.add_argument("--lacks", action="append", default=[])
    asked = parser.parse_args()
    source = open(asked.page, encoding="utf-8", newline="").read()
    page = Page()
    page.feed(source)
    page.close()
    check(not page.open, f"not closed: {page.open}")
    check(len(set(page.ids)) == len(page.ids), f"ids that stand twice: {sorted(one for one in page.ids if page.ids.count(one) > 1)}")
    check(set(page.links) <= set(page.ids), f"links that do not land: {set(page.links) - set(page.ids)}")
    check(len(page.scripts) == 3 and len(page.styles) == 1, f"{len(page.scripts)} scripts, {len(page.styles)} styles")
    check(page.tags.count("main") == 1 and page.tags.count("h1") == 1, "one main, one h1")
    check_policy(page)
    data = json.loads(page.scripts[0][1])
    seen = "\n".join(page.text + list(strings_of(data)))
    check(not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff]", seen), "control characters")
    check_states(data)
    if asked.why:
        check_account(data, json.load(open(asked.why, encoding="utf-8")))
    for text in asked.has:
        check(text in seen, f"no {text!r}")
    for text in asked.lacks:
        check(text not in seen and text not in source, f"there is {text!r}")
    print("\n".join(problems) if problems else "ok")
    return bool(problems)


sys.exit(main())
