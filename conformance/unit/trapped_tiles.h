// SPDX-License-Identifier: Apache-2.0
//
// The instructions of AMX on a processor that has none: each is an illegal one there, and the handler of the
// signal does what the manual says of it, and ends the process where the processor would. So what compilers
// have made of tiles is tested, not only what was written.

#ifndef CONFORMANCE_UNIT_TRAPPED_TILES_H_
#define CONFORMANCE_UNIT_TRAPPED_TILES_H_

#include "conformance/unit/require.h"

#if defined(__x86_64__) && defined(__linux__)
#include <signal.h>
#include <ucontext.h>

enum {
    TRAPPED_TILES = 8,
    TRAPPED_ROWS = 16,
    TRAPPED_BYTES = 64
};

// Of a thread.
static _Thread_local struct {
    bool configured;
    uint8_t config[64];
    uint8_t data[TRAPPED_TILES][TRAPPED_ROWS][TRAPPED_BYTES];
} trapped;

// An instruction: the fields of a VEX prefix of three bytes, and of what follows it.
struct trapped_instruction {
    unsigned prefix, opcode, mod, reg, rm, vvvv, length;
    uintptr_t address, stride; // of memory
};

static inline unsigned trapped_rows(unsigned tile)
{
    return trapped.config[48 + tile];
}

static inline unsigned trapped_bytes(unsigned tile)
{
    return trapped.config[16 + 2 * tile] | (unsigned)trapped.config[17 + 2 * tile] << 8;
}

static inline void trapped_require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "trapped tiles: %s\n", what);
    _Exit(1);
}

static inline uintptr_t trapped_register(const ucontext_t *context, unsigned number)
{
    static const int numbers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    return (uintptr_t)context->uc_mcontext.gregs[numbers[number]];
}

// Memory is [base + displacement] or, in the form that tiles take, [base + index * scale + displacement].
static inline void trapped_find_memory(const ucontext_t *context, const uint8_t *at,
                                       struct trapped_instruction *it)
{
    unsigned high_base = at[1] & 0x20 ? 0 : 8, high_index = at[1] & 0x40 ? 0 : 8;
    int32_t displacement = 0;
    if (it->rm == 4) {
        unsigned sib = at[it->length++], base = (sib & 7) | high_base, index = (sib >> 3 & 7) | high_index;
        trapped_require(it->mod != 0 || (sib & 7) != 5, "memory without a base");
        it->address = trapped_register(context, base);
        it->stride = index == 4 ? 0 : trapped_register(context, index) << (sib >> 6);
    } else if (it->mod == 0 && it->rm == 5) {
        memcpy(&displacement, at + it->length, 4);
        it->length += 4;
        it->address = (uintptr_t)at + it->length;
    } else {
        it->address = trapped_register(context, it->rm | high_base);
    }
    if (it->mod == 1)
        displacement = (int8_t)at[it->length++];
    if (it->mod == 2) {
        memcpy(&displacement, at + it->length, 4);
        it->length += 4;
    }
    it->address += (uintptr_t)(intptr_t)displacement;
}

static inline struct trapped_instruction trapped_read(const ucontext_t *context)
{
    const uint8_t *at = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
    // The map of 0F 38, 128 bits, W and R as they are for eight registers.
    trapped_require(at[0] == 0xC4 && (at[1] & 0x9F) == 0x82 && !(at[2] & 0x84), "another instruction");
    struct trapped_instruction it = {.prefix = at[2] & 3,
                                     .opcode = at[3],
                                     .mod = at[4] >> 6,
                                     .reg = at[4] >> 3 & 7,
                                     .rm = at[4] & 7,
                                     .vvvv = ~(unsigned)at[2] >> 3 & 15,
                                     .length = 5};
    if (it.mod != 3)
        trapped_find_memory(context, at, &it);
    return it;
}

