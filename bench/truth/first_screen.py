# SPDX-License-Identifier: MIT
"""first_screen.py WORDS < REPORT: what the first 25 lines of a report say of the elapsed time. Prints the percentages, added, of the
statements in which this regular expression is found, or `none`; then all statements. If the expression has groups, it is looked for
in all findings, and the group is the percentage, or `time` and `of` are two times."""
import re
import sys



def seconds(text):
    value, unit = text.split()
    return float(value) / {"s": 1, "ms": 1e3}[unit]


def percentage(match):
    names = match.groupdict()
    return 100 * seconds(names["time"]) / seconds(names["of"]) if names else float(match[1])


lines = sys.stdin.read().splitlines()[:25]
found = lines.index("What was found") + 1 if "What was found" in lines else len(lines)
topic, texts = "", {}
for line in lines[found:]:
    if line == "":
        break
    topic = line[:13].strip() or topic
    texts[topic] = texts.get(topic, "") + " " + line[13:].strip()
share = r"(\d+(?:\.\d+)?)%(?: of (?:the time of )?[\d.,]+ (?:min |h )?[^:]*?)?: "
parts = re.split(share, texts.get("Time", ""))[1:]
statements = list(zip(map(float, parts[::2]), parts[1::2]))
fitting = [percent for percent, text in statements if re.search(sys.argv[1], text)]
if re.compile(sys.argv[1]).groups > 0:
    match = re.search(sys.argv[1], " ".join(texts.values()))
    fitting = [percentage(match)] if match else []
    statements = [(0.0, match[0])] if match else statements
print(f"{sum(fitting):.1f}" if fitting else "none", *(f"{percent:g}%: {text.strip()}" for percent, text in statements))
