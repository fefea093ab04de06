// SPDX-License-Identifier: Apache-2.0
//
// Hostile data files: arrays, archives of them, tensors of ONNX, weights, also in several files, and images.
// A good file of the kind that the first byte chooses is made, the rest says what is changed, and it is read.
// What is refused names its file; of what is read every byte is looked at.

#include "conformance/fuzz/edit.h"
#include "conformance/fuzz/fuzz.h"
#include "tools/array.h"
#include "tools/bounds.h"
#include "tools/image.h"
#include "tools/npz.h"
#include "tools/tensor_proto.h"
#include "tools/model/webnn/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

unsigned long fuzz_built;

static volatile double sink; // of what is looked at

static struct contents copy_of(const void *data, size_t size)
{
    struct contents bytes = {malloc(size + 1), size};
    if (!bytes.data)
        abort();
    memcpy(bytes.data, data, size);
    bytes.data[size] = '\0';
    return bytes;
}

// ---------------------------------------------------------------------------------------------------------------
// Good files
// ---------------------------------------------------------------------------------------------------------------

static struct contents make_npy(struct edits *edits)
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
    struct contents bytes = {calloc(size + 1, 1), size};
    if (!bytes.data)
        abort();
    memcpy(bytes.data, "\x93NUMPY", 6);
    bytes.data[6] = (char)version;
    bytes.data[8] = (char)length;
    memcpy(bytes.data + begin, text, (size_t)length);
    return bytes;
}

static void put(struct contents *bytes, const void *data, size_t size)
{
    replace(bytes, bytes->size, 0, data, size, 1);
}

static void put_number(struct contents *bytes, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        put(bytes, &(char){(char)(value >> 8 * i)}, 1);
}

// An array as it lies in an archive, compressed or not.
static struct contents pack(struct edits *edits, const struct contents *array, unsigned *method)
{
    unsigned char packed[8192];
    z_stream stream = {.next_in = (unsigned char *)array->data,
                       .avail_in = (unsigned)array->size,
                       .next_out = packed,
                       .avail_out = sizeof packed};
    *method = take(edits) % 2 ? 8 : 0;
    if (*method == 0)
        return copy_of(array->data, array->size);
    if (deflateInit2(&stream, 6, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK ||
        deflate(&stream, Z_FINISH) != Z_STREAM_END)
        abort();
    deflateEnd(&stream);
    return copy_of(packed, stream.total_out);
}

// What the header of an entry and its line in the directory have in common.
static void put_entry(struct contents *bytes, unsigned method, const struct contents *array, size_t packed)
{
    put_number(bytes, 20, 2);
    put_number(bytes, 0, 2);
    put_number(bytes, method, 2);
    put_number(bytes, 0, 4);
    put_number(bytes, crc32(0, (unsigned char *)array->data, (unsigned)array->size), 4);
    put_number(bytes, packed, 4);
    put_number(bytes, array->size, 4);
}

static struct contents make_npz(struct edits *edits)
{
    static const char *const names[] = {"a.npy", "layer.0/weight.npy", "\xc3\xa9.npy", "no array"};
    struct contents bytes = copy_of("", 0), directory = copy_of("", 0);
    unsigned count = 1 + take(edits) % 3, method;
    for (unsigned i = 0; i < count; i++) {
        struct contents array = make_npy(edits), packed = pack(edits, &array, &method);
        const char *name = i == 0 ? names[0] : names[take(edits) % 4];
        size_t offset = bytes.size;
        put(&bytes, "PK\3\4", 4);
        put_entry(&bytes, method, &array, packed.size);
        put_number(&bytes, strlen(name), 4);
        put(&bytes, name, strlen(name));
        put(&bytes, packed.data, packed.size);
        put(&directory, "PK\1\2\24\0", 6);
        put_entry(&directory, method, &array, packed.size);
        put_number(&directory, strlen(name), 6);
        put_number(&directory, 0, 8);
        put_number(&directory, offset, 4);
        put(&directory, name, strlen(name));
        free(array.data);
        free(packed.data);
    }
    size_t begin = bytes.size;
    put(&bytes, directory.data, directory.size);
    put(&bytes, "PK\5\6\0\0\0\0", 8);
    put_number(&bytes, count * 0x10001u, 4);
    put_number(&bytes, directory.size, 4);
    put_number(&bytes, begin, 4);
    put_number(&bytes, 0, 2);
    free(directory.data);
    return bytes;
}

// A tensor with its data in bytes, or in fields.
static struct contents make_tensor(struct edits *edits)
{
    static const unsigned char kinds[] = {1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13, 16},
                               fields[] = {4, 5, 5, 5, 5, 5, 7, 5, 5, 10, 11, 11, 5},
                               units[] = {4, 1, 1, 2, 2, 4, 8, 1, 2, 8, 4, 8, 2};
    struct contents bytes = copy_of("", 0);
    unsigned kind = take(edits) % sizeof kinds, height = take(edits) % 5, width = take(edits) % 5,
             elements = height * width;
    bool raw = take(edits) % 2, fixed = fields[kind] == 4 || fields[kind] == 10;
    put(&bytes, (const char[]){010, (char)height, 010, (char)width, 020, (char)kinds[kind]}, 6);
    unsigned size = elements * (raw || fixed ? units[kind] : 1);
    if (size == 0)
        return bytes;
    put_number(&bytes, (raw ? 9u : fields[kind]) << 3 | 2, 1);
    put_number(&bytes, size < 128 ? size : (size & 127) | 128 | size >> 7 << 8, size < 128 ? 1 : 2);
    for (unsigned i = 0; i < size; i++)
        put_number(&bytes, take(edits) % 128, 1);
    return bytes;
}

static struct contents make_safetensors(struct edits *edits)
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
    struct contents bytes = read_file(&file);
    close(file.descriptor);
    return bytes;
}

