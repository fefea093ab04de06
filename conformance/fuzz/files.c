// SPDX-License-Identifier: Apache-2.0
//
// Hostile data files: arrays, weights and images. A good file of the kind that the first byte chooses is
// made, the rest says what is changed, and it is read. What is refused names its file; of what is read every
// byte is looked at.

#include "conformance/fuzz/edit.h"
#include "conformance/fuzz/fuzz.h"
#include "tools/array.h"
#include "tools/bounds.h"
#include "tools/image.h"
#include "tools/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>

unsigned long fuzz_built;

static volatile double sink; // of what is looked at

static struct bytes copy_of(const void *data, size_t size)
{
    struct bytes bytes = {malloc(size + 1), size};
    if (!bytes.data)
        abort();
    memcpy(bytes.data, data, size);
    bytes.data[size] = '\0';
    return bytes;
}

// ---------------------------------------------------------------------------------------------------------------
// Good files
// ---------------------------------------------------------------------------------------------------------------

static struct bytes make_npy(struct edits *edits)
{
    static const char *const descrs[] = {"<f4", "<f2", "<f8", "<i4", "<u4",
                                         "<i8", "<u8", "|i1", "|u1", "|b1"};
    static const unsigned units[] = {4, 2, 8, 4, 4, 8, 8, 1, 1, 1};
    unsigned type = take(edits) % 10, height = take(edits) % 9, width = take(edits) % 9;
    unsigned version = 1 + take(edits) % 2;
    char text[512];
    int length = snprintf(text, sizeof text, "{'descr': '%s', 'fortran_order': False, 'shape': (%u, %u), }\n",
                          descrs[type], height, width);
    size_t begin = version == 1 ? 10 : 12,
           size = begin + (size_t)length + (size_t)height * width * units[type];
    struct bytes bytes = {calloc(size + 1, 1), size};
    if (!bytes.data)
        abort();
    memcpy(bytes.data, "\x93NUMPY", 6);
    bytes.data[6] = (char)version;
    bytes.data[8] = (char)length;
    memcpy(bytes.data + begin, text, (size_t)length);
    return bytes;
}

static struct bytes make_safetensors(struct edits *edits)
{
    static const float data[64] = {1, 2, 3};
    static const char *const names[] = {"a", "layer.0/weight", "\xc3\xa9", "\"quoted\\\"", "e"};
    static const WNNDataType types[] = {WNNDataType_Float32, WNNDataType_Float16, WNNDataType_Int8,
                                        WNNDataType_Uint4, WNNDataType_Int64};
    struct safetensors_item items[5];
    unsigned count = take(edits) % 6;
    for (unsigned i = 0; i < count; i++)
        items[i] = (struct safetensors_item){
            names[i], {types[take(edits) % 5], {2, {1 + take(edits) % 4, 1 + take(edits) % 4}}}, data};
    struct file file = open_file();
    struct error error = {WNNStatus_Success, ""};
    if (!safetensors_write(file.path, items, count, &error))
        abort();
    struct bytes bytes = read_file(&file);
    close(file.descriptor);
    return bytes;
}

static void make_pixels(struct edits *edits, unsigned char *pixels, size_t count)
{
    uint32_t state = 1 + take_long(edits);
    for (size_t i = 0; i < count; i++)
        pixels[i] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
}

static struct bytes make_png(struct edits *edits)
{
    static const png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_RGB, PNG_FORMAT_RGBA, PNG_FORMAT_GA};
    unsigned char pixels[16 * 16 * 4];
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = 1 + take(edits) % 16, .height = 1 + take(edits) % 16};
    png.format = formats[take(edits) % 4];
    make_pixels(edits, pixels, sizeof pixels);
    png_alloc_size_t size = sizeof pixels * 2 + 1000;
    struct bytes bytes = {malloc(size + 1), 0};
    if (!bytes.data || !png_image_write_to_memory(&png, bytes.data, &size, 0, pixels, 0, NULL))
        abort();
    bytes.size = size;
    return bytes;
}