static inline void trapped_configure(uintptr_t address)
{
    memset(&trapped, 0, sizeof trapped);
    memcpy(trapped.config, (const void *)address, sizeof trapped.config);
    trapped.configured = true;
    trapped_require(trapped.config[0] == 1, "the palette");
    for (unsigned i = 0; i < 64; i++)
        trapped_require(i == 0 || (i >= 16 && i < 32) || (i >= 48 && i < 56) || trapped.config[i] == 0,
                        "a reserved byte");
    for (unsigned t = 0; t < TRAPPED_TILES; t++)
        trapped_require(trapped_rows(t) <= TRAPPED_ROWS && trapped_bytes(t) <= TRAPPED_BYTES &&
                            (trapped_rows(t) == 0) == (trapped_bytes(t) == 0),
                        "the size of a tile");
}

static inline void trapped_move(const struct trapped_instruction *it, bool load)
{
    uint8_t(*data)[TRAPPED_BYTES] = trapped.data[it->reg];
    if (load)
        memset(data, 0, sizeof trapped.data[0]);
    for (unsigned r = 0; r < trapped_rows(it->reg); r++) {
        void *memory = (void *)(it->address + r * it->stride);
        if (load)
            memcpy(data[r], memory, trapped_bytes(it->reg));
        else
            memcpy(memory, data[r], trapped_bytes(it->reg));
    }
}

static inline int32_t trapped_number(uint8_t byte, bool is_signed)
{
    return is_signed ? (int8_t)byte : byte;
}

// tdpbuud, tdpbusd, tdpbsud, tdpbssd by their prefix.
static inline void trapped_dot(const struct trapped_instruction *it)
{
    unsigned c = it->reg, a = it->rm, b = it->vvvv;
    trapped_require(b < TRAPPED_TILES && c != a && c != b && a != b, "a tile twice");
    trapped_require(trapped_rows(c) != 0 && trapped_rows(c) == trapped_rows(a) &&
                        trapped_bytes(c) == trapped_bytes(b) && trapped_bytes(a) == 4 * trapped_rows(b),
                    "the sizes of a product");
    for (unsigned i = 0; i < trapped_rows(c); i++)
        for (unsigned j = 0; j < trapped_bytes(c); j += 4) {
            uint32_t sum;
            memcpy(&sum, &trapped.data[c][i][j], sizeof sum);
            for (unsigned k = 0; k < trapped_bytes(a); k++)
                sum += (uint32_t)(trapped_number(trapped.data[a][i][k], it->prefix >= 2) *
                                  trapped_number(trapped.data[b][k / 4][j + k % 4], it->prefix % 2));
            memcpy(&trapped.data[c][i][j], &sum, sizeof sum);
        }
}

static inline void on_tile_instruction(int number, siginfo_t *info, void *argument)
{
    enum {
        NONE,
        H66,
        F3,
        F2
    }; // prefixes
    ucontext_t *context = argument;
    const struct trapped_instruction it = trapped_read(context);
    (void)number;
    (void)info;
    bool memory = it.mod != 3;
    if (it.opcode == 0x49 && it.prefix == NONE && memory) {
        trapped_configure(it.address);
    } else {
        trapped_require(trapped.configured, "tiles are not configured");
        bool has_tile = trapped_rows(it.reg) != 0;
        if (it.opcode == 0x49 && it.prefix == NONE && it.reg == 0 && it.rm == 0)
            trapped.configured = false;
        else if (it.opcode == 0x49 && it.prefix == F2 && !memory && it.rm == 0 && has_tile)
            memset(trapped.data[it.reg], 0, sizeof trapped.data[0]);
        else if (it.opcode == 0x4B && it.prefix >= F3 && memory && it.rm == 4 && has_tile)
            trapped_move(&it, it.prefix == F2);
        else if (it.opcode == 0x5E && !memory)
            trapped_dot(&it);
        else
            trapped_require(false, "another instruction, or a tile without a size");
    }
    context->uc_mcontext.gregs[REG_RIP] += (greg_t)it.length;
}

// False: it cannot be done here.
static inline bool trap_tiles(void)
{
    struct sigaction action = {.sa_sigaction = on_tile_instruction, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGILL, &action, NULL) == 0;
}

// Whether this thread has been left with tiles in use.
static inline bool has_trapped_tiles_in_use(void)
{
    return trapped.configured;
}
#else
static inline bool trap_tiles(void)
{
    return false;
}

static inline bool has_trapped_tiles_in_use(void)
{
    return false;
}
#endif

#endif
