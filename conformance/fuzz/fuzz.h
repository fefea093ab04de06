// SPDX-License-Identifier: Apache-2.0
#ifndef CONFORMANCE_FUZZ_FUZZ_H_
#define CONFORMANCE_FUZZ_FUZZ_H_

#include <stddef.h>
#include <stdint.h>

// What libFuzzer calls, and driver.c where there is no libFuzzer.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What libFuzzer calls to change an input, where a fuzzer has it, and what that may call.
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
__attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t capacity);

// How many inputs came as far as a graph.
extern unsigned long fuzz_built;

// Records a random graph on the builder of a model that has begun.
struct model;
void fuzz_random_model(struct model *model, unsigned seed);

#endif
