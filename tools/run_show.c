// SPDX-License-Identifier: Apache-2.0
#include "tools/run_show.h"

#include "tools/model/webnn/text.h"
#include "tools/bounds.h"
#include "tools/memory.h"
#include "tools/standard_input.h"
#include "tools/terminal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAR_WIDTH   24
#define PICTURE_MIN 16
#define PICTURE_MAX 32

bool labels_read(const char *path, struct labels *labels, struct error *error)
{
    *labels = (struct labels){NULL, 0};
    static const struct mapping_rule rule = {.what = "labels", .most = MAX_LABELS, .copy = true};
    struct mapping *file = open_or_standard(path, &rule, error);
    if (!file)
        return false;
    size_t capacity = 0;
    const char *at = (const char *)file->data, *end = at + file->size;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((line ? line : end) - at);
        char shown[160] = "";
        struct text text = TEXT(shown);
        wnn_text_add_quoted(&text,
                            (struct string){at, length && at[length - 1] == '\r' ? length - 1 : length}, 100);
        labels->lines = must_grow(labels->lines, labels->count, &capacity, sizeof *labels->lines);
        labels->lines[labels->count++] = must(strdup(shown));
        at += length + 1;
        if (!line)
            break;
    }
    mapping_unref(file);
    return true;
}

void labels_free(struct labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        free(labels->lines[i]);
    free(labels->lines);
    *labels = (struct labels){NULL, 0};
}

static const char *label_of(const struct labels *labels, size_t index, char buffer[32])
{
    if (index < labels->count)
        return labels->lines[index];
    snprintf(buffer, 32, "#%zu", index);
    return buffer;
}

static double element(const struct run_port *port, size_t index)
{
    return wnn_number_double(wnn_number_load(port->type.type, port->data, index));
}

bool is_scores(const struct descriptor *type)
{
    size_t count = wnn_shape_elements(&type->shape);
    for (unsigned i = 0; i < type->shape.rank; i++)
        if (type->shape.dim[i] == count)
            return count > 1;
    return false;
}

size_t best_score(const struct run_port *port)
{
    size_t best = 0, count = wnn_shape_elements(&port->type.shape);
    for (size_t i = 1; i < count; i++)
        if (element(port, i) > element(port, best) || isnan(element(port, best)))
            best = i;
    return best;
}

// The indices of the highest scores, best first. Returns how many.
static size_t find_top(const struct run_port *port, size_t wanted, size_t **indices)
{
    size_t count = wnn_shape_elements(&port->type.shape), found = 0;
    if (wanted > count)
        wanted = count;
    *indices = must_allocate(wanted * sizeof **indices);
    for (size_t i = 0; i < count; i++) {
        double value = element(port, i);
        size_t at = found;
        while (at > 0 && value > element(port, (*indices)[at - 1]))
            at--;
        if (at >= wanted)
            continue;
        if (found < wanted)
            found++;
        memmove(*indices + at + 1, *indices + at, (found - at - 1) * sizeof **indices);
        (*indices)[at] = i;
    }
    return found;
}

static void show_scores(const struct run_port *port, const struct labels *labels, size_t top)
{
    size_t *indices, found = find_top(port, top, &indices);
    for (size_t i = 0; i < found; i++)
        printf("  %s%-13.7g%s %s\n", i == 0 ? STYLE_BOLD : "", element(port, indices[i]),
               i == 0 ? STYLE_NONE : "", label_of(labels, indices[i], (char[32]){0}));
    free(indices);
}

void show_output(const struct run_port *port, const struct labels *labels, size_t top)
{
    if (is_scores(&port->type)) {
        show_scores(port, labels, top);
        return;
    }
    size_t count = wnn_shape_elements(&port->type.shape);
    if (count == 0) {
        printf("  %s: %s%s, no elements\n", SHOWN(port->name), graph_text_dtype_name(port->type.type),
               SHAPE_TEXT(&port->type.shape));
        return;
    }
    double least = element(port, 0), most = least;
    for (size_t i = 1; i < count; i++) {
        double value = element(port, i);
        least = value < least || isnan(value) ? value : least;
        most = value > most || isnan(value) ? value : most;
    }
    printf("  %s: %s%s, %.7g to %.7g:", SHOWN(port->name), graph_text_dtype_name(port->type.type),
           SHAPE_TEXT(&port->type.shape), least, most);
    for (size_t i = 0; i < count && i < 6; i++)
        printf(" %.7g", element(port, i));
    printf("%s\n", count > 6 ? " ..." : "");
}

// ---------------------------------------------------------------------------------------------------------------
// Drawing
// ---------------------------------------------------------------------------------------------------------------

