// SPDX-License-Identifier: Apache-2.0
//
// Tiles (AMX): eight registers of 16 rows of 64 bytes, and sums of products of the bytes of two into the
// 32-bit numbers of a third. Loops over them are written once, in a file that is included with TILE(x)
// defined as AMX_##x, and as EMULATED_##x for processors that have none:
//   CONFIGURE(file)   sets the sizes of all tiles to file->config, and clears them
//   RELEASE(file)
//   ZERO(file, t)
//   LOAD(file, t, from, stride), STORE(file, t, to, stride)   rows that are `stride` bytes apart
//   DOT_UNSIGNED_SIGNED(file, c, a, b), DOT_SIGNED_UNSIGNED, DOT_SIGNED_SIGNED
//       c[i][j] += the products of the 4 bytes at a[i][k] and b[k][j], over k; sums wrap
// where numbers of tiles are literals. What is configured is a state of the thread, which makes its switches
// longer: a loop body releases it before it returns.

#ifndef CPU_TILES_H_
#define CPU_TILES_H_

#include "lib/isa.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    WNN_TILE_COUNT = 8,
    WNN_TILE_ROWS = 16,
    WNN_TILE_BYTES = 64 // of a row
};

enum tiles {
    WNN_TILES_NONE,
    WNN_TILES_EMULATED,
    WNN_TILES_AMX,
};

// Whether the processor has them, and the system saves them. Using them takes a permission of the system too.
bool wnn_has_amx(void);

// What loops use. The first call asks the system for the permission, which holds for the process and those
// that it forks, and may be refused: where there are alternate signal stacks that are too small for tiles,
// say. The answer stays.
enum tiles wnn_tiles(void);

// For tests and measurements: what wnn_tiles returns from now on. Nothing is asked then.
void wnn_tiles_force(enum tiles tiles);

// As the processor reads it.
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};

// The tiles of one thread. `data` is for emulation.
struct tile_file {
    struct tile_config config; // palette 0: none
    uint8_t data[WNN_TILE_COUNT][WNN_TILE_ROWS][WNN_TILE_BYTES];
};

#if WNN_X86_64
#include <immintrin.h>

#define WNN_AMX_FEATURES "amx-tile,amx-int8"

// Not all compilers know that these instructions read memory.
#define AMX_BARRIER() __asm__ volatile("" ::: "memory")
#define AMX_DO(file, instruction)                                                                            \
    do {                                                                                                     \
        (void)(file);                                                                                        \
        AMX_BARRIER();                                                                                       \
        instruction;                                                                                         \
    } while (0)
#define AMX_CONFIGURE(file)                    AMX_DO(file, _tile_loadconfig(&(file)->config))
#define AMX_RELEASE(file)                      AMX_DO(file, _tile_release())
#define AMX_ZERO(file, t)                      AMX_DO(file, _tile_zero(t))
#define AMX_LOAD(file, t, from, stride)        AMX_DO(file, _tile_loadd(t, from, (long)(stride)))
#define AMX_STORE(file, t, to, stride)         AMX_DO(file, _tile_stored(t, to, (long)(stride)))
#define AMX_DOT_UNSIGNED_SIGNED(file, c, a, b) AMX_DO(file, _tile_dpbusd(c, a, b))
#define AMX_DOT_SIGNED_UNSIGNED(file, c, a, b) AMX_DO(file, _tile_dpbsud(c, a, b))
#define AMX_DOT_SIGNED_SIGNED(file, c, a, b)   AMX_DO(file, _tile_dpbssd(c, a, b))
#endif

void wnn_emulated_configure(struct tile_file *file);
void wnn_emulated_release(void);
bool wnn_emulated_is_configured(void); // whether the thread has been left so
void wnn_emulated_zero(struct tile_file *file, unsigned tile);
void wnn_emulated_load(struct tile_file *file, unsigned tile, const void *from, size_t stride);
void wnn_emulated_store(const struct tile_file *file, unsigned tile, void *to, size_t stride);
void wnn_emulated_dot(struct tile_file *file, unsigned c, unsigned a, unsigned b, bool a_signed,
                      bool b_signed);

#define EMULATED_CONFIGURE(file)                 wnn_emulated_configure(file)
#define EMULATED_RELEASE(file)                   ((void)(file), wnn_emulated_release())
#define EMULATED_ZERO(file, t)                   wnn_emulated_zero(file, t)
#define EMULATED_LOAD(file, t, from, stride)     wnn_emulated_load(file, t, from, stride)
#define EMULATED_STORE(file, t, to, stride)      wnn_emulated_store(file, t, to, stride)
#define EMULATED_DOT_UNSIGNED_SIGNED(f, c, a, b) wnn_emulated_dot(f, c, a, b, false, true)
#define EMULATED_DOT_SIGNED_UNSIGNED(f, c, a, b) wnn_emulated_dot(f, c, a, b, true, false)
#define EMULATED_DOT_SIGNED_SIGNED(f, c, a, b)   wnn_emulated_dot(f, c, a, b, true, true)

#endif
