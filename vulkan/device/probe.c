// SPDX-License-Identifier: Apache-2.0
#include "vulkan/device/probe.h"

#include "lib/half.h"
#include "vulkan/program/sources.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void wnn_probe_fill(float in[PROBE_IN])
{
    memset(in, 0, PROBE_IN * sizeof in[0]);
    for (uint32_t i = 0; i < PROBE_COUNT; i++) {
        // Small whole numbers; halfway between two float16, or beside that; a number whose lower half is any
        // float16.
        uint16_t half = (uint16_t)(i * 1021 % 0x7BFF);
        uint32_t number = 0x3F800000u | (i * 36901 & 0x7FFFFFu);
        float middle = (wnn_half_to_float(half) + wnn_half_to_float((uint16_t)(half + 1))) / 2;
        in[i] = (float)(i * 7 % 31) - 12;
        in[PROBE_COUNT + i] = i % 3 ? nextafterf(middle, i % 3 == 1 ? 0 : INFINITY) : middle;
        memcpy(&in[2 * PROBE_COUNT + i], &number, sizeof number);
    }
    in[3 * PROBE_COUNT] = 1e-40f;
}

void wnn_lower_probe(struct lowering *lowering)
{
    struct program *program = lowering->program;
    bool keeps = lowering->gpu->can.keeps_denormals, dots = lowering->gpu->can.dots;
    char text[8192];
    int length = snprintf(text, sizeof text, GPU_PROBE_HEAD "%s%s%s", dots ? GPU_PROBE_DOTS : "",
                          keeps ? GPU_PROBE_KEEPS : "", wnn_shader_family("probe"));
    struct pipeline *pipeline = wnn_pipelines_find(program->pipelines, text, (size_t)length, 2);
    struct step *step = pipeline ? wnn_program_add(program, STEP_DISPATCH, lowering->node) : NULL;
    if (!step) {
        if (pipeline)
            wnn_pipelines_unref(program->pipelines, pipeline);
        wnn_fail_memory(lowering->error);
        lowering->failed = true;
        return;
    }
#ifdef WNN_PRECOMPILED
    pipeline->words = wnn_gpu_probe[2 * dots + keeps].words;
    pipeline->word_count = wnn_gpu_probe[2 * dots + keeps].count;
#endif
    step->pipeline = pipeline;
    step->binding_count = 2;
    step->has_bases = true;
    step->bindings[0] = (struct binding){lowering->in[0].region, false};
    step->bindings[1] = (struct binding){lowering->out[0].region, true};
    step->groups[0] = step->groups[1] = step->groups[2] = 1;
}

// What the bytes of x, signed or not, times the bytes of y add up to.
static uint32_t dot(uint32_t x, uint32_t y, bool is_signed)
{
    uint32_t sum = 0;
    for (unsigned shift = 0; shift < 32; shift += 8) {
        uint32_t byte = x >> shift & 255;
        sum += (is_signed && byte > 127 ? byte - 256 : byte) * (y >> shift & 255);
    }
    return sum;
}

bool wnn_probe_read(const float in[PROBE_IN], const uint32_t out[PROBE_OUT], struct capabilities *can,
                    bool *flushes_denormals)
{
    const float *a = in + PROBE_COUNT, *b = in + 2 * PROBE_COUNT;
    const uint32_t *halves = out + 2 * PROBE_COUNT, *dots = out + 6 * PROBE_COUNT;
    float results[PROBE_OUT], sum = 0;
    bool right = true, once = true, exact = true, within = true, adds = true;
    memcpy(results, out, sizeof results);
    const float *rests = results + PROBE_COUNT, *floats = results + 3 * PROBE_COUNT,
                *tiny = results + 4 * PROBE_COUNT, *rounded = results + 5 * PROBE_COUNT;
    for (unsigned i = 0; i < PROBE_COUNT; i++) {
        uint32_t bits, others;
        memcpy(&bits, &b[i], sizeof bits);
        memcpy(&others, &a[i], sizeof others);
        uint16_t half = wnn_half_from_float(a[i]);
        float product = a[i] * b[i], expanded = wnn_half_to_float((uint16_t)bits),
              nearest = wnn_half_to_float(half);
        right = right && results[i] == (sum += in[i]);
        once = once && rests[i] == (float)((double)a[i] * b[i] - product);
        exact = exact && halves[i] == half &&
                (expanded != expanded || memcmp(&floats[i], &expanded, sizeof expanded) == 0);
        adds =
            adds && dots[i] == dot(bits, others, false) && dots[PROBE_COUNT + i] == dot(bits, others, true);
        within = within && memcmp(&rounded[i], &nearest, sizeof nearest) == 0;
    }
    can->single_rounding_fma = once && !can->minimal;
    can->halves = exact && !can->minimal;
    can->rounds_halves = within && can->halves;
    can->dots = can->dots && adds;
    *flushes_denormals = tiny[0] != in[3 * PROBE_COUNT];
    return right;
}