// The list of two files of the folder, of which the first byte leaves out some.
static struct contents make_index(struct edits *edits)
{
    char text[400];
    unsigned which = take(edits);
    int length = snprintf(text, sizeof text, "{\"metadata\": {\"total_size\": %u}, \"weight_map\": {%s%s%s}}",
                          which, which & 1 ? "" : "\"a\": \"m-1.safetensors\", ",
                          which & 2 ? "" : "\"b\": \"m-2.safetensors\", ", "\"c\": \"m-1.safetensors\"");
    return copy_of(text, (size_t)length);
}

static void make_pixels(struct edits *edits, unsigned char *pixels, size_t count)
{
    uint32_t state = 1 + take_long(edits);
    for (size_t i = 0; i < count; i++)
        pixels[i] = (unsigned char)((state = state * 1664525 + 1013904223) >> 24);
}

static struct contents make_png(struct edits *edits)
{
    static const png_uint_32 formats[] = {PNG_FORMAT_GRAY, PNG_FORMAT_RGB, PNG_FORMAT_RGBA, PNG_FORMAT_GA};
    unsigned char pixels[16 * 16 * 4];
    png_image png = {
        .version = PNG_IMAGE_VERSION, .width = 1 + take(edits) % 16, .height = 1 + take(edits) % 16};
    png.format = formats[take(edits) % 4];
    make_pixels(edits, pixels, sizeof pixels);
    png_alloc_size_t size = sizeof pixels * 2 + 1000;
    struct contents bytes = {malloc(size + 1), 0};
    if (!bytes.data || !png_image_write_to_memory(&png, bytes.data, &size, 0, pixels, 0, NULL))
        abort();
    bytes.size = size;
    return bytes;
}

static struct contents make_jpeg(struct edits *edits)
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
    struct contents bytes = copy_of(memory, size);
    free(memory);
    return bytes;
}

static struct contents make_pnm(struct edits *edits)
{
    unsigned kind = take(edits) % 4, width = 1 + take(edits) % 9, height = 1 + take(edits) % 9,
             highest = take(edits) % 2 ? 255 : 65535, channels = kind % 2 ? 3 : 1;
    char text[4096];
    int used =
        snprintf(text, sizeof text, "P%c # a comment\n%u %u\n%u\n", "2356"[kind], width, height, highest);
    struct contents bytes = copy_of(text, (size_t)used);
    for (unsigned i = 0; i < width * height * channels; i++)
        replace(&bytes, bytes.size, 0, kind < 2 ? "17 " : "17", kind < 2 ? 3 : highest > 255 ? 2 : 1, 1);
    return bytes;
}

