// SPDX-License-Identifier: Apache-2.0
#include "tools/run_data.h"

#include "tools/bench_models.h"
#include "tools/bounds.h"
#include "tools/memory.h"
#include "tools/npz.h"
#include "tools/standard_input.h"
#include "tools/tensor_proto.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct run_port *run_ports_make(const WNNNamedDescriptor *list, size_t count, WNNNamedBuffer **buffers)
{
    struct run_port *ports = must_allocate(count * sizeof *ports);
    *buffers = must_allocate(count * sizeof **buffers);
    for (size_t i = 0; i < count; i++) {
        struct run_port *port = &ports[i];
        port->name = wnn_string(list[i].name);
        port->type.type = list[i].descriptor.dataType;
        wnn_shape_append(&port->type.shape, list[i].descriptor.shape.data,
                         (unsigned)list[i].descriptor.shape.count);
        port->bytes = wnn_descriptor_bytes(&port->type);
        port->data = must_allocate(port->bytes);
        (*buffers)[i] = (WNNNamedBuffer){list[i].name, port->data, port->bytes, port->type.type};
    }
    return ports;
}

struct run_port **run_ports_list(struct run_port *ports, size_t count)
{
    struct run_port **list = must_allocate(count * sizeof *list);
    for (size_t i = 0; i < count; i++)
        list[i] = &ports[i];
    return list;
}

void run_ports_free(struct run_port *ports, size_t count, WNNNamedBuffer *buffers)
{
    for (size_t i = 0; i < count; i++) {
        free(ports[i].data);
        free(ports[i].kept);
    }
    free(ports);
    free(buffers);
}

void run_port_randomise(struct run_port *port, uint64_t *seed)
{
    size_t count = wnn_shape_elements(&port->type.shape);
    bool real = wnn_dtype_is_float(port->type.type);
    for (size_t i = 0; i < count; i++) {
        double value = (double)random_number(seed);
        WNNNumber number = wnnNumberFloat64(real ? value : floor((value + 1) * 2));
        wnn_number_store(wnn_number_convert(number, port->type.type), port->type.type, port->data, i);
    }
}

// Whether two shapes are the same but for sizes of 1.
static bool same_but_ones(const uint32_t *a, unsigned a_rank, const uint32_t *b, unsigned b_rank)
{
    for (unsigned i = 0, k = 0;; i++, k++) {
        while (i < a_rank && a[i] == 1)
            i++;
        while (k < b_rank && b[k] == 1)
            k++;
        if (i == a_rank || k == b_rank)
            return i == a_rank && k == b_rank;
        if (a[i] != b[k])
            return false;
    }
}

size_t count_values(const struct shape *array, const struct shape *value)
{
    if (same_but_ones(array->dim, array->rank, value->dim, value->rank))
        return 1;
    return array->rank > 0 && same_but_ones(array->dim + 1, array->rank - 1, value->dim, value->rank)
               ? array->dim[0]
               : 0;
}

// Bytes for an input of floats are pixels.
static bool are_pixels(const struct element_type *element, WNNDataType type)
{
    return element->type == WNNDataType_Uint8 && wnn_dtype_is_float(type);
}

// Whether numbers of one type can stand for those of another, as far as each of them fits.
static bool can_become(const struct element_type *element, WNNDataType type)
{
    bool real = element->kind == ELEMENT_REAL;
    return real == wnn_dtype_is_float(type) || are_pixels(element, type);
}

// Finds out how many values the file's array has for an input.
static bool accept_array(struct run_file *file, const struct run_port *port, struct error *error)
{
    const struct array *array = &file->array;
    if (!can_become(array->element, port->type.type))
        return wnn_fail(error, WNNStatus_TypeError, "%s: an array of %s%s; the input %s is %s%s", file->path,
                        array->element->name, SHAPE_TEXT(&array->shape), port->name.data,
                        wnn_dtype_name(port->type.type), SHAPE_TEXT(&port->type.shape));
    file->items = count_values(&array->shape, &port->type.shape);
    return file->items > 0 ||
           wnn_fail(error, WNNStatus_TypeError, "%s: an array of shape %s; the input %s has shape %s",
                    file->path, SHAPE_TEXT(&array->shape), port->name.data, SHAPE_TEXT(&port->type.shape));
}

static bool accept_raw(struct run_file *file, struct mapping *mapping, const struct run_port *port,
                       struct error *error)
{
    file->items = mapping->size % port->bytes == 0 ? mapping->size / port->bytes : 0;
    file->array = (struct array){
        .mapping = mapping_ref(mapping), .data = mapping->data, .element = element_type_of(port->type.type)};
    return file->items > 0 || wnn_fail(error, WNNStatus_TypeError,
                                       "%s: %zu bytes, neither an image nor .npy; the input %s has %zu bytes",
                                       file->path, mapping->size, port->name.data, port->bytes);
}

static bool open_items(struct run_file *file, struct mapping *mapping, const struct run_port *port,
                       struct error *error)
{
    const unsigned char *data = mapping->data;
    size_t size = mapping->size;
    if (image_recognize(data, size)) {
        file->items = 1;
        return image_decode(file->path, mapping, &file->image, error);
    }
    if (array_recognize_npy(data, size))
        return array_decode_npy(file->path, mapping, data, size, &file->array, error) &&
               accept_array(file, port, error);
    if (npz_recognize(data, size))
        return wnn_fail(error, WNNStatus_TypeError,
                        "%s: an archive of arrays, which has the names of inputs itself", file->path);
    if (is_tensor_proto(file->path))
        return tensor_proto_decode(file->path, mapping, &file->array, NULL, error) &&
               accept_array(file, port, error);
    return accept_raw(file, mapping, port, error);
}

struct expectation {
    const char *path;
    const struct run_port *port;
    bool many;
};

