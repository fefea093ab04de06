// SPDX-License-Identifier: Apache-2.0
#include "vulkan/ops/cooperative_tiles.h"

#include <math.h>

enum {
    MAX_SPLITS = 16,         // that scratch memory is planned for, of FEW_ROWS or fewer,
    FEW_PARTIALS = 1 << 20,  // of so many sums;
    PLANNED_SPLITS = 8,      // of more rows,
    MANY_PARTIALS = 1 << 22, // of so many sums,
    PLANNED_INNER = 256,     // with so many inner indices each
    FEW_ROWS = 16,
    STREAMED_COLUMNS = 64,   // or more of a row are read as fast as any
    STREAMED_ROWS = 64,      // or fewer do not keep the units as long busy as memory,
    MOST_STREAMED_ROWS = 96, // or of a matrix whose rows are a multiple of so many columns apart:
    SLOW_COLUMNS = 512,      // as far ahead as one work group reads, they come late
    FEW_STREAMED_ROWS = 32,
    STREAMED_BYTES = 48 << 20, // which the second cache does not keep until the next execution;
    FEW_STREAMED_BYTES = 12 << 20,
    LONG_STEP_BYTES = 64 << 20 // from which on steps of 128 are of use
};

// Fitted to 273 products and convolutions, of which a third was kept apart, in all tiles on an H200: what is
// chosen takes 0.3 % longer there than the best. The last two were measured later, of eight products.
static const struct cooperative_tile half_tiles[COOPERATIVE_TILES] = {
    {128, 128, 64, 64, 64, 1, 6, 1.23f, 0.92f, 0.757f, .together = 2},
    {64, 64, 64, 32, 32, 1, 4.9f, 0.42f, 0.446f, 0.328f},
    {32, 64, 64, 16, 32, 1, 3.8f, 0.31f, 0.432f, 0.281f},
    {32, 32, 64, 16, 16, 1, 3.25f, 0.22f, 0.41f, 0.27f},
    {16, 64, 64, 16, 16, 1, 2.63f, 0.26f, 0.674f, 0.275f},
    {128, 128, 64, 64, 32, 1, 5.05f, 1.54f, 0.896f, 0.894f},
    {96, 128, 64, 48, 64, 1, 7, 0.33f, 0.558f, 0.698f},
    {192, 128, 64, 48, 64, 1, 5.1f, 2.23f, 1.112f, 1.114f},
    {96, 128, 64, 48, 64, 2, 6.36f, 1.22f, 0.649f, 0.648f},
    {64, 128, 64, 32, 32, 1, 4.88f, 0.88f, 0.528f, 0.575f},
    {32, 128, 128, 16, 32, 1, 3.8f, 0.4f, 1.25f, 0.98f, .least_bytes = LONG_STEP_BYTES, .no_pixels = true},
    {160, 128, 64, 80, 32, 1, 3.5f, 3.1f, 1.03f, 1.03f, .no_pixels = true},
    {80, 128, 64, 80, 32, 1, 5.4f, 1.1f, 0.674f, 0.55f, .together = 2, .no_pixels = true}};
static const struct cooperative_tile single_tiles[COOPERATIVE_TILES] = {
    {128, 128, 16, 64, 64, 1, 7.4f, 4.67f, 1.51f, 1.117f, .together = 2},
    {64, 64, 32, 32, 32, 1, 5.55f, 1.67f, 1.04f, 0.706f, .together = 2},
    {32, 64, 32, 16, 32, 1, 10.8f, 0.24f, 0.917f, 0.456f},
    {32, 32, 32, 16, 16, 1, 6.8f, 0.24f, 0.46f, 0.309f},
    {16, 64, 32, 16, 16, 1, 3, 0, 0.5f, 0.4f}};

// Microseconds on an H100: of the dispatch that sums splits, for each of their numbers, and at most of
// waiting for what runs beside; of a work group that sums those of its tile; and for each number that a
// subgroup reads for what is fused.
static const double sum_start = 2.5, sum_number = 8e-7, sum_wait = 7, inside_start = 1.9,
                    read_number = 0.0025;

// A candidate seems to take no more than so many times as long as the best.
static const double candidate = 1.5;

// Of 64 of a step whose part of a matrix comes from memory; and bytes a microsecond, behind that, altogether,
// and to one processor, of both operands.
static const double stream_step = 0.55, stream_behind = 3.8e6, stream_most = 2.6e6, processor_most = 4.5e4;

uint32_t wnn_cooperative_subgroups(const struct cooperative_tile *tile)
{
    return tile->m / tile->subgroup_m * (tile->n / tile->subgroup_n) * tile->slices;
}

uint32_t wnn_cooperative_reads(const struct cooperative_tile *tile)
{
    return tile->subgroup_m * tile->subgroup_n <= 512 ? 16 : 8;
}

