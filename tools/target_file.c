// SPDX-License-Identifier: Apache-2.0
#include "tools/target_file.h"

#include "compiler/stored.h"
#include "tools/json.h"
#include "tools/memory.h"
#include "tools/model/mapping.h"
#include "tools/session.h"
#include "tools/standard_input.h"
#include "tools/terminal.h"

#include <webnn/compiled.h>

#include <stdlib.h>
#include <string.h>

enum {
    MAX_JSON = 1 << 20 // bytes: far more than the targets of any machine
};

// One that is found, whose text is somebody else's.
struct found {
    struct string library, backend, target;
};

#define PATH      (is_standard(path) ? "standard input" : SHOWN_STRING(path))
#define FAIL(...) wnn_fail(error, WNNStatus_TypeError, "--target=%s: " __VA_ARGS__)

// ---------------------------------------------------------------------------------------------------------------
// JSON
// ---------------------------------------------------------------------------------------------------------------

static bool take_text(const cJSON *item, struct string *text, const char *path, struct error *error)
{
    if (!cJSON_IsString(item))
        return FAIL("the %s of a target is no text", PATH, SHOWN_STRING(item->string));
    *text = (struct string){item->valuestring, strlen(item->valuestring)};
    return true;
}

// {"library": "...", "backend": "...", "target": "..."}
static bool take_target(const cJSON *object, struct found *found, const char *path, struct error *error)
{
    *found = (struct found){0};
    for (const cJSON *item = object->child; item; item = item->next) {
        struct string *text = strcmp(item->string, "library") == 0   ? &found->library
                              : strcmp(item->string, "backend") == 0 ? &found->backend
                              : strcmp(item->string, "target") == 0  ? &found->target
                                                                     : NULL;
        if (!text)
            return FAIL("a target has no \"%s\"; expected library, backend and target", PATH,
                        SHOWN_STRING(item->string));
        if (text->data)
            return FAIL("a target has \"%s\" twice", PATH, SHOWN_STRING(item->string));
        if (!take_text(item, text, path, error))
            return false;
    }
    return (found->library.data && found->backend.data && found->target.data) ||
           FAIL("a target has no \"%s\"", PATH,
                !found->library.data   ? "library"
                : !found->backend.data ? "backend"
                                       : "target");
}

// Of all devices that of the backend.
static bool take_of_devices(const cJSON *devices, const char *backend, struct found *found, const char *path,
                            struct error *error)
{
    unsigned count = 0;
    const cJSON *device;
    cJSON_ArrayForEach(device, devices)
    {
        const cJSON *target = cJSON_GetObjectItemCaseSensitive(device, "target");
        struct found one;
        if (!target)
            continue;
        if (!cJSON_IsObject(target))
            return FAIL("the target of a device is no object", PATH);
        if (!take_target(target, &one, path, error))
            return false;
        if (strcmp(one.backend.data, backend) != 0)
            continue;
        *found = one;
        count++;
    }
    return count == 1 ||
           (count == 0 ? FAIL("no device has a target of the backend %s", PATH, SHOWN_STRING(backend))
                       : FAIL("%u devices have targets of the backend %s; give the target of one", PATH,
                              count, SHOWN_STRING(backend)));
}

static bool take_json(const cJSON *tree, const char *backend, struct found *found, const char *path,
                      struct error *error)
{
    const cJSON *devices = cJSON_GetObjectItemCaseSensitive(tree, "devices");
    const cJSON *inner = cJSON_GetObjectItemCaseSensitive(tree, "target");
    if (!cJSON_IsObject(tree))
        return FAIL("it is no JSON object, and no file of webnn compile", PATH);
    if (devices && !cJSON_IsArray(devices))
        return FAIL("\"devices\" is no array", PATH);
    if (devices)
        return take_of_devices(devices, backend ? backend : "cpu", found, path, error);
    return take_target(cJSON_IsObject(inner) ? inner : tree, found, path, error);
}