// How much comes through a pipe: what an array says, the most that an image may have, or one value of raw
// numbers.
static size_t data_extent(const unsigned char *data, size_t size, void *expected)
{
    enum {
        TELLING = 12 // bytes show what it is
    };
    const struct expectation *expectation = expected;
    if (size < TELLING)
        return TELLING;
    if (array_recognize_npy(data, size))
        return array_npy_extent(data, size);
    if (image_recognize(data, size))
        return MAX_IMAGE_FILE;
    if (is_tensor_proto(expectation->path))
        return tensor_proto_extent(data, size);
    return expectation->many ? MAX_DATA_STREAM : expectation->port->bytes;
}

static bool check_count(const struct run_file *file, const struct run_port *port, bool many,
                        struct error *error)
{
    return many || file->items == 1 ||
           wnn_fail(error, WNNStatus_TypeError, "%s: %zu values for the input %s, which takes one",
                    file->path, file->items, port->name.data);
}

bool run_file_open(struct run_file *file, const char *path, const struct run_port *port, bool many,
                   struct error *error)
{
    *file = (struct run_file){.path = path};
    struct expectation expectation = {path, port, many};
    const struct mapping_rule rule = {"this input", MAX_DATA_STREAM, false, data_extent, &expectation};
    struct mapping *mapping = open_or_standard(path, &rule, error);
    bool good = mapping && open_items(file, mapping, port, error) && check_count(file, port, many, error);
    mapping_unref(mapping);
    if (!good)
        run_file_close(file);
    return good;
}

bool run_file_take(struct run_file *file, const char *path, struct array *array, const struct run_port *port,
                   bool many, struct error *error)
{
    *file = (struct run_file){.path = path, .array = *array};
    bool good = accept_array(file, port, error) && check_count(file, port, many, error);
    if (!good)
        run_file_close(file);
    return good;
}

void run_file_close(struct run_file *file)
{
    image_free(&file->image);
    array_close(&file->array);
}

// Whether a number can become one of the type without more loss than rounding.
static bool convert(WNNNumber number, WNNDataType type, WNNNumber *result)
{
    *result = wnn_number_convert(number, type);
    double before = wnn_number_double(number), after = wnn_number_double(*result);
    return wnn_dtype_is_float(type) ? isfinite(after) || !isfinite(before) : after == before;
}

static bool load_array(const struct run_file *file, size_t item, const struct pixel_rule *rule,
                       struct run_port *port, struct error *error)
{
    const struct array *array = &file->array;
    size_t elements = wnn_shape_elements(&port->type.shape);
    // Values of half bytes begin at whole ones in raw files alone, which have no shape.
    bool aligned = array->element->bits >= 8 || elements % 2 == 0 || array->elements == 0;
    if (array->element->type == port->type.type && aligned) {
        memcpy(port->data, array->data + item * port->bytes, port->bytes);
        return true;
    }
    bool pixels = are_pixels(array->element, port->type.type);
    struct image_layout layout = {.channels = 1, .channel_stride = 1};
    if (pixels)
        image_layout_guess(&port->type.shape, rule, &layout);
    for (size_t i = 0; i < elements; i++) {
        WNNNumber number = array_element(array, item * elements + i), converted;
        if (pixels) {
            unsigned channel =
                layout.channels > 1 ? (unsigned)(i / layout.channel_stride % layout.channels) : 0;
            converted = image_number(rule, port->type.type, wnn_number_double(number), channel);
        } else if (!convert(number, port->type.type, &converted)) {
            return wnn_fail(error, WNNStatus_TypeError,
                            "%s: element %zu, %g, is no %s, the type of the input %s", file->path,
                            item * elements + i, wnn_number_double(number), wnn_dtype_name(port->type.type),
                            port->name.data);
        }
        wnn_number_store(converted, port->type.type, port->data, i);
    }
    return true;
}

bool run_file_load(const struct run_file *file, size_t item, const struct pixel_rule *rule,
                   struct run_port *port, struct error *error)
{
    return file->image.pixels ? image_to_tensor(&file->image, rule, &port->type, port->data, error)
                              : load_array(file, item, rule, port, error);
}

void run_port_keep(struct run_port *port)
{
    if (!port->path || port->bytes == 0)
        return;
    while (port->kept_capacity - port->kept_bytes < port->bytes) {
        port->kept_capacity = port->kept_capacity ? port->kept_capacity * 2 : port->bytes;
        port->kept = must(realloc(port->kept, port->kept_capacity));
    }
    memcpy(port->kept + port->kept_bytes, port->data, port->bytes);
    port->kept_bytes += port->bytes;
}

// Several items make one array with a dimension more in front, or with a longer one where that was 1.
bool run_port_write(const struct run_port *port, size_t items, struct error *error)
{
    struct descriptor type = port->type;
    size_t elements;
    if (!port->path)
        return true;
    if (items != 1) {
        bool batch = type.shape.rank > 0 && type.shape.dim[0] == 1;
        if (!batch) {
            if (type.shape.rank == WNN_MAX_RANK)
                return wnn_fail(error, WNNStatus_TypeError, "%s: %zu results of rank %d make no array",
                                port->path, items, WNN_MAX_RANK);
            memmove(type.shape.dim + 1, type.shape.dim, type.shape.rank * sizeof type.shape.dim[0]);
            type.shape.rank++;
        }
        type.shape.dim[0] = items <= WNN_MAX_DIMENSION ? (uint32_t)items : 0;
    }
    if (!wnn_shape_count(&type.shape, &elements) || wnn_descriptor_bytes(&type) != port->kept_bytes)
        return wnn_fail(error, WNNStatus_TypeError, "%s: %zu results are too many for one array", port->path,
                        items);
    return array_write(port->path, &type, port->kept, error);
}