static bool tile_fits(const struct capabilities *can, const struct cooperative_tile *tile,
                      const struct matrix_size *size, const struct cooperative_operands *with)
{
    bool a_turned = with->a_turned, b_turned = with->b_turned;
    uint32_t pieces = with->half ? 1 : COOPERATIVE_PIECES,
             subgroup_columns = tile->subgroup_n / (with->paired ? 2 : 1);
    uint32_t subgroups = wnn_cooperative_subgroups(tile), invocations = subgroups * can->subgroup;
    uint32_t a_lines = a_turned ? tile->k : tile->m, a_chunks = (a_turned ? tile->m : tile->k) / 8;
    uint32_t b_lines = b_turned ? tile->n : tile->k, b_chunks = (b_turned ? tile->k : tile->n) / 8;
    uint32_t steps = pieces * 16 * (a_lines * (a_chunks + 1) + b_lines * (b_chunks + 1)),
             slabs = 4 * subgroups * size->m * (tile->subgroup_n + 4), shared = steps > slabs ? steps : slabs;
    return invocations <= can->invocations && invocations % a_chunks == 0 && invocations % b_chunks == 0 &&
           a_lines * a_chunks % invocations == 0 && b_lines * b_chunks % invocations == 0 &&
           shared <= can->shared_bytes && tile->subgroup_m % size->m == 0 &&
           subgroup_columns % size->n == 0 && tile->k / tile->slices % size->k == 0 &&
           size->m * subgroup_columns % (4 * can->subgroup * tile->slices) == 0;
}

// Whether work groups sum splits: if an invocation reads all that it adds up at once. Twice takes longer than
// a dispatch.
static bool sums_inside(const struct cooperative_tile *tile, uint32_t splits,
                        const struct cooperative_operands *with)
{
    uint32_t quads = tile->m * tile->n / 4 / (32 * wnn_cooperative_subgroups(tile));
    return with->counts && quads * splits <= wnn_cooperative_reads(tile);
}

// How long it takes at least to read a matrix that is in memory, if nothing else does. What is read of a row
// at once is longer in wide tiles; and who reads what others read too is not so far ahead.
static double streaming_time(const struct product *p, const struct cooperative_tile *tile, double steps,
                             double rounds, const struct cooperative_operands *with)
{
    double bytes = 2.0 * p->columns * p->inner * p->matrices;
    double late = steps * tile->k / 64 * stream_step,
           own = 2.0 * (tile->m + tile->n) * tile->k * steps * rounds;
    bool slow = p->columns % SLOW_COLUMNS == 0 && p->matrices == 1 && !with->b_turned;
    uint32_t most = slow ? MOST_STREAMED_ROWS : STREAMED_ROWS;
    if (!with->half || with->quantized || p->rows > most ||
        bytes < (p->rows > FEW_STREAMED_ROWS ? STREAMED_BYTES : FEW_STREAMED_BYTES))
        return 0;
    double slower = (tile->n < STREAMED_COLUMNS ? (double)STREAMED_COLUMNS / tile->n : 1) *
                    (1 + wnn_divide_up(p->rows, tile->m)) / 2;
    double all = fmax(late + bytes / stream_behind, bytes / stream_most) * slower;
    return fmax(all, own / processor_most);
}

// Whether a tile has been measured to be of use for such a product.
static bool suits(const struct product *p, const struct cooperative_tile *tile,
                  const struct cooperative_operands *with)
{
    if (tile->no_pixels && with->pixels)
        return false;
    return tile->least_bytes == 0 ||
           (p->matrices == 1 && p->rows > tile->m / 2 && p->rows <= tile->m && !with->quantized &&
            (uint64_t)2 * p->columns * p->inner >= tile->least_bytes);
}

// How many work groups a processor has one after the other. Those that it has together end together, and so
// do the next ones, even if there are too few of them for all processors.
static double rounds_of(const struct cooperative_tile *tile, double groups)
{
    double rounds = ceil(groups / COOPERATIVE_PROCESSORS);
    return rounds > 1 && tile->together > 1 ? ceil(rounds / tile->together) * tile->together : rounds;
}

// How long a product takes, in microseconds, until what runs beside it is done, too, which keeps processors
// busy for so long. Splits cost a dispatch, which waits for all that, and memory, or what the work groups
// take that add them up; what is fused and reads as much as there are results is read by the splits' sum at
// once, and without splits part by part.
static double time_of(const struct product *p, const struct cooperative_tile *tile, uint32_t splits,
                      const struct cooperative_operands *with)
{
    double groups =
        (double)wnn_divide_up(p->rows, tile->m) * wnn_divide_up(p->columns, tile->n) * p->matrices * splits;
    double rounds = rounds_of(tile, groups), steps = wnn_divide_up(wnn_divide_up(p->inner, splits), tile->k);
    double alone = fmax(steps * tile->step, streaming_time(p, tile, steps, rounds, with)),
           busy = steps * rounds * tile->busy + with->beside;
    double numbers = (double)p->rows * p->columns * p->matrices * splits;
    double sum = sums_inside(tile, splits, with)
                     ? inside_start
                     : sum_start + numbers * sum_number + fmin(with->beside, sum_wait),
           reads = with->reads ? tile->subgroup_m * tile->subgroup_n * read_number : 0;
    return tile->start + rounds * tile->round + (busy > alone ? busy : alone) + (splits > 1 ? sum : reads);
}

