// SPDX-License-Identifier: Apache-2.0
//
// Image files: PNG through libpng, JPEG through libjpeg, PGM and PPM here.

#include "tools/bounds.h"
#include "tools/image.h"
#include "tools/memory.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>
#include <png.h>

static bool is_png(const unsigned char *data, size_t size)
{
    return size > 8 && memcmp(data, "\x89PNG\r\n\x1a\n", 8) == 0;
}

static bool is_jpeg(const unsigned char *data, size_t size)
{
    return size > 3 && data[0] == 0xFF && data[1] == 0xD8 && data[2] == 0xFF;
}

static bool is_pnm(const unsigned char *data, size_t size)
{
    return size > 3 && data[0] == 'P' &&
           (data[1] == '5' || data[1] == '6' || data[1] == '2' || data[1] == '3') && isspace(data[2]);
}

bool image_recognize(const unsigned char *data, size_t size)
{
    return is_png(data, size) || is_jpeg(data, size) || is_pnm(data, size);
}

static bool make_room(const char *path, struct image *image, struct error *error)
{
    if (image->width == 0 || image->height == 0 || image->width > MAX_IMAGE_SIDE ||
        image->height > MAX_IMAGE_SIDE || image->width > MAX_IMAGE_PIXELS / image->height)
        return wnn_fail(
            error, WNNStatus_TypeError,
            "%s: an image of %u x %u pixels is too large or empty; it has up to %u a side and %u in "
            "all",
            path, image->width, image->height, MAX_IMAGE_SIDE, MAX_IMAGE_PIXELS);
    image->pixels = calloc((size_t)image->width * image->height, image->channels);
    return image->pixels || wnn_fail_memory(error);
}

// ---------------------------------------------------------------------------------------------------------------
// PNG
// ---------------------------------------------------------------------------------------------------------------

