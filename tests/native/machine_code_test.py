# SPDX-License-Identifier: Apache-2.0
"""Machine code of the kernels: the baseline is packed SSE2, and so are functions that the linker may share.

Usage: machine_code_test.py OBJDUMP NM LIBRARY. Skipped unless the library is for x86-64.
"""

import functools
import re
import subprocess
import sys
import unittest

OBJDUMP, NM, LIBRARY = sys.argv[1:4]
HEADING = re.compile(r"^[0-9a-f]+ <(.*)>:$")
LINE = re.compile(r"^ +([0-9a-f]+):\t(?:(?:lock|rep[nz]?|notrack|bnd|data16|cs) )*(\S+)(?: +(.*))?$")
# Instructions that compilers choose on their own or for intrinsics: SSE3 to SSE4.2, and those new in AVX2.
ABOVE_SSE2 = re.compile(
    r"v[a-z]|addsubp|h(add|sub)p|lddqu|mov(d|sh|sl)dup|pabs|palignr|ph(add|sub|min)|pmaddubsw|pmulhrsw|pshufb|psign|"
    r"p?blend|dpp[sd]|extractps|insertps|movntdqa|mpsadbw|packusdw|pcmp(eqq|gtq|[ei]str)|p(extr|insr)[bdq]|"
    r"p(max|min)(sb|sd|ud|uw)|pmov[sz]x|pmul(dq|ld)|ptest|round[sp][sd]|crc32|popcnt|lzcnt|movbe|"
    r"andn$|bextr|bls[ir]|blsmsk|bzhi|mulx|pdep|pext|rorx|s[ahr][lr]x$|k(mov|or|and|xnor|shift)")
SCALAR_ARITHMETIC = re.compile(r"(add|sub|mul|div)s[sd]|cvtsi2s[sd]")
BASELINE = re.compile(r"native::N_(SCALAR|EMU128|SSE2)::|BaselineLine|portable_fma")


@functools.cache
def functions():
    """Returns the instructions of each function by demangled name: (address, mnemonic, operands)."""
    text = subprocess.run([OBJDUMP, "-dC", "--no-show-raw-insn", LIBRARY], check=True, capture_output=True,
                          text=True).stdout
    found, current = {}, None
    for line in text.splitlines():
        if heading := HEADING.match(line):
            # Several objects can define the same name: `prepare` of two files.
            current = found.setdefault(heading.group(1), [])
        elif (instruction := LINE.match(line)) and current is not None:
            current.append((int(instruction.group(1), 16), instruction.group(2), instruction.group(3) or ""))
    return found


def baseline(pattern):
    """Returns the baseline functions that match `pattern`: a kernel and its parts that were not inlined."""
    found = [code for of, code in functions().items() if BASELINE.search(of) and re.search(pattern, of)]
    assert found, f"no function of the baseline is named {pattern}"
    return found


def innermost_loops(code):
    """Yields the mnemonics of each innermost loop: the code between a backward jump and its target."""
    spans = []
    for address, mnemonic, operands in code:
        target = re.match(r"([0-9a-f]+)\b", operands)
        if mnemonic.startswith("j") and target and code[0][0] <= int(target.group(1), 16) <= address:
            spans.append((int(target.group(1), 16), address))
    inner = [(a, b) for a, b in spans
             if not any((c, d) != (a, b) and a <= c and d <= b for c, d in spans)]
    return [[mnemonic for address, mnemonic, _ in code if a <= address <= b] for a, b in inner]


class MachineCode(unittest.TestCase):
    def assert_has_loop(self, name, *wanted):
        """Expects a loop with each of `wanted` (alternatives separated by |) and no scalar arithmetic."""
        loops = [loop for code in baseline(name) for loop in innermost_loops(code)]
        for loop in loops:
            if any(SCALAR_ARITHMETIC.fullmatch(mnemonic) for mnemonic in loop):
                continue
            if all(any(re.fullmatch(pattern, mnemonic) for mnemonic in loop) for pattern in wanted):
                return
        self.fail(f"{name}: none of {len(loops)} loops is packed and has {wanted}: {loops}")

    def test_hot_loops_of_the_baseline_are_packed(self):
        self.assert_has_loop(r"::multiply_bf16\(|Bf16Kernel", "pslld", "andps|pand", "mulps", "addps")
        self.assert_has_loop(r"::multiply_int8\(|Int8Kernel", "punpcklbw", "psrad", "cvtdq2ps", "mulps", "addps")
        self.assert_has_loop(r"::round_to_bf16\(", "psrld", "paddd")
        self.assert_has_loop(r"::norm_rows\(|::blocks<", "subps", "mulps", "addps")
        self.assert_has_loop(r"::norm_rows\(|::blocks<", "mulps", "paddd", "psrld", "movntdq|movntps")
        self.assert_has_loop(r"::rms_norm\(", "mulps", "addps")
        self.assert_has_loop(r"::swiglu\(", "mulps", "divps")

    def test_limits_of_the_baseline_move_16_bytes_at_a_time(self):
        load, store, around = "mov(dqa|aps|apd)", "mov(dqa|aps|apd)", "movnt(dq|ps|pd)"
        reads = [code for name, code in functions().items() if re.search(r"read_\w+<.*BaselineLine", name)]
        self.assertEqual(len(reads), 4)
        for code in reads:
            self.assertTrue(any(re.fullmatch(load, m) for loop in innermost_loops(code) for m in loop))
        for name, wanted in (("write_all<headroom::native::BaselineLine, false>", store),
                             ("write_all<headroom::native::BaselineLine, true>", around),
                             ("copy_all<headroom::native::BaselineLine, false, false>", store),
                             ("copy_all<headroom::native::BaselineLine, true, false>", around)):
            self.assert_has_loop(name, wanted)

    def test_the_baseline_has_nothing_above_sse2(self):
        of_baseline = {name: code for name, code in functions().items() if BASELINE.search(name)}
        self.assertGreaterEqual(len(of_baseline), 20)
        for name, code in of_baseline.items():
            self.assertEqual([m for _, m, _ in code if ABOVE_SSE2.match(m)], [], name)

    def test_what_the_linker_may_share_is_of_the_baseline(self):
        """The linker may choose any copy of an inline function, so none may be compiled for AVX-512."""
        text = subprocess.run([NM, "-C", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
        shared = {line.split(" ", 2)[2] for line in text.splitlines() if re.match(r"[0-9a-f]+ [WVu] ", line)}
        self.assertGreater(len(shared), 50)
        for name in shared & functions().keys():
            # Functions that only kernels for the same CPUs call.
            if re.match(r"(\S+ )?headroom::native::avx512::|.*\bN_AVX[23]", name):
                continue
            self.assertEqual([m for _, m, _ in functions()[name] if ABOVE_SSE2.match(m)], [], name)
        self.assertTrue(any("zmm" in operands for code in functions().values() for _, _, operands in code))


if __name__ == "__main__":
    header = subprocess.run([OBJDUMP, "-f", LIBRARY], check=True, capture_output=True, text=True).stdout
    if "elf64-x86-64" not in header:
        print("skipped: not a library of x86-64")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
