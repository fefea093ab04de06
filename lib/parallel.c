// SPDX-License-Identifier: Apache-2.0
#include "lib/parallel.h"

struct pieces {
    void (*body)(void *argument, size_t begin, size_t end);
    void *argument;
    size_t count, pieces;
};

static void run_piece(void *argument, size_t index)
{
    const struct pieces *p = argument;
    // The first `rest` pieces are one longer.
    size_t size = p->count / p->pieces, rest = p->count % p->pieces;
    size_t begin = index * size + (index < rest ? index : rest);
    p->body(p->argument, begin, begin + size + (index < rest));
}

void wnn_parallel_for(const struct parallel *parallel, size_t count, size_t grain,
                      void (*body)(void *argument, size_t begin, size_t end), void *argument)
{
    if (count == 0)
        return;
    size_t pieces = count / (grain ? grain : 1),
           most = parallel->threads == 1 ? 1 : (size_t)parallel->threads * 4;
    if (pieces > most)
        pieces = most;
    if (pieces <= 1) {
        body(argument, 0, count);
        return;
    }
    struct pieces state = {body, argument, count, pieces};
    parallel->run(parallel, pieces, run_piece, &state);
}
