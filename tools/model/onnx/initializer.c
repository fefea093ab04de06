// SPDX-License-Identifier: Apache-2.0
//
// Initializers of ONNX as constants: their data lie in a field as they do in memory, in fields by type, or in
// another file.
#include "tools/model/onnx/call.h"

#include "tools/model/errors.h"
#include "tools/model/protobuf.h"

#include <string.h>

_Static_assert((int)ONNX_DOUBLE == (int)TYPE_FLOAT64 && (int)ONNX_BFLOAT16 == (int)TYPE_BFLOAT16 &&
                   (int)ONNX_INT4 == (int)TYPE_INT4,
               "types of elements have the numbers of ONNX");

// The part of a file with external data; size 0 and a fault: it is not there.
static struct bytes external_data(struct recording *r, const struct onnx_tensor *source, const char **fault)
{
    struct bytes file = wnn_source_find(r->source, source->location, NULL, NULL, fault);
    size_t left = source->offset <= file.size ? file.size - (size_t)source->offset : 0;
    if (*fault)
        return (struct bytes){0};
    if (source->offset > file.size || source->length > left) {
        *fault = "its file is shorter than that";
        return (struct bytes){0};
    }
    return (struct bytes){file.data + source->offset, source->length ? (size_t)source->length : left};
}

static struct bytes find_external(struct recording *r, const struct constant *constant)
{
    struct onnx_tensor source;
    const char *fault = wnn_onnx_tensor(r->memory, constant->form, &source);
    struct bytes data = fault ? constant->bytes : external_data(r, &source, &fault);
    char name[120];
    wnn_model_print(name, sizeof name, source.name);
    if (fault)
        fail(r, "the external data of \"%s\": %s", name, fault);
    return data;
}

// In the file that is described; empty: it says so itself, of bytes that it does not have.
static struct bytes find_left_out(struct recording *r, const struct constant *constant)
{
    struct onnx_tensor source;
    const char *fault = wnn_onnx_tensor(r->memory, constant->form, &source);
    struct bytes data = fault ? constant->bytes : wnn_source_part(r->source, source.offset, source.length);
    if (fault)
        fail(r, "an initializer: %s", fault);
    return data;
}

// The bits of an element among numbers of a field: of types of 4 bits each has two.
static void set_numbers(struct tensor *t, size_t n, const int64_t *numbers, int64_t count, int64_t *done)
{
    bool packed = t->type == TYPE_INT4 || t->type == TYPE_UINT4;
    for (size_t i = 0; i < (packed ? 2 * n : n) && *done < count; i++, ++*done)
        set_stored(t, *done, (uint64_t)(packed ? numbers[i / 2] >> (i % 2 ? 4 : 0) & 15 : numbers[i]));
}

// Elements in fields by type; false: there are not as many.
static bool read_fields(struct recording *r, const struct constant *constant, struct tensor *t)
{
    struct protobuf reader = {.left = constant->form, .work = &r->memory->work};
    int64_t done = 0, count = count_elements(t);
    for (struct protobuf_field field; wnn_protobuf_next(&reader, &field);) {
        if (field.number == 4 && t->type == TYPE_FLOAT32) {
            size_t n = wnn_protobuf_floats(&reader, &field, 0, NULL);
            float *numbers = wnn_model_allocate(r->memory, n, sizeof *numbers);
            if (!numbers)
                return fail(r, "there is not enough memory");
            wnn_protobuf_floats(&reader, &field, n, numbers);
            for (size_t i = 0; i < n && done < count; i++)
                t->reals[done++] = numbers[i];
        } else if (field.number == 10 && t->type == TYPE_FLOAT64) {
            struct bytes all = field.bytes;
            uint64_t word = field.value;
            if (field.type != PROTOBUF_BYTES)
                all = (struct bytes){(const unsigned char *)&word, 8};
            for (; all.size >= 8 && done < count; all.data += 8, all.size -= 8)
                memcpy(&t->reals[done++], all.data, 8);
        } else if (field.number == 5 || field.number == 7 || field.number == 11) {
            size_t n = wnn_protobuf_numbers(&reader, &field, 0, NULL);
            int64_t *numbers = wnn_model_allocate(r->memory, n, sizeof *numbers);
            if (!numbers)
                return fail(r, "there is not enough memory");
            wnn_protobuf_numbers(&reader, &field, n, numbers);
            set_numbers(t, n, numbers, count, &done);
        }
    }
    if (reader.fault || done < count)
        return fail(r, "an initializer has %lld of %lld elements", (long long)done, (long long)count);
    return true;
}

struct tensor *make_initializer(struct recording *r, const struct onnx_tensor *source)
{
    struct constant *constant = wnn_model_allocate(r->memory, 1, sizeof *constant);
    if (!constant)
        return fail(r, "there is not enough memory");
    *constant = (struct constant){.type = source->type,
                                  .bytes = source->raw,
                                  .find = source->external   ? find_external
                                          : source->left_out ? find_left_out
                                                             : NULL,
                                  .read = read_fields,
                                  .form = source->message};
    return make_constant(r, constant, source->rank, source->dims);
}
