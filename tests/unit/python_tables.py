# SPDX-License-Identifier: Apache-2.0
"""Prints a line of python_tables.h: version, first line, table, and the line of each instruction according to this interpreter."""
import sys, dis
src = '''
def sample(a, b):
    c = (a +
         b)

    def inner(x):
        return [y for y in
                x]
    try:
        for i in range(c):
            if (i
                    and a):
                continue
            call(
                i,
                b=inner(i),
            )
    except ValueError as e:
        raise RuntimeError(
            "x") from e
    finally:
        d = 1
''' + "\n" * 200 + '''
    with open(a) as f:
        return f.read() + \\
            "z"
'''
ns = {}
code = compile(src, "s.py", "exec")
code = [k for k in code.co_consts if hasattr(k, "co_code")][0]
v = sys.version_info[:2]
table = code.co_lnotab if v < (3, 10) else code.co_linetable
lines = {}
if v >= (3, 10):
    for s, e, l in code.co_lines():
        for o in range(s, e, 2):
            lines[o] = l
else:
    last = None
    starts = dict(dis.findlinestarts(code))
    for o in range(0, len(code.co_code), 2):
        last = starts.get(o, last)
        lines[o] = last
print("    {0x%04x, %d, \"%s\", \"%s\"}," % (v[0] * 256 + v[1], code.co_firstlineno, table.hex(),
      " ".join("%d:%d" % (o, l) for o, l in sorted(lines.items()) if l is not None)))