static struct bytes make_jpeg(struct edits *edits)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    unsigned char pixels[32 * 3], *memory = NULL;
    unsigned long size = 0;
    jpeg.err = jpeg_std_error(&manager);
    jpeg_create_compress(&jpeg);
    jpeg_mem_dest(&jpeg, &memory, &size);
    jpeg.image_width = 1 + take(edits) % 32;
    jpeg.image_height = 1 + take(edits) % 32;
    bool colour = take(edits) % 2;
    jpeg.input_components = colour ? 3 : 1;
    jpeg.in_color_space = colour ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(&jpeg);
    if (take(edits) % 2)
        jpeg_simple_progression(&jpeg);
    jpeg.restart_interval = take(edits) % 4;
    jpeg.arith_code = take(edits) % 4 == 0;
    jpeg_start_compress(&jpeg, TRUE);
    make_pixels(edits, pixels, sizeof pixels);
    while (jpeg.next_scanline < jpeg.image_height) {
        JSAMPROW row = pixels;
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    struct bytes bytes = copy_of(memory, size);
    free(memory);
    return bytes;
}

static struct bytes make_pnm(struct edits *edits)
{
    unsigned kind = take(edits) % 4, width = 1 + take(edits) % 9, height = 1 + take(edits) % 9,
             highest = take(edits) % 2 ? 255 : 65535, channels = kind % 2 ? 3 : 1;
    char text[4096];
    int used =
        snprintf(text, sizeof text, "P%c # a comment\n%u %u\n%u\n", "2356"[kind], width, height, highest);
    struct bytes bytes = copy_of(text, (size_t)used);
    for (unsigned i = 0; i < width * height * channels; i++)
        replace(&bytes, bytes.size, 0, kind < 2 ? "17 " : "17", kind < 2 ? 3 : highest > 255 ? 2 : 1, 1);
    return bytes;
}

// ---------------------------------------------------------------------------------------------------------------
// Mistakes that a format's own checks would hide
// ---------------------------------------------------------------------------------------------------------------

static uint32_t get_long(const struct bytes *bytes, size_t at)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++)
        value = value << 8 | (unsigned char)bytes->data[at + i];
    return value;
}

// The sums of all chunks, so that what has been changed is believed.
static void repair_png(struct bytes *bytes)
{
    for (size_t at = 8, length; bytes->size >= 12 && at <= bytes->size - 12; at += length + 12) {
        length = get_long(bytes, at);
        if (length > bytes->size - at - 12)
            return;
        uint32_t sum = 0xFFFFFFFF;
        for (size_t i = at + 4; i < at + 8 + length; i++) {
            sum ^= (unsigned char)bytes->data[i];
            for (unsigned k = 0; k < 8; k++)
                sum = sum & 1 ? sum >> 1 ^ 0xEDB88320u : sum >> 1;
        }
        for (unsigned i = 0; i < 4; i++)
            bytes->data[at + 8 + length + i] = (char)(~sum >> (24 - 8 * i));
    }
}

// The length of the header is what there is of it.
static void repair_safetensors(struct bytes *bytes)
{
    const char *end = bytes->size > 8 ? memrchr(bytes->data + 8, '}', bytes->size - 8) : NULL;
    for (unsigned i = 0; end && i < 8; i++)
        bytes->data[i] = (char)((uint64_t)(end + 1 - (bytes->data + 8)) >> (8 * i));
}

static void repair_npy(struct bytes *bytes)
{
    const char *end = bytes->size > 12 ? memchr(bytes->data + 10, '\n', bytes->size - 10) : NULL;
    size_t length = end ? (size_t)(end + 1 - bytes->data) - (bytes->data[6] == 1 ? 10 : 12) : 0;
    if (!end || length > 65535)
        return;
    bytes->data[8] = (char)length;
    bytes->data[9] = (char)(length >> 8);
}

// ---------------------------------------------------------------------------------------------------------------
// Reading
// ---------------------------------------------------------------------------------------------------------------