// ---------------------------------------------------------------------------------------------------------------
// Mistakes that a format's own checks would hide
// ---------------------------------------------------------------------------------------------------------------

static uint32_t get_long(const struct contents *bytes, size_t at)
{
    uint32_t value = 0;
    for (size_t i = 0; i < 4; i++)
        value = value << 8 | (unsigned char)bytes->data[at + i];
    return value;
}

// The sums of all chunks, so that what has been changed is believed.
static void repair_png(struct contents *bytes)
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
static void repair_safetensors(struct contents *bytes)
{
    const char *end = bytes->size > 8 ? memrchr(bytes->data + 8, '}', bytes->size - 8) : NULL;
    for (unsigned i = 0; end && i < 8; i++)
        bytes->data[i] = (char)((uint64_t)(end + 1 - (bytes->data + 8)) >> (8 * i));
}

// The checksums of arrays that are not compressed.
static void repair_npz(struct contents *bytes)
{
    for (size_t at = 0; bytes->size >= 46 && at <= bytes->size - 46; at++) {
        const unsigned char *entry = (unsigned char *)bytes->data + at;
        if (memcmp(entry, "PK\1\2", 4) != 0)
            continue;
        size_t size = entry[20] | entry[21] << 8, from = (size_t)(entry[42] | entry[43] << 8) + 30;
        size_t skipped = from <= bytes->size ? (size_t)((unsigned char)bytes->data[from - 4]) : 0;
        uint32_t sum = 0;
        if (from + skipped <= bytes->size && size <= bytes->size - from - skipped)
            sum = (uint32_t)crc32(0, (unsigned char *)bytes->data + from + skipped, (unsigned)size);
        for (unsigned i = 0; i < 4 && entry[10] == 0; i++)
            bytes->data[at + 16 + i] = (char)(sum >> 8 * i);
    }
}

static void repair_npy(struct contents *bytes)
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

static void check_refused(const struct error *error, const char *path, const struct contents *bytes)
{
    if (error->status == WNNStatus_Success ||
        (error->status != WNNStatus_OutOfMemory && strncmp(error->message, path, strlen(path)) != 0)) {
        fprintf(stderr, "%s\n", error->message);
        fail("refused without a reason that names the file", bytes);
    }
}

static void look_at(struct array *array)
{
    fuzz_built++;
    for (size_t i = 0; i < array->elements; i++)
        sink = wnn_number_double(array_element(array, i));
    array_close(array);
}

static void read_npy(const char *path, const struct contents *bytes)
{
    struct array array;
    struct error error = {WNNStatus_Success, ""};
    if (array_read_npy(path, &array, &error))
        look_at(&array);
    else
        check_refused(&error, path, bytes);
}

static void read_npz(const char *path, const struct contents *bytes)
{
    struct error error = {WNNStatus_Success, ""};
    struct npz *archive = npz_open(path, &error);
    if (!archive)
        check_refused(&error, path, bytes);
    for (size_t i = 0; archive && i < archive->count; i++) {
        struct array array;
        error = (struct error){WNNStatus_Success, ""};
        if (npz_read(archive, &archive->entries[i], &array, &error))
            look_at(&array);
        else
            check_refused(&error, path, bytes);
    }
    npz_close(archive);
}

static void read_tensor(const char *path, const struct contents *bytes)
{
    static const struct mapping_rule rule = {.what = "a tensor", .most = MAX_DATA_STREAM};
    struct error error = {WNNStatus_Success, ""};
    struct mapping *file = mapping_open(path, &rule, &error);
    struct array array;
    struct string name;
    if (!file)
        fail("not opened", bytes);
    if (tensor_proto_decode(path, file, &array, &name, &error)) {
        for (size_t i = 0; i < name.length; i++)
            sink = name.data[i];
        look_at(&array);
    } else {
        check_refused(&error, path, bytes);
    }
    mapping_unref(file);
}

