#!/usr/bin/env python3
"""kernels.py FOLDER: what no kernel of the OpenCL backend may say (docs/user-reports.md).

Reads the kernels and the host code below FOLDER.  Before that it looks at samples that are wrong, so that a rule which no
longer finds anything is noticed.
"""
import re
import sys
from pathlib import Path

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
# R070: no double, and no literal that is one.  R074: no sub-groups.
KERNEL_RULES = [
    (re.compile(r"\bdouble\d*\b|\bcl_khr_fp64\b|\bconvert_double"), "uses double"),
    (re.compile(r"(?<![\w.])(?:\d+\.\d*|\.\d+|\d+(?=[eE]))(?:[eE][-+]?\d+)?(?![\w.])"), "holds a literal of type double"),
    (re.compile(r"sub_group|cl_(?:khr|intel)_subgroups"), "uses sub-groups"),
    (re.compile(r"#\s*pragma\s+OPENCL\s+EXTENSION"), "needs an extension"),
]
# R062: with these, infinity and NaN are undefined.
HOST_RULE = re.compile(r"-cl-(?:fast-relaxed-math|finite-math-only|unsafe-math-optimizations)")
BARRIER = re.compile(r"\b(?:barrier|work_group_barrier|work_group_reduce\w*|work_group_scan\w*)\s*\(")
LEAVES = re.compile(r"\b(?:return|continue|break|goto)\b")


def functions(text):
    """The bodies in braces at the outermost level."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        if letter == "{":
            depth += 1
            if depth == 1:
                start = at
        elif letter == "}":
            depth -= 1
            if depth == 0:
                yield text[start:at]


def kernel_problems(text):
    text = COMMENT.sub(" ", text)
    found = [what for rule, what in KERNEL_RULES if rule.search(text)]
    for body in functions(text):
        barriers = [match.start() for match in BARRIER.finditer(body)]
        if barriers and LEAVES.search(body[:barriers[-1]]):  # R061: some work-items may never get there
            found.append("may leave before a barrier")
    return found


def host_problems(text):
    return ["lets the compiler ignore infinity and NaN"] if HOST_RULE.search(COMMENT.sub(" ", text)) else []


def check_samples():
    wrong = ["double x;", "x = convert_double4(y);", "x = 0.5 * y;", "x = 1e-3;", "x = 2. * y;", "x = .5;",
             "sub_group_reduce_add(x);", "#pragma OPENCL EXTENSION cl_khr_fp16 : enable",
             "kernel void k(int n) { if (n < 3) return; barrier(CLK_LOCAL_MEM_FENCE); }",
             "kernel void k(int n) { for (;;) { if (n) continue; barrier(CLK_LOCAL_MEM_FENCE); } }"]
    right = ["x = 0.5f * 1e-3f + 2.f + .5f + 0x1p-3f;", "float8 a1e5 = v.s0; x = v.x; /* double 0.5 */",
             "kernel void k(int n) { barrier(CLK_LOCAL_MEM_FENCE); if (n < 3) return; }"]
    bad = [f"this is wrong and passes: {sample}" for sample in wrong if not kernel_problems(sample)]
    bad += [f"this is right and is refused: {sample}" for sample in right if kernel_problems(sample)]
    if not host_problems('add(out, "-cl-fast-relaxed-math");'):
        bad.append("-cl-fast-relaxed-math passes")
    return bad


def main():
    folder = Path(sys.argv[1])
    kernels, host = sorted(folder.rglob("*.cl")), sorted([*folder.rglob("*.c"), *folder.rglob("*.h")])
    bad = check_samples()
    for path in kernels:
        bad += [f"{path}: {what}" for what in kernel_problems(path.read_text(encoding="utf-8"))]
    for path in kernels + host:
        bad += [f"{path}: {what}" for what in host_problems(path.read_text(encoding="utf-8"))]
    print("\n".join(bad) or f"{len(kernels)} kernel files and {len(host)} of the host keep to the rules")
    return 1 if bad or not kernels or not host else 0


sys.exit(main())