uint32_t wnn_cooperative_splits(const struct product *p)
{
    const struct cooperative_tile *tile = &half_tiles[0];
    bool few = p->rows <= FEW_ROWS;
    uint64_t count = (uint64_t)p->rows * p->columns * p->matrices,
             tiles =
                 (uint64_t)wnn_divide_up(p->rows, tile->m) * wnn_divide_up(p->columns, tile->n) * p->matrices;
    uint32_t splits = few ? MAX_SPLITS : PLANNED_SPLITS;
    while (splits > 1 &&
           (count * splits > (few ? FEW_PARTIALS : MANY_PARTIALS) ||
            (!few && (tiles * splits > 2 * COOPERATIVE_PROCESSORS || p->inner < splits * PLANNED_INNER))))
        splits /= 2;
    return splits;
}

// The splits in which a tile takes the least time.
static uint32_t splits_of(const struct capabilities *can, const struct product *p,
                          const struct cooperative_tile *tile, const struct cooperative_operands *with,
                          uint32_t most, double *least)
{
    uint32_t first = can->matrix_tile > 0 && most > 1 ? most : 1, splits = first;
    *least = time_of(p, tile, first, with);
    for (uint32_t s = first + 1; s <= most; s++) {
        double time = time_of(p, tile, s, with);
        if (time < *least) {
            *least = time;
            splits = s;
        }
    }
    return splits;
}

static struct cooperative_schedule schedule_of(const struct capabilities *can, const struct product *p,
                                               const struct cooperative_tile *tile, uint32_t splits,
                                               const struct cooperative_operands *with)
{
    struct cooperative_schedule schedule = {.tile = *tile,
                                            .tiles_m = wnn_divide_up(p->rows, tile->m),
                                            .tiles_n = wnn_divide_up(p->columns, tile->n)};
    schedule.split = wnn_divide_up(wnn_divide_up(p->inner, splits), tile->k) * tile->k;
    schedule.splits = wnn_divide_up(p->inner, schedule.split);
    schedule.sums_inside =
        schedule.splits > 1 && (can->matrix_tile > 0 ? with->counts : sums_inside(tile, splits, with));
    return schedule;
}

size_t wnn_cooperative_candidates(const struct capabilities *can, const struct product *p,
                                  const struct cooperative_operands *with, size_t scratch,
                                  struct cooperative_schedule *list, size_t capacity)
{
    const struct cooperative_tile *tiles = with->half ? half_tiles : single_tiles;
    const struct matrix_size *size = with->half ? &can->half_matrices : &can->bfloat16_matrices;
    uint32_t most = scratch < MAX_SPLITS ? (uint32_t)scratch : MAX_SPLITS;
    double times[COOPERATIVE_TILES + 1];
    size_t count = 0;
    for (unsigned i = 0; i < COOPERATIVE_TILES && tiles[i].m > 0; i++) {
        if ((can->matrix_tile > 0 ? i + 1 != can->matrix_tile : !suits(p, &tiles[i], with)) ||
            !tile_fits(can, &tiles[i], size, with) ||
            (uint64_t)wnn_divide_up(p->rows, tiles[i].m) * wnn_divide_up(p->columns, tiles[i].n) >
                can->groups[0])
            continue;
        double time;
        uint32_t splits = splits_of(can, p, &tiles[i], with, most, &time);
        size_t at = count;
        for (; at > 0 && time < times[at - 1]; at--) {
            times[at] = times[at - 1];
            if (at < capacity)
                list[at] = list[at - 1];
        }
        times[at] = time;
        if (at < capacity)
            list[at] = schedule_of(can, p, &tiles[i], splits, with);
        count += count < capacity;
    }
    while (count > 1 && times[count - 1] > candidate * times[0])
        count--;
    return count;
}

bool wnn_cooperative_choose(const struct capabilities *can, const struct product *p,
                            const struct cooperative_operands *with, size_t scratch,
                            struct cooperative_schedule *schedule)
{
    return wnn_cooperative_candidates(can, p, with, scratch, schedule, 1) > 0;
}

double wnn_cooperative_time(uint64_t work, bool half)
{
    const struct cooperative_tile *tile = half ? &half_tiles[0] : &single_tiles[0];
    return (double)work / ((double)tile->m * tile->n * tile->k) * tile->busy / COOPERATIVE_PROCESSORS;
}
