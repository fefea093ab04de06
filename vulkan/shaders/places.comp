// SPDX-License-Identifier: Apache-2.0
//
// Matrices of float16 and their sums, 16 x 16, of which it is known which elements each of the 32 invocations of a
// subgroup has (capabilities.known_places), for attention_units.comp and few_rows_units.comp.
//
// Element e of eight is in one of two rows, eight apart, and so many columns behind the first; of second operands it is
// the other way round.

#define ROW_IN(e) ((e) / 4)
#define COLUMN_IN(e) ((e) % 2 + (e) / 2 % 2 * 8)
#define FIRST_ROW(lane) ((lane) / 4u)
#define FIRST_COLUMN(lane) ((lane) % 4u * 2u)
// Only constants may number them.
#define FOR_ELEMENTS(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7)
#define FOR_PAIRS(DO) DO(0) DO(2) DO(4) DO(6)

#if MATRICES == KHR
spirv_instruction(id = 81) float element_of(MATRIX_SUM sum, spirv_literal int e);
spirv_instruction(id = 81) float16_t half_of(MATRIX_A operand, spirv_literal int e);
spirv_instruction(id = 81) float16_t second_half_of(MATRIX_B operand, spirv_literal int e);
spirv_instruction(id = 82) MATRIX_SUM sum_with_element(float x, MATRIX_SUM sum, spirv_literal int e);
spirv_instruction(id = 82) MATRIX_A with_element(float16_t x, MATRIX_A a, spirv_literal int e);
spirv_instruction(id = 82) MATRIX_B second_with_element(float16_t x, MATRIX_B b, spirv_literal int e);

// Elements e and e + 1 of the first or the second operand, as float16 in one word.
#define PUT_PAIR_BY(with, matrix, e, pair)                                                                           \
    {                                                                                                                \
        f16vec2 two = unpackFloat2x16(pair);                                                                         \
        matrix = with(two.y, with(two.x, matrix, e), e + 1);                                                         \
    }
#define PUT_PAIR(matrix, e, pair) PUT_PAIR_BY(with_element, matrix, e, pair)
#define PUT_SECOND_PAIR(matrix, e, pair) PUT_PAIR_BY(second_with_element, matrix, e, pair)
#endif