// What the network sees, as pixels again.
static bool picture_of(const struct run_port *input, const struct pixel_rule *rule, struct image *image)
{
    struct image_layout layout;
    if (!image_layout_guess(&input->type.shape, rule, &layout))
        return false;
    *image = (struct image){layout.width, layout.height, layout.channels, NULL};
    image->pixels = must_allocate((size_t)image->width * image->height * image->channels);
    for (unsigned y = 0; y < layout.height; y++)
        for (unsigned x = 0; x < layout.width; x++)
            for (unsigned c = 0; c < layout.channels; c++) {
                double value =
                    element(input, y * layout.y_stride + x * layout.x_stride + c * layout.channel_stride);
                if (wnn_dtype_is_float(input->type.type))
                    value = (value * rule->deviation[c] + rule->mean[c]) / rule->scale;
                value = fmin(fmax(isnan(value) ? 0 : value, 0), 255);
                image->pixels[((size_t)y * layout.width + x) * layout.channels + c] =
                    (unsigned char)lrint(value);
            }
    return true;
}

// To a width that can be seen and fits beside the bars; small ones by whole factors, so that their pixels
// stay squares.
static struct image fit(const struct image *image)
{
    unsigned width = image->width, height = image->height;
    if (width < PICTURE_MIN) {
        unsigned factor = PICTURE_MIN / width;
        width *= factor;
        height *= factor;
    } else if (width > PICTURE_MAX) {
        height = (unsigned)((uint64_t)height * PICTURE_MAX / width);
        width = PICTURE_MAX;
    }
    if (height > 2 * PICTURE_MAX)
        height = 2 * PICTURE_MAX;
    if (height == 0)
        height = 1;
    if (width < image->width || height < image->height)
        return image_resize(image, width, height);
    struct image result = {width, height, image->channels,
                           must_allocate((size_t)width * height * image->channels)};
    for (unsigned y = 0; y < height; y++)
        for (unsigned x = 0; x < width; x++) {
            size_t from = (size_t)(y * image->height / height) * image->width + x * image->width / width;
            memcpy(result.pixels + ((size_t)y * width + x) * image->channels,
                   image->pixels + from * image->channels, image->channels);
        }
    return result;
}

static void pixel_at(const struct image *image, unsigned x, unsigned y, unsigned colour[3])
{
    const unsigned char *pixel = image->pixels + ((size_t)y * image->width + x) * image->channels;
    for (unsigned c = 0; c < 3; c++)
        colour[c] = y < image->height ? pixel[image->channels == 3 ? c : 0] : 0;
}

// Two rows of pixels in one line of characters: half blocks in colour, or shades without.
static void draw_line(const struct image *image, unsigned line)
{
    static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
    bool colours = terminal_colours();
    for (unsigned x = 0; x < image->width; x++) {
        unsigned upper[3], lower[3] = {0, 0, 0};
        pixel_at(image, x, 2 * line, upper);
        if (2 * line + 1 < image->height)
            pixel_at(image, x, 2 * line + 1, lower);
        if (colours) {
            printf("\033[38;2;%u;%u;%um\033[48;2;%u;%u;%um▀", upper[0], upper[1], upper[2], lower[0],
                   lower[1], lower[2]);
        } else {
            unsigned sum = 0;
            for (unsigned c = 0; c < 3; c++)
                sum += upper[c] + lower[c];
            fputs(shades[(sum / 6 * 5) / 256], stdout);
        }
    }
    fputs(colours ? "\033[0m" : "", stdout);
}

// A bar of eighths of characters.
static void draw_bar(double part)
{
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int units = (int)lrint(fmin(fmax(isnan(part) ? 0 : part, 0), 1) * BAR_WIDTH * 8), width = 0;
    for (; width < units / 8; width++)
        fputs("█", stdout);
    if (units % 8) {
        fputs(eighths[units % 8], stdout);
        width++;
    }
    printf("%*s", BAR_WIDTH - width, "");
}

bool draw_result(const struct run_port *input, const struct pixel_rule *rule, const struct run_port *output,
                 const struct labels *labels, size_t top)
{
    struct image whole;
    if (!picture_of(input, rule, &whole))
        return false;
    struct image image = fit(&whole);
    image_free(&whole);
    size_t *indices = NULL, found = is_scores(&output->type) ? find_top(output, top, &indices) : 0;
    size_t lines = (image.height + 1) / 2, skip = lines > found ? (lines - found) / 2 : 0;
    double best = found ? element(output, indices[0]) : 0;
    bool probabilities = found && best <= 1 && best >= 0;
    for (size_t line = 0; line < lines || line < found; line++) {
        fputs("  ", stdout);
        if (line < lines)
            draw_line(&image, (unsigned)line);
        else
            printf("%*s", (int)image.width, "");
        if (line >= skip && line - skip < found) {
            double value = element(output, indices[line - skip]);
            char name[32];
            printf("   %s", line == skip ? STYLE_GREEN : STYLE_FAINT);
            draw_bar(probabilities ? value : value / best);
            fputs(STYLE_NONE, stdout);
            if (probabilities)
                printf(" %6.2f %%", value * 100);
            else
                printf(" %8.4g", value);
            printf("  %s%s%s", line == skip ? STYLE_BOLD : "", label_of(labels, indices[line - skip], name),
                   line == skip ? STYLE_NONE : "");
        }
        printf("\n");
    }
    free(indices);
    image_free(&image);
    if (!is_scores(&output->type))
        show_output(output, labels, top);
    return true;
}
