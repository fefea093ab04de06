// SPDX-License-Identifier: Apache-2.0
#include "cpu/describe_target.h"

#include "cpu/xnnpack/xnnpack.h"

#include <string.h>

#define STRING_OF(x) #x
#define TEXT_OF(x)   STRING_OF(x)
#if defined(__x86_64__) && __SIZEOF_POINTER__ == 8
#define ARCHITECTURE "x86-64"
#elif defined(__aarch64__) && __SIZEOF_POINTER__ == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE "AArch64"
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCHITECTURE "little-endian processor with pointers of " TEXT_OF(__SIZEOF_POINTER__) " bytes"
#else
#define ARCHITECTURE "big-endian processor with pointers of " TEXT_OF(__SIZEOF_POINTER__) " bytes"
#endif

enum {
    QUOTED = 80 // bytes of a description in a message
};

void wnn_cpu_describe_target(const struct cpu_target *target, struct text *text)
{
    wnn_text_add(text, ARCHITECTURE ", %s, %s", target->instructions, wnn_xnnpack_edition());
}

// Takes `part` off the front of a string, or off its end.
static bool take(struct string *string, const char *part, bool front)
{
    size_t length = strlen(part);
    if (string->length < length)
        return false;
    const char *at = front ? string->data : string->data + string->length - length;
    if (memcmp(at, part, length) != 0)
        return false;
    string->data += front ? length : 0;
    string->length -= length;
    return true;
}

static const struct cpu_target *fail(struct error *error, struct string description, const char *expected)
{
    char quoted[4 * QUOTED] = "";
    struct text text = TEXT(quoted);
    wnn_text_add_quoted(&text, description, QUOTED);
    wnn_fail(error, WNNStatus_NotSupportedError,
             "target: this library does not compile for \"%s\"; expected %s", quoted, expected);
    return NULL;
}

const struct cpu_target *wnn_cpu_find_target(struct string description, struct error *error)
{
    char names[128] = "";
    struct text text = TEXT(names);
    struct string rest = description;
    // What is computed of constants is rounded as the kernels of this architecture do it.
    if (!take(&rest, ARCHITECTURE ", ", true))
        return fail(error, description, "its own architecture, " ARCHITECTURE);
    if (!take(&rest, wnn_xnnpack_edition(), false) || !take(&rest, ", ", false))
        return fail(error, description, wnn_xnnpack_edition());
    // Tiles read what vectors read, so that a processor with them is of the same sort as one without.
    bool tiles = take(&rest, " AMX-INT8", false);
    const struct cpu_target *target;
    for (unsigned i = 0; (target = wnn_cpu_known_target(i)); i++) {
        struct string instructions = {target->instructions, strlen(target->instructions)};
        if (wnn_string_equal(rest, instructions) && (!tiles || target->avx512_vnni))
            return target;
        wnn_text_add(&text, "%s\"%s\"", i ? ", " : "one of ", target->instructions);
    }
    return fail(error, description, names);
}
