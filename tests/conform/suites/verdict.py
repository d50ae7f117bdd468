#!/usr/bin/env python3
"""verdict.py REPORT.json REPORT.xml SET: what a run of `polyhead conform` says of each op, and whether it is enough."""
import json
import sys
import xml.etree.ElementTree as ElementTree

TRUSTED = 20  # cases per op
ONE_ROUNDING = 0.5  # of the bound: what one rounding to the stored type takes
BUILT_IN = {"exp", "sigmoid"}  # nothing but a driver's function, which may use up all ulps that OpenCL allows it

document = json.load(open(sys.argv[1], encoding="utf-8"))
problems = []
states = {state: count for state, count in document["states"].items() if count > 0}
pairs = document["pairs"]
print(f"{document['device']['spec']}: {states}, {document['trusted']} trusted, {pairs['met']} of {pairs['possible']} pairs")
for case in document["cases"]:
    if case["state"] != "pass":
        print(f"{case['state']}  {case['name']}: {case['reason']}\n    {case['command']}")
whole = document["states"]["unsupported"] == 0
for op in document["ops"]:
    ratio = float(op["ratio"])  # "inf" and "nan" are texts
    print(f"  {op['op']:22} {op['cases']:5} cases {op['trusted']:5} trusted  {ratio:.3g} of the bound in {op['worst_case']}")
    if sys.argv[3] in ("ci", "full") and whole and op["trusted"] < TRUSTED:
        problems.append(f"{op['op']} has {op['trusted']} trusted cases, fewer than {TRUSTED}")
    if not ratio <= (1 if op["op"] in BUILT_IN else ONE_ROUNDING):
        problems.append(f"{op['op']} comes as near as {ratio} to its bound")
if sys.argv[3] in ("ci", "full") and whole and pairs["met"] != pairs["possible"]:
    problems.append("some pairs of options never met")
if states.get("pass", 0) == 0:
    problems.append("nothing passed")

suite = ElementTree.parse(sys.argv[2]).getroot().find("testsuite")
if int(suite.get("tests")) != len(document["cases"]) or len(suite.findall("testcase")) != len(document["cases"]):
    problems.append("the JUnit report has other cases")
if int(suite.get("failures")) != sum(count for state, count in states.items() if state in ("fail", "untrusted", "unexpected-pass")):
    problems.append("the JUnit report has other failures")
for problem in problems:
    print(f"PROBLEM: {problem}")
sys.exit(1 if problems else 0)
