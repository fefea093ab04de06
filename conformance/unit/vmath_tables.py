# SPDX-License-Identifier: Apache-2.0
"""The tables of cpu/simd/vmath_tables.h: polynomials of pieces that interpolate at Chebyshev's nodes.

Prints the file, or compares it with FILE.
usage: vmath_tables.py [FILE]"""

import math
import struct
import sys

HEAD = '''// SPDX-License-Identifier: Apache-2.0
//
// Polynomials for pieces of two functions, as many as an instruction of AVX-512 chooses from. Made by
// conformance/unit/vmath_tables.py.

#ifndef CPU_SIMD_VMATH_TABLES_H_
#define CPU_SIMD_VMATH_TABLES_H_

enum {
    PIECES = 32,
    GELU_TERMS = 5,
    ERF_TERMS = 5
};
'''


def float32(value):
    return struct.unpack('f', struct.pack('f', value))[0]


def interpolate(function, low, high, degree):
    """Coefficients of powers of the distance from the middle, the constant first."""
    middle, half = (low + high) / 2, (high - low) / 2
    count = degree + 1
    nodes = [half * math.cos(math.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    differences = [function(middle + node) for node in nodes]
    for order in range(1, count):
        for i in range(degree, order - 1, -1):
            differences[i] = (differences[i] - differences[i - 1]) / (nodes[i] - nodes[i - order])
    power = [differences[degree]] + [0.0] * degree
    for i in range(degree - 1, -1, -1):
        power = [(power[k - 1] if k else differences[i]) - power[k] * nodes[i] for k in range(count)]
    return power


def gelu_pieces():
    """exp(a^2 / 2) * erfc(a / sqrt(2)) / 2 of a + 1 from 1 to 16, eight pieces for each power of two. A piece's
    index is what the exponent's last two bits and the mantissa's first three are."""
    def ratio(a):
        return math.exp(a * a / 2) * math.erfc(a / math.sqrt(2)) / 2
    pieces = [None] * 32
    for exponent in range(4):
        for eighth in range(8):
            low = 2.0**exponent * (1 + eighth / 8)
            index = ((exponent + 127) * 8 + eighth) % 32
            pieces[index] = interpolate(lambda b: ratio(b - 1), low, low + 2.0**exponent / 8, 4)
    return pieces


def erf_pieces():
    """(erf(x + d) - erf(x)) / d - 1 of d from -1/16 to 1/16, for x in eighths."""
    def slope(x, d):
        if abs(d) < 1e-9:
            return 2 / math.sqrt(math.pi) * math.exp(-x * x) - 1
        return (math.erf(x + d) - math.erf(x)) / d - 1
    return [interpolate(lambda d, x=i / 8: slope(x, d), -1 / 16, 1 / 16, 4) for i in range(32)]


def number(value):
    value = float32(value)
    mantissa, exponent = value.hex().split('p')
    return '0' if value == 0 else f'{mantissa.rstrip("0").rstrip(".")}p{int(exponent)}f'


def rows(values):
    lines, line = [], '    '
    for i, value in enumerate(values):
        text = number(value) + (', ' if i + 1 < len(values) else '')
        if len(line + text.rstrip()) > 109:
            lines.append(line.rstrip())
            line = '     '
        line += text
    return '\n'.join(lines + [line])


def table(name, terms, columns, comment):
    body = ',\n'.join('    {' + rows(column).strip() + '}' for column in columns)
    return f'\n// {comment}\nstatic const float {name}[{terms}][PIECES] = {{\n{body},\n}};\n'


def text():
    gelu, erf = gelu_pieces(), erf_pieces()
    middles = [math.erf(i / 8) for i in range(32)]
    high = [float32(middle) for middle in middles]
    low = [middle - part for middle, part in zip(middles, high)]
    return (HEAD
            + table('gelu_table', 'GELU_TERMS', list(zip(*gelu)),
                    'Of what is beside exp(-a * a / 2) in the tail of the normal distribution. The constant first.')
            + table('erf_middle', '2', [high, low], 'erf of i / 8, and what rounding has taken from it.')
            + table('erf_table', 'ERF_TERMS', list(zip(*erf)), 'Of its slope from there, less 1. The constant first.')
            + '\n#endif\n')


def main():
    if len(sys.argv) < 2:
        sys.stdout.write(text())
        return 0
    with open(sys.argv[1], encoding='utf-8') as file:
        same = file.read().split() == text().split()
    print('as computed' if same else f'{sys.argv[1]} is not what this program prints')
    return not same


if __name__ == '__main__':
    sys.exit(main())