// Mapped or, if the number of bytes is odd, read. `blamed`: what the path of a file that is refused begins
// with.
static void read_weights(const char *path, const char *blamed, const struct contents *bytes)
{
    struct safetensors file = {0};
    struct error error = {WNNStatus_Success, ""};
    WNNModelDescriptor descriptor = WNN_MODEL_DESCRIPTOR_INIT;
    descriptor.data = ""; // no model: only its weights are opened
    descriptor.path.data = path;
    descriptor.copy = bytes->size % 2;
    struct model_source *source = wnn_source_open(&descriptor, NULL, &error);
    if (!source)
        abort();
    if (!safetensors_open(&file, source, path, &error)) {
        check_refused(&error, blamed, bytes);
        wnn_source_unref(source);
        return;
    }
    fuzz_built++;
    for (size_t i = 0; i < file.count; i++) {
        const struct safetensor *tensor = &file.tensors[i];
        if (safetensors_find(&file, tensor->name) != tensor || tensor->bytes.size > MAX_EDITED)
            fail("a tensor that is not where it is said to be", bytes);
        for (size_t k = 0; k < tensor->bytes.size; k++)
            sink = tensor->bytes.data[k];
    }
    safetensors_close(&file);
    wnn_source_unref(source);
}

static void read_safetensors(const char *path, const struct contents *bytes)
{
    read_weights(path, path, bytes);
}

static void write_shard(const char *name, const char *tensor)
{
    struct safetensors_item item = {tensor, {WNNDataType_Float32, {1, {3}}}, (float[]){1, 2, 3}};
    struct file file = open_file();
    struct error error = {WNNStatus_Success, ""};
    if (!safetensors_write(file.path, &item, 1, &error))
        abort();
    struct contents bytes = read_file(&file);
    folder_write(name, &bytes);
    free(bytes.data);
    close(file.descriptor);
}

// Of a list whose files are good.
static void read_index(const char *unused, const struct contents *bytes)
{
    char path[100];
    (void)unused;
    snprintf(path, sizeof path, "%s/m.safetensors.index.json", folder_path());
    folder_write("m.safetensors.index.json", bytes);
    write_shard("m-1.safetensors", "a");
    write_shard("m-2.safetensors", "b");
    read_weights(path, folder_path(), bytes);
}

// Of a file that a good list names.
static void read_shard(const char *unused, const struct contents *bytes)
{
    static const char text[] = "{\"weight_map\": {\"a\": \"m-1.safetensors\", \"b\": \"m-2.safetensors\"}}";
    char path[100];
    struct contents index = copy_of(text, sizeof text - 1);
    (void)unused;
    snprintf(path, sizeof path, "%s/m.safetensors.index.json", folder_path());
    folder_write("m.safetensors.index.json", &index);
    folder_write("m-1.safetensors", bytes);
    write_shard("m-2.safetensors", "b");
    read_weights(path, folder_path(), &index);
    free(index.data);
}

static void read_image(const char *path, const struct contents *bytes)
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
        struct contents (*make)(struct edits *edits);
        void (*repair)(struct contents *bytes);
        void (*read)(const char *path, const struct contents *bytes);
    } kinds[] = {
        {make_npy, repair_npy, read_npy},
        {make_safetensors, repair_safetensors, read_safetensors},
        {make_png, repair_png, read_image},
        {make_jpeg, NULL, read_image},
        {make_pnm, NULL, read_image},
        {make_index, NULL, read_index},
        {make_safetensors, repair_safetensors, read_shard},
        {make_npz, repair_npz, read_npz},
        {make_tensor, NULL, read_tensor},
    };
    struct edits edits = {data, size};
    const struct kind *kind = &kinds[take(&edits) % (sizeof kinds / sizeof *kinds)];
    unsigned how = take(&edits), count = how % 5;
    struct contents bytes = kind->make(&edits);
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