static void check_refused(const struct error *error, const char *path, const struct bytes *bytes)
{
    if (error->status == WNNStatus_Success ||
        (error->status != WNNStatus_OutOfMemory && strncmp(error->message, path, strlen(path)) != 0)) {
        fprintf(stderr, "%s\n", error->message);
        fail("refused without a reason that names the file", bytes);
    }
}

static void read_npy(const char *path, const struct bytes *bytes)
{
    struct array array;
    struct error error = {WNNStatus_Success, ""};
    if (!array_read_npy(path, &array, &error)) {
        check_refused(&error, path, bytes);
        return;
    }
    fuzz_built++;
    for (size_t i = 0; i < array.elements; i++)
        sink = wnn_number_double(array_element(&array, i));
    array_close(&array);
}

static void read_safetensors(const char *path, const struct bytes *bytes)
{
    struct safetensors file;
    struct error error = {WNNStatus_Success, ""};
    if (!safetensors_open(path, &file, &error)) {
        check_refused(&error, path, bytes);
        return;
    }
    fuzz_built++;
    for (size_t i = 0; i < file.count; i++) {
        const struct safetensor *tensor = &file.tensors[i];
        if (safetensors_find(&file, tensor->name) != tensor || tensor->end < tensor->begin ||
            tensor->end > file.mapping->size)
            fail("a tensor that is not where it is said to be", bytes);
        for (size_t k = tensor->begin; k < tensor->end; k++)
            sink = file.mapping->data[k];
    }
    safetensors_close(&file);
}

static void read_image(const char *path, const struct bytes *bytes)
{
    static const struct mapping_rule rule = {.what = "an image", .most = MAX_IMAGE_FILE};
    static const struct pixel_rule pixels = PIXEL_RULE_INIT;
    static const struct descriptor type = {WNNDataType_Float32, {4, {1, 3, 5, 4}}};
    struct error error = {WNNStatus_Success, ""};
    struct image image;
    struct mapping *file = mapping_open(path, &rule, &error);
    if (!file)
        fail("not opened", bytes);
    if (image_decode(path, file, &image, &error)) {
        float tensor[3 * 5 * 4];
        fuzz_built++;
        // Large ones take long, and the same code.
        if ((uint64_t)image.width * image.height < 1 << 20 &&
            !image_to_tensor(&image, &pixels, &type, tensor, &error))
            fail("an image that cannot be used", bytes);
        for (size_t i = 0; i < (size_t)image.width * image.height * image.channels; i += 61)
            sink = image.pixels[i];
        image_free(&image);
    } else {
        check_refused(&error, path, bytes);
    }
    mapping_unref(file);
}

// The first byte chooses a kind of file, the second how many mistakes there are.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct kind {
        struct bytes (*make)(struct edits *edits);
        void (*repair)(struct bytes *bytes);
        void (*read)(const char *path, const struct bytes *bytes);
    } kinds[] = {
        {make_npy, repair_npy, read_npy},   {make_safetensors, repair_safetensors, read_safetensors},
        {make_png, repair_png, read_image}, {make_jpeg, NULL, read_image},
        {make_pnm, NULL, read_image},
    };
    struct edits edits = {data, size};
    const struct kind *kind = &kinds[take(&edits) % (sizeof kinds / sizeof *kinds)];
    unsigned how = take(&edits), count = how % 5;
    struct bytes bytes = kind->make(&edits);
    for (unsigned i = 0; i < count; i++)
        spoil(&bytes, &edits);
    if (kind->repair && how < 192)
        kind->repair(&bytes);
    struct file file = open_file();
    struct fuzz_budget budget;
    unsigned long before = fuzz_built;
    fill_file(&file, &bytes);
    budget_begin(&budget);
    kind->read(file.path, &bytes);
    budget_end(&budget, "reading", &bytes);
    if (count == 0 && fuzz_built == before)
        fail("a good file is refused", &bytes);
    close(file.descriptor);
    free(bytes.data);
    return 0;
}
