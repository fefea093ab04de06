// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/int8_tiles.h"

#include <string.h>

// A tile without rows has no bytes either.
static void set_tile(struct tile_config *config, unsigned tile, unsigned rows, unsigned bytes)
{
    config->rows[tile] = (uint8_t)rows;
    config->bytes[tile] = (uint16_t)(rows ? bytes : 0);
}

#define OWN(x)  emulated_##x
#define TILE(x) EMULATED_##x
#define TARGET
#include "cpu/matmul/int8_tiles.inc"

#if WNN_X86_64
#define OWN(x)  amx_##x
#define TILE(x) AMX_##x
#define TARGET  __attribute__((target(WNN_AMX_FEATURES)))
#include "cpu/matmul/int8_tiles.inc"
#endif

const struct int8_tile_loops *wnn_int8_tile_loops(enum tiles tiles)
{
#if WNN_X86_64
    if (tiles == WNN_TILES_AMX)
        return &amx_loops;
#endif
    return tiles == WNN_TILES_EMULATED ? &emulated_loops : NULL;
}
