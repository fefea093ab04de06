// SPDX-License-Identifier: Apache-2.0
#include "cpu/simd/tiles.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

// ---------------------------------------------------------------------------------------------------------------
// What there is
// ---------------------------------------------------------------------------------------------------------------

#if WNN_X86_64 && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REQUEST_PERMISSION 0x1023 // ARCH_REQ_XCOMP_PERM, which old headers lack
#define TILE_DATA          18     // component of the state that is saved

// Of 16 rows of 64 bytes, eight.
static bool has_expected_tiles(void)
{
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid_count(0x1D, 1, &eax, &ebx, &ecx, &edx) &&
           eax >> 16 == WNN_TILE_ROWS * WNN_TILE_BYTES && (ebx & 0xFFFF) == WNN_TILE_BYTES &&
           ebx >> 16 >= WNN_TILE_COUNT && (ecx & 0xFFFF) == WNN_TILE_ROWS;
}

static bool find_amx(void)
{
    enum {
        OSXSAVE = 1 << 27,
        TILE = 1 << 24,
        INT8 = 1 << 25,
        STATES = 3 << 17 // configuration and data
    };
    unsigned eax, ebx, ecx, edx, low, high;
    if (wnn_isa() < WNN_ISA_AVX512 || wnn_isa_limit.alone)
        return false;
    if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & OSXSAVE))
        return false;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(edx & TILE) || !(edx & INT8))
        return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & STATES) == STATES && has_expected_tiles();
}

static bool ask_permission(void)
{
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}
#else
static bool find_amx(void)
{
    return false;
}

static bool ask_permission(void)
{
    return false;
}
#endif

// 0 while it is not known, 1: no, 2: yes.
static bool ask_once(atomic_int *answer, bool (*ask)(void))
{
    int known = atomic_load_explicit(answer, memory_order_relaxed);
    if (known == 0) {
        known = ask() ? 2 : 1;
        atomic_store_explicit(answer, known, memory_order_relaxed);
    }
    return known == 2;
}

bool wnn_has_amx(void)
{
    static atomic_int answer;
    return ask_once(&answer, find_amx);
}

static atomic_int forced = -1;

enum tiles wnn_tiles(void)
{
    static atomic_int answer;
    int tiles = atomic_load_explicit(&forced, memory_order_relaxed);
    if (tiles >= 0)
        return (enum tiles)tiles;
    return wnn_has_amx() && ask_once(&answer, ask_permission) ? WNN_TILES_AMX : WNN_TILES_NONE;
}

void wnn_tiles_force(enum tiles tiles)
{
    atomic_store_explicit(&forced, (int)tiles, memory_order_relaxed);
}

// ---------------------------------------------------------------------------------------------------------------
// Emulation
// ---------------------------------------------------------------------------------------------------------------

// What the processor refuses is a failed assertion.
static _Thread_local bool is_configured;

void wnn_emulated_configure(struct tile_file *file)
{
    for (unsigned t = 0; t < WNN_TILE_COUNT; t++)
        assert(file->config.rows[t] <= WNN_TILE_ROWS && file->config.bytes[t] <= WNN_TILE_BYTES &&
               (file->config.rows[t] == 0) == (file->config.bytes[t] == 0));
    memset(file->data, 0, sizeof file->data);
    is_configured = true;
}

void wnn_emulated_release(void)
{
    is_configured = false;
}

bool wnn_emulated_is_configured(void)
{
    return is_configured;
}

void wnn_emulated_zero(struct tile_file *file, unsigned tile)
{
    assert(file->config.palette == 1 && file->config.rows[tile] != 0);
    memset(file->data[tile], 0, sizeof file->data[tile]);
}

void wnn_emulated_load(struct tile_file *file, unsigned tile, const void *from, size_t stride)
{
    wnn_emulated_zero(file, tile);
    for (size_t r = 0; r < file->config.rows[tile]; r++)
        memcpy(file->data[tile][r], (const void *)((uintptr_t)from + r * stride), file->config.bytes[tile]);
}

void wnn_emulated_store(const struct tile_file *file, unsigned tile, void *to, size_t stride)
{
    assert(file->config.palette == 1);
    for (size_t r = 0; r < file->config.rows[tile]; r++)
        memcpy((char *)to + r * stride, file->data[tile][r], file->config.bytes[tile]);
}

static int32_t number(uint8_t byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

void wnn_emulated_dot(struct tile_file *file, unsigned c, unsigned a, unsigned b, bool a_signed,
                      bool b_signed)
{
    const struct tile_config *config = &file->config;
    assert(config->palette == 1 && config->rows[c] != 0 && config->rows[c] == config->rows[a] &&
           config->bytes[c] == config->bytes[b] && config->bytes[a] == 4 * config->rows[b]);
    for (size_t i = 0; i < config->rows[c]; i++)
        for (size_t j = 0; j < config->bytes[c]; j += 4) {
            uint32_t sum;
            memcpy(&sum, &file->data[c][i][j], sizeof sum);
            for (size_t k = 0; k < config->bytes[a]; k++)
                sum += (uint32_t)(number(file->data[a][i][k], a_signed) *
                                  number(file->data[b][k / 4][j + k % 4], b_signed));
            memcpy(&file->data[c][i][j], &sum, sizeof sum);
        }
}