// ---------------------------------------------------------------------------------------------------------------
// Both
// ---------------------------------------------------------------------------------------------------------------

// What is compiled here can be run only by the same library there.
static bool keep(struct target_file *file, const struct found *found, const char *backend, const char *path,
                 struct error *error)
{
    char library[STORED_LIBRARY_TEXT] = "";
    struct text text = TEXT(library);
    wnn_stored_library(&text);
    if (!wnn_string_equal(found->library, (struct string){library, text.length}))
        return wnn_fail(
            error, WNNStatus_NotSupportedError,
            "--target=%s: it is of the library %s, which would refuse what this one, %s, compiles", PATH,
            SHOWN(found->library), library);
    if (backend && !wnn_string_equal(found->backend, (struct string){backend, strlen(backend)}))
        return FAIL("it is of the backend %s, and not of %s", PATH, SHOWN(found->backend),
                    SHOWN_STRING(backend));
    if (found->target.length == 0)
        return FAIL("the text of the target is empty", PATH);
    file->backend = must(strndup(found->backend.data, found->backend.length));
    file->target = must(strndup(found->target.data, found->target.length));
    return true;
}

static bool read_compiled(struct target_file *file, const struct mapping *mapping, const char *backend,
                          const char *path, struct error *error)
{
    struct stored_head head;
    struct error inner = {0};
    if (!wnn_stored_read_head(mapping->data, mapping->size, &head, &inner))
        return wnn_fail(error, inner.status, "--target=%s: %s", PATH, inner.message);
    const struct found found = {wnn_string(head.library), wnn_string(head.backend), wnn_string(head.target)};
    return keep(file, &found, backend, path, error);
}

static bool read_json(struct target_file *file, const struct mapping *mapping, const char *backend,
                      const char *path, struct error *error)
{
    if (mapping->size > MAX_JSON || memchr(mapping->data, 0, mapping->size))
        return FAIL("it is no JSON of at most %d bytes, and no file of webnn compile", PATH, MAX_JSON);
    char *text = must(strndup((const char *)mapping->data, mapping->size));
    cJSON *tree = cJSON_ParseWithOpts(text, NULL, true);
    struct found found;
    bool done = (tree || FAIL("it is no JSON, and no file of webnn compile", PATH)) &&
                take_json(tree, backend, &found, path, error) && keep(file, &found, backend, path, error);
    cJSON_Delete(tree);
    free(text);
    return done;
}

bool target_file_read(struct target_file *file, const char *path, const char *backend, struct error *error)
{
    const struct mapping_rule rule = {.what = "a target", .most = SIZE_MAX / 2};
    const struct backend *known = backend ? session_find_backend(backend) : NULL;
    *file = (struct target_file){0};
    if (backend && !known)
        return wnn_fail(error, WNNStatus_NotSupportedError, "this build has no backend %.40s", backend);
    struct mapping *mapping = open_or_standard(path, &rule, error);
    if (!mapping)
        return false;
    bool compiled = mapping->size >= 8 && memcmp(mapping->data, STORED_MAGIC, 8) == 0;
    bool done =
        (compiled ? read_compiled : read_json)(file, mapping, known ? known->name : NULL, path, error) &&
        mapping_check(error);
    mapping_unref(mapping);
    return done;
}

void target_file_free(struct target_file *file)
{
    free(file->backend);
    free(file->target);
    *file = (struct target_file){0};
}

void target_json_add(cJSON *object, WNNContext context)
{
    WNNTargetInfo info = WNN_TARGET_INFO_INIT;
    if (wnnContextGetTarget(context, &info) != WNNStatus_Success)
        return;
    cJSON *target = must(cJSON_AddObjectToObject(object, "target"));
    json_add_text(target, "library", wnn_string(info.library));
    json_add_text(target, "backend", wnn_string(info.backend));
    json_add_text(target, "target", wnn_string(info.target));
}