static bool read_png(const char *path, const struct mapping *file, struct image *image, struct error *error)
{
    png_image png = {.version = PNG_IMAGE_VERSION};
    if (!png_image_begin_read_from_memory(&png, file->data, file->size))
        return wnn_fail(error, WNNStatus_TypeError, "%s: %s", path, png.message);
    bool colour = png.format & PNG_FORMAT_FLAG_COLOR;
    png.format = colour ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    *image = (struct image){png.width, png.height, colour ? 3 : 1, NULL};
    const png_color white = {255, 255, 255};
    bool good = make_room(path, image, error) && png_image_finish_read(&png, &white, image->pixels, 0, NULL);
    if (!good)
        wnn_fail(error, WNNStatus_TypeError, "%s: %s", path, png.message);
    png_image_free(&png);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// JPEG
// ---------------------------------------------------------------------------------------------------------------

struct jpeg_failure {
    struct jpeg_error_mgr manager; // first: libjpeg sees only this
    jmp_buf back;
    char message[JMSG_LENGTH_MAX];
};

// A progressive image may have any number of scans, each of which goes through all pixels and may take no
// more than a few bytes of the file.
static void count_scans(j_common_ptr info)
{
    const struct jpeg_decompress_struct *jpeg = (const struct jpeg_decompress_struct *)(const void *)info;
    unsigned long long scans = jpeg->input_scan_number > 0 ? (unsigned)jpeg->input_scan_number : 0,
                       pixels = (unsigned long long)jpeg->image_width * jpeg->image_height;
    struct jpeg_failure *failure = (struct jpeg_failure *)(void *)info->err;
    if (scans <= 16 || (scans <= MAX_JPEG_SCANS && scans <= MAX_JPEG_WORK / pixels))
        return;
    snprintf(failure->message, sizeof failure->message, "more than %llu scans of %llu pixels each", scans - 1,
             pixels);
    longjmp(failure->back, 1);
}

// libjpeg expects that this does not return.
static void leave_jpeg(j_common_ptr info)
{
    struct jpeg_failure *failure = (struct jpeg_failure *)(void *)info->err;
    info->err->format_message(info, failure->message);
    longjmp(failure->back, 1);
}

static void ignore_warning(j_common_ptr info, int level)
{
    (void)info;
    (void)level;
}

static bool read_jpeg(const char *path, const struct mapping *file, struct image *image, struct error *error)
{
    struct jpeg_decompress_struct jpeg;
    struct jpeg_failure failure;
    memset(&jpeg, 0, sizeof jpeg);
    jpeg.err = jpeg_std_error(&failure.manager);
    failure.manager.error_exit = leave_jpeg;
    failure.manager.emit_message = ignore_warning;
    if (setjmp(failure.back)) {
        jpeg_destroy_decompress(&jpeg);
        return wnn_fail(error, WNNStatus_TypeError, "%s: %s", path, failure.message);
    }
    struct jpeg_progress_mgr progress = {.progress_monitor = count_scans};
    jpeg_create_decompress(&jpeg);
    jpeg.progress = &progress;
    jpeg_mem_src(&jpeg, file->data, (unsigned long)file->size);
    jpeg_read_header(&jpeg, TRUE);
    jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
    *image = (struct image){jpeg.image_width, jpeg.image_height, jpeg.num_components == 1 ? 1 : 3, NULL};
    bool good = make_room(path, image, error);
    if (good) {
        jpeg_start_decompress(&jpeg);
        while (jpeg.output_scanline < jpeg.output_height) {
            JSAMPROW row = image->pixels + (size_t)jpeg.output_scanline * image->width * image->channels;
            jpeg_read_scanlines(&jpeg, &row, 1);
        }
        jpeg_finish_decompress(&jpeg);
    }
    jpeg_destroy_decompress(&jpeg);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// PGM and PPM
// ---------------------------------------------------------------------------------------------------------------

struct cursor {
    const unsigned char *at, *end;
};

// The next number, past spaces and comments; UINT_MAX if there is none.
static unsigned next_number(struct cursor *cursor)
{
    while (cursor->at < cursor->end && (isspace(*cursor->at) || *cursor->at == '#')) {
        if (*cursor->at == '#')
            while (cursor->at < cursor->end && *cursor->at != '\n')
                cursor->at++;
        else
            cursor->at++;
    }
    if (cursor->at == cursor->end || !isdigit(*cursor->at))
        return (unsigned)-1;
    unsigned number = 0;
    for (; cursor->at < cursor->end && isdigit(*cursor->at); cursor->at++)
        number = number < 1000000 ? number * 10 + (*cursor->at - '0') : 1000000;
    return number;
}

static bool read_pnm(const char *path, const struct mapping *file, struct image *image, struct error *error)
{
    struct cursor cursor = {file->data + 2, file->data + file->size};
    bool colour = file->data[1] == '6' || file->data[1] == '3',
         text = file->data[1] == '2' || file->data[1] == '3';
    *image = (struct image){.channels = colour ? 3 : 1};
    image->width = next_number(&cursor);
    image->height = next_number(&cursor);
    unsigned highest = next_number(&cursor);
    if (highest == 0 || highest > 65535)
        return wnn_fail(error, WNNStatus_TypeError, "%s: not a PGM or PPM file", path);
    if (!make_room(path, image, error))
        return false;
    size_t count = (size_t)image->width * image->height * image->channels, unit = highest > 255 ? 2 : 1;
    if (!text) {
        if (cursor.at < cursor.end)
            cursor.at++; // the one space before the pixels
        if ((size_t)(cursor.end - cursor.at) < count * unit)
            return wnn_fail(error, WNNStatus_TypeError, "%s: the file ends before its last pixel", path);
    }
    for (size_t i = 0; i < count; i++) {
        unsigned value;
        if (text)
            value = next_number(&cursor);
        else
            value = unit == 1 ? cursor.at[i] : (unsigned)cursor.at[2 * i] << 8 | cursor.at[2 * i + 1];
        if (value > highest)
            return wnn_fail(error, WNNStatus_TypeError, "%s: pixel %zu is missing or too large", path, i);
        image->pixels[i] = (unsigned char)((value * 255 + highest / 2) / highest);
    }
    return true;
}

bool image_decode(const char *path, const struct mapping *file, struct image *image, struct error *error)
{
    *image = (struct image){0, 0, 0, NULL};
    if (file->size > MAX_IMAGE_FILE)
        return wnn_fail(error, WNNStatus_TypeError,
                        "%s is longer than %zu bytes, the most that are read of an image", path,
                        MAX_IMAGE_FILE);
    bool good = is_png(file->data, file->size)    ? read_png(path, file, image, error)
                : is_jpeg(file->data, file->size) ? read_jpeg(path, file, image, error)
                : is_pnm(file->data, file->size)
                    ? read_pnm(path, file, image, error)
                    : wnn_fail(error, WNNStatus_TypeError, "%s: not a PNG, JPEG, PGM or PPM image", path);
    if (!good)
        image_free(image);
    return good;
}
